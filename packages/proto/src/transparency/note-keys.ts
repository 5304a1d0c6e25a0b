/** Keys of signed notes, and what they say about a note. Ed25519 only: of a log, or of a witness that signs a time with it. */
import { createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { sha256 } from "../ids/sha256.ts";
import { escapeText, quoteText } from "../text/escape-text.ts";
import { unreachable } from "../text/unreachable.ts";
import { decodeBase64 } from "./base64.ts";
import { isKeyName, type NoteSignature, type SignedNote, signatureBytes } from "./signed-note.ts";

/** What a key signs: the note's text, or (a witness's cosignature) the text with a time before it. */
export type NoteKeyKind = "ed25519" | "cosignature";

const TYPE_BYTES = { ed25519: 0x01, cosignature: 0x04 } as const;
const PUBLIC_KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const TIME_BYTES = 8;
const KEY_ID_DIGITS = 8;

/** A public key with its name. `id` is 8 hex digits, `publicKey` the base64 of 32 bytes. */
export interface VerifierKey {
  readonly name: string;
  readonly kind: NoteKeyKind;
  readonly id: string;
  readonly publicKey: string;
}

export type VerifierKeyReading =
  | { readonly kind: "ok"; readonly key: VerifierKey }
  | { readonly kind: "invalid"; readonly problem: string };

/** Who signed: `time` in seconds since 1970 where a witness says when. */
export interface NoteSigner {
  readonly key: VerifierKey;
  readonly time: number | null;
}

/** What trusted keys say about a note. Signatures of other keys are ignored, and listed in `unknown`. */
export type NoteVerdict =
  | { readonly kind: "signed"; readonly by: readonly NoteSigner[]; readonly unknown: readonly NoteSignature[] }
  | { readonly kind: "refused"; readonly problem: string };

function keyId(name: string, kind: NoteKeyKind, publicKey: Uint8Array): string {
  return sha256(Buffer.concat([Buffer.from(`${name}\n`), Buffer.of(TYPE_BYTES[kind]), publicKey])).slice(0, KEY_ID_DIGITS);
}

/**
 * A public key under a name.
 *
 * @throws {RangeError} when a key can't be called so, or isn't 32 bytes
 */
export function verifierKey(name: string, publicKey: Uint8Array, kind: NoteKeyKind = "ed25519"): VerifierKey {
  if (!isKeyName(name)) throw new RangeError("expected a key name without spaces and plus");
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new RangeError(`expected a public key of ${PUBLIC_KEY_BYTES} bytes`);
  return { name, kind, id: keyId(name, kind, publicKey), publicKey: Buffer.from(publicKey).toString("base64") };
}

/** The key as one word, `<name>+<id>+<base64 of type and key>`. */
export function writeVerifierKey({ name, kind, id, publicKey }: VerifierKey): string {
  const bytes = Buffer.concat([Buffer.of(TYPE_BYTES[kind]), Buffer.from(publicKey, "base64")]);
  return `${name}+${id}+${bytes.toString("base64")}`;
}

/** Reads what {@link writeVerifierKey} writes, and what other tools write for such keys. */
export function readVerifierKey(text: string): VerifierKeyReading {
  const invalid = (problem: string): VerifierKeyReading => ({ kind: "invalid", problem });
  const [name = "", id = "", ...rest] = text.split("+");
  // Base64 may have a plus in it.
  const bytes = decodeBase64(rest.join("+"));
  if (!isKeyName(name) || bytes === undefined || rest.length === 0) return invalid("expected <name>+<8 hex digits>+<base64>");
  const type = bytes[0];
  const kind = type === TYPE_BYTES.ed25519 ? "ed25519" : type === TYPE_BYTES.cosignature ? "cosignature" : undefined;
  if (kind === undefined) return invalid(`expected an Ed25519 key (type 1, or 4 of a witness), found type ${type ?? "none"}`);
  const publicKey = bytes.subarray(1);
  if (publicKey.length !== PUBLIC_KEY_BYTES) return invalid(`expected ${PUBLIC_KEY_BYTES} bytes of key, found ${publicKey.length}`);
  const key = verifierKey(name, publicKey, kind);
  return key.id === id ? { kind: "ok", key } : invalid(`expected the id ${key.id} for this name and key, found ${quoteText(id)}`);
}

/** The 32 bytes of an Ed25519 key, which may be the private one. */
export function rawPublicKey(key: KeyObject): Uint8Array {
  const { x = "" } = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  return Buffer.from(x, "base64url");
}

/**
 * Signs a text with an Ed25519 key of this name.
 *
 * @throws {RangeError} when it is a key of another kind
 */
export function signNote(text: string, name: string, privateKey: KeyObject): NoteSignature {
  if (privateKey.asymmetricKeyType !== "ed25519") throw new RangeError("expected an Ed25519 key");
  const { id } = verifierKey(name, rawPublicKey(privateKey));
  const signature = sign(null, Buffer.from(text), privateKey);
  return { name, keyId: id, base64: Buffer.concat([Buffer.from(id, "hex"), signature]).toString("base64") };
}

/** Checks the signatures of the keys that are given. One of them that doesn't hold spoils the note; none at all doesn't make it good. */
export function openNote({ text, signatures }: SignedNote, keys: readonly VerifierKey[]): NoteVerdict {
  const by = new Map<VerifierKey, NoteSigner>();
  const unknown: NoteSignature[] = [];
  for (const signature of signatures) {
    const key = keys.find(({ name, id }) => name === signature.name && id === signature.keyId);
    if (key === undefined) {
      unknown.push(signature);
      continue;
    }
    const signer = checkSignature(text, signature, key);
    if (signer === undefined) return { kind: "refused", problem: `the signature of ${quoteText(key.name)} doesn't fit the text` };
    by.set(key, by.get(key) ?? signer);
  }
  if (by.size > 0) return { kind: "signed", by: [...by.values()], unknown };
  const found = signatures.map(({ name, keyId: id }) => escapeText(`${name}+${id}`)).join(", ");
  const expected = keys.map(({ name, id }) => escapeText(`${name}+${id}`)).join(" or ");
  return { kind: "refused", problem: `expected a signature of ${expected}, found ${found}` };
}

function checkSignature(text: string, signature: NoteSignature, key: VerifierKey): NoteSigner | undefined {
  const bytes = signatureBytes(signature);
  switch (key.kind) {
    case "ed25519":
      return isSignature(text, key, bytes) ? { key, time: null } : undefined;
    case "cosignature": {
      if (bytes.length !== TIME_BYTES + SIGNATURE_BYTES) return undefined;
      const time = Buffer.from(bytes).readBigUInt64BE();
      if (time > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
      const message = `cosignature/v1\ntime ${time}\n${text}`;
      return isSignature(message, key, bytes.subarray(TIME_BYTES)) ? { key, time: Number(time) } : undefined;
    }
    default:
      return unreachable(key.kind);
  }
}

function isSignature(message: string, { publicKey }: VerifierKey, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false;
  const x = Buffer.from(publicKey, "base64").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  return verify(null, Buffer.from(message), key, signature);
}
