/** A name server's answer to one question (RFC 1035), from a table of addresses. */
import { isIPv4, SocketAddress } from "node:net";

/** The addresses of each name, IPv4 and IPv6; others don't exist. */
export type NameTable = Readonly<Record<string, readonly string[]>>;

export interface DnsQuestion {
  readonly name: string;
  readonly type: number;
  readonly end: number;
}

const HEADER_BYTES = 12;
const TYPE_A = 1;
const TYPE_AAAA = 28;
const NAME_ERROR = 3;
const TTL_SECONDS = 60;
const GROUPS = 8;

/**
 * The only question of a message, and where it ends.
 *
 * @throws {RangeError} for what ends within it
 */
export function readQuestion(message: Buffer): DnsQuestion {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // In the one spelling that has no dots.
  const text = new SocketAddress({ address, family: "ipv6" }).address.replace(/[0-9.]+$/u, (last) => {
    if (!last.includes(".")) return last;
    const [a = 0, b = 0, c = 0, d = 0] = last.split(".").map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
  const [head = "", tail = ""] = text.split("::");
  const [left, right] = [head, tail].map((half) => (half === "" ? [] : half.split(":").map((group) => Number.parseInt(group, 16))));
  const groups = [...(left ?? []), ...Array.from({ length: GROUPS }, () => 0), ...(right ?? [])];
  const zeros = groups.length - GROUPS;
  const bytes = Buffer.alloc(GROUPS * 2);
  groups.toSpliced(left?.length ?? 0, zeros).forEach((group, index) => bytes.writeUInt16BE(group, index * 2));
  return bytes;
}

function addressRecord(type: number, address: string): Buffer {
  const value = bytesOf(address);
  const record = Buffer.alloc(HEADER_BYTES);
  // The name is the question's.
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(TTL_SECONDS, 6);
  record.writeUInt16BE(value.length, 10);
  return Buffer.concat([record, value]);
}

/**
 * The answer, with authority, whether the question asked for recursion or not.
 *
 * @throws {RangeError} for what is no question
 */
export function answerQuestion(message: Buffer, names: NameTable): Buffer {
  const { name, type, end } = readQuestion(message);
  const addresses = names[name];
  const asked = (addresses ?? []).filter((address) => (isIPv4(address) ? type === TYPE_A : type === TYPE_AAAA));
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  header.writeUInt16BE(0x8580 | (addresses === undefined ? NAME_ERROR : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(asked.length, 6);
  const records = asked.map((address) => addressRecord(type, address));
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end), ...records]);
}
