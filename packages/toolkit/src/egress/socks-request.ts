/** The server's side of a SOCKS5 negotiation (RFC 1928), for CONNECT to a name without authentication, and nothing else of it. */
import type { Duplex } from "node:stream";
import { isHostName } from "@boxmaker/proto";
import { ByteReader } from "./byte-reader.ts";

/** The REP byte of a reply: those of RFC 1928 that are used here. */
export const REPLY = {
  succeeded: 0,
  malformed: 1,
  policy: 2,
  noPublicAddress: 4,
  connectFailed: 5,
  unknownCommand: 7,
  unknownAddressType: 8,
} as const;
export type Reply = (typeof REPLY)[keyof typeof REPLY];

/** What a client wants. `answer` is what it is told where it's refused: null where it doesn't speak SOCKS5. */
export type SocksRequest =
  | { readonly kind: "connect"; readonly host: string; readonly port: number }
  | { readonly kind: "refused"; readonly answer: Buffer | null; readonly why: string };

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const NO_ACCEPTABLE_METHOD = 0xff;
const CONNECT = 1;
const IPV4 = 1;
const DOMAIN_NAME = 3;
const IPV6 = 4;

/** A reply that names no bound address: clients of CONNECT don't need it. */
export function encodeReply(reply: Reply): Buffer {
  return Buffer.from([VERSION, reply, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

function refused(why: string, answer: Buffer | null): SocksRequest {
  return { kind: "refused", answer, why };
}

const CUT_SHORT = refused("the negotiation ended early", null);
const NOT_SOCKS = refused("not SOCKS5", null);

/** Negotiates, up to where the request is known. Returns when the signal aborts, too. */
export async function readSocksRequest(client: Duplex, signal: AbortSignal): Promise<SocksRequest> {
  using reader = new ByteReader(client, signal);
  const greeting = await reader.read(2);
  if (greeting === undefined) return CUT_SHORT;
  const [version, count = 0] = greeting;
  if (version !== VERSION) return NOT_SOCKS;
  const methods = count === 0 ? Buffer.alloc(0) : await reader.read(count);
  if (methods === undefined) return CUT_SHORT;
  if (!methods.includes(NO_AUTHENTICATION)) {
    return refused("no acceptable authentication method", Buffer.from([VERSION, NO_ACCEPTABLE_METHOD]));
  }
  client.write(Buffer.from([VERSION, NO_AUTHENTICATION]));
  const head = await reader.read(4);
  return head === undefined ? CUT_SHORT : await readRest(reader, head);
}

async function readRest(reader: ByteReader, head: Buffer): Promise<SocksRequest> {
  const [version, command, reserved, addressType] = head;
  if (version !== VERSION) return NOT_SOCKS;
  if (reserved !== 0) return refused("the reserved byte isn't 0", encodeReply(REPLY.malformed));
  if (command !== CONNECT) return refused("a command other than CONNECT", encodeReply(REPLY.unknownCommand));
  // Unread: no grant names an address.
  if (addressType === IPV4 || addressType === IPV6) return refused("an address, not a name", encodeReply(REPLY.policy));
  if (addressType !== DOMAIN_NAME) return refused("an unknown type of address", encodeReply(REPLY.unknownAddressType));
  const length = (await reader.read(1))?.[0];
  if (length === undefined) return CUT_SHORT;
  const rest = await reader.read(length + 2);
  if (rest === undefined) return CUT_SHORT;
  // Byte by byte: what isn't ASCII, or is an address in any spelling, is no host name.
  const host = rest.toString("latin1", 0, length);
  if (!isHostName(host)) return refused("not a host name", encodeReply(REPLY.policy));
  return { kind: "connect", host, port: rest.readUInt16BE(length) };
}
