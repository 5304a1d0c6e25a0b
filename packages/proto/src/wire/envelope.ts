/** What every frame holds: one envelope around one message of a given set. */
import { z } from "zod";
import { encodeFrame } from "../frame/frame.ts";
import { SafeInteger } from "../ids/integers.ts";
import { canonicalJson } from "../json/canonical-json.ts";
import { parseShape } from "../json/parse-shape.ts";
import { isReadable, readJsonBytes } from "../json/read-json.ts";
import { quoteText } from "../text/escape-text.ts";

/** The version of the wire contract. */
export const WIRE_VERSION = 1;

/** A later version may have another envelope, so its number is judged before anything else is. */
const Version = z.object({ v: SafeInteger });

const Head = z.strictObject({
  v: SafeInteger,
  id: SafeInteger,
  final: z.boolean(),
  kind: z.string().max(64),
  body: z.unknown(),
});

/** One message in its envelope. `id` is chosen by the requester and echoed; exactly one answer has `final: true`, the last. */
export interface Envelope<M> {
  readonly id: number;
  readonly final: boolean;
  readonly message: M;
}

/** A message of any kind. */
export interface AnyMessage {
  readonly kind: string;
  readonly body: object;
}

/** What a frame's body turned out to be. `detail` is one printable line. */
export type Decoded<M> =
  | { readonly kind: "message"; readonly envelope: Envelope<M> }
  | { readonly kind: "bad_frame" | "bad_version" | "bad_message"; readonly detail: string };

/**
 * Puts a message into an envelope and a frame. What a peer would refuse is never sent.
 *
 * @throws {z.ZodError} when the message isn't of `schema`, or the id no integer in 0..2^53-1
 * @throws {RangeError} when a string in it is no well-formed Unicode (text of foreign JSON may not be: make it so where it is read),
 *   when it has more than MAX_JSON_VALUES values, or the frame would be larger than MAX_FRAME
 */
export function encodeMessage<M extends AnyMessage>(schema: z.ZodType<M>, envelope: Envelope<M>): Buffer {
  const { kind, body } = schema.parse(envelope.message);
  const text = canonicalJson({ v: WIRE_VERSION, id: SafeInteger.parse(envelope.id), final: envelope.final, kind, body });
  if (!isReadable(text)) throw new RangeError("expected well-formed text and not too many values in a message");
  return encodeFrame(text);
}

/** Reads a frame's body as a message of `schema`, frozen at every depth. */
export function decodeMessage<M extends AnyMessage>(schema: z.ZodType<M>, bytes: Uint8Array): Decoded<M> {
  const reading = readJsonBytes(bytes);
  if (reading.kind === "invalid") return { kind: "bad_frame", detail: reading.problem };
  const version = parseShape(Version, reading.value);
  if (version.kind === "invalid") return { kind: "bad_message", detail: version.problem };
  const { v } = version.value;
  if (v !== WIRE_VERSION) return { kind: "bad_version", detail: `expected version ${WIRE_VERSION}, got ${v}` };
  const head = parseShape(Head, reading.value);
  if (head.kind === "invalid") return { kind: "bad_message", detail: head.problem };
  const { id, final, kind, body } = head.value;
  const message = parseShape(schema, { kind, body });
  if (message.kind === "invalid") return { kind: "bad_message", detail: `${quoteText(kind)}: ${message.problem}` };
  return { kind: "message", envelope: { id, final, message: message.value } };
}
