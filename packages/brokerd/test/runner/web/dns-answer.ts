/** A name server's answer to one question (RFC 1035), from the tests' table. */
import { NAMES } from "./places.ts";

const HEADER_BYTES = 12;
const TYPE_A = 1;
const NAME_ERROR = 3;
const TTL_SECONDS = 60;

/** The name of the only question, and where its type is. */
function readName(message: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message.readUInt8(at); length > 0; length = message.readUInt8(at)) {
    labels.push(message.subarray(at + 1, at + 1 + length).toString("latin1"));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), end: at + 1 };
}

function addressRecord(address: string): Buffer {
  const record = Buffer.alloc(16);
  // The name is the question's.
  record.writeUInt16BE(0xc000 | HEADER_BYTES, 0);
  record.writeUInt16BE(TYPE_A, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(TTL_SECONDS, 6);
  record.writeUInt16BE(4, 10);
  address.split(".").forEach((part, index) => record.writeUInt8(Number(part), 12 + index));
  return record;
}

export function answerQuestion(message: Buffer): Buffer {
  const { name, end } = readName(message);
  const addresses = NAMES[name];
  const records = message.readUInt16BE(end) === TYPE_A ? (addresses ?? []).map(addressRecord) : [];
  const header = Buffer.alloc(HEADER_BYTES);
  message.copy(header, 0, 0, 2);
  // An answer with authority, to a question that asked for recursion or not.
  header.writeUInt16BE(0x8580 | (addresses === undefined ? NAME_ERROR : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(records.length, 6);
  return Buffer.concat([header, message.subarray(HEADER_BYTES, end + 4), ...records]);
}
