/** Reads the server name that a TLS client asks for, so that one granted host doesn't stand in front of another one. */
import type { Readable } from "node:stream";
import { ByteReader } from "./byte-reader.ts";

/** `bytes` are all that was read. `name` is undefined where there is none, or where it can't be read as the first word of TLS. */
export interface ClientHello {
  readonly bytes: Buffer;
  readonly name: string | undefined;
}

const RECORD_HEAD = 5;
const HANDSHAKE_RECORD = 22;
const HANDSHAKE_HEAD = 4;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
const MAX_RECORD = 16 * 1024;
/** A ClientHello is 500 to 2,000 bytes. */
const MAX_HELLO = 64 * 1024;

/** Takes pieces from the front of bytes that a peer wrote; `undefined` where there aren't enough. */
class Cursor {
  #rest: Buffer;

  constructor(bytes: Buffer) {
    this.#rest = bytes;
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  take(count: number): Buffer | undefined {
    if (this.#rest.length < count) return undefined;
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }

  number(bytes: 1 | 2): number | undefined {
    return this.take(bytes)?.readUIntBE(0, bytes);
  }

  /** A vector: its length in that many bytes, then its content. */
  vector(bytes: 1 | 2): Buffer | undefined {
    const length = this.number(bytes);
    return length === undefined ? undefined : this.take(length);
  }
}

/** The name in the body of a ClientHello (RFC 8446 section 4.1.2, RFC 6066 section 3). */
export function serverNameOf(body: Buffer): string | undefined {
  const hello = new Cursor(body);
  // Version and random, then session id, cipher suites and compression methods.
  const isThere = hello.take(34) && hello.vector(1) && hello.vector(2) && hello.vector(1);
  const extensions = isThere && hello.vector(2);
  if (extensions === undefined || !hello.isEmpty) return undefined;
  const names: (string | undefined)[] = [];
  for (const cursor = new Cursor(extensions); !cursor.isEmpty; ) {
    const type = cursor.number(2);
    const data = cursor.vector(2);
    if (type === undefined || data === undefined) return undefined;
    if (type === SERVER_NAME) names.push(nameIn(data));
  }
  // Of two names nobody knows which one the server goes by.
  return names.length === 1 ? names[0] : undefined;
}

function nameIn(data: Buffer): string | undefined {
  const outer = new Cursor(data);
  const list = outer.vector(2);
  if (list === undefined || !outer.isEmpty) return undefined;
  const cursor = new Cursor(list);
  const type = cursor.number(1);
  const name = cursor.vector(2);
  return type === HOST_NAME && cursor.isEmpty ? name?.toString("latin1") : undefined;
}

/** Reads what a TLS client says first; undefined where the stream ends or the signal aborts before that. */
export async function readClientHello(client: Readable, signal: AbortSignal): Promise<ClientHello | undefined> {
  using reader = new ByteReader(client, signal);
  let bytes = Buffer.alloc(0);
  let message = Buffer.alloc(0);
  for (;;) {
    const head = await reader.read(RECORD_HEAD);
    if (head === undefined) return undefined;
    bytes = Buffer.concat([bytes, head]);
    const length = head.readUInt16BE(3);
    const isHandshake = head[0] === HANDSHAKE_RECORD && head[1] === 3 && length > 0 && length <= MAX_RECORD;
    if (!isHandshake || bytes.length + length > MAX_HELLO) return { bytes, name: undefined };
    const content = await reader.read(length);
    if (content === undefined) return undefined;
    bytes = Buffer.concat([bytes, content]);
    message = Buffer.concat([message, content]);
    if (message[0] !== CLIENT_HELLO) return { bytes, name: undefined };
    if (message.length < HANDSHAKE_HEAD) continue;
    const end = HANDSHAKE_HEAD + message.readUIntBE(1, 3);
    if (end > MAX_HELLO) return { bytes, name: undefined };
    if (message.length >= end) return { bytes, name: serverNameOf(message.subarray(HANDSHAKE_HEAD, end)) };
  }
}
