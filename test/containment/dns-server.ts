/** A name server on loopback that answers what a case says, and counts what it is asked. */
import { createSocket } from "node:dgram";
import { once } from "node:events";

/** An address, or `CNAME name` before those of that name. */
export type Answers = readonly string[];

export interface DnsServer extends AsyncDisposable {
  /** For a resolver's list of servers. */
  readonly address: string;
  /** The questions so far: `A example.com`. */
  readonly asked: readonly string[];
}

const TYPES: Readonly<Record<number, string>> = { 1: "A", 28: "AAAA" };
const CNAME = 5;
const POINTER_TO_QUESTION = Buffer.from([0xc0, 12]);

function encodeName(name: string): Buffer {
  return Buffer.concat([...name.split(".").map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.from([0])]);
}

function encodeAddress(address: string): Buffer {
  if (!address.includes(":")) return Buffer.from(address.split(".").map(Number));
  const [head = "", tail = ""] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const [left = [], right = []] = [head, tail].map((half) => (half === "" ? [] : half.split(":")));
  const groups = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

function encodeRecord(type: number, data: Buffer): Buffer {
  // A class, a time to live of 0, and a length.
  return Buffer.concat([
    POINTER_TO_QUESTION,
    Buffer.from([type >> 8, type & 255, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 255]),
    data,
  ]);
}

function encodeReply(query: Buffer, question: Buffer, type: number, answers: Answers): Buffer {
  const records = answers.flatMap((answer) => {
    if (answer.startsWith("CNAME ")) return [encodeRecord(CNAME, encodeName(answer.slice("CNAME ".length)))];
    const isAsked = TYPES[type] === (answer.includes(":") ? "AAAA" : "A");
    return isAsked ? [encodeRecord(type, encodeAddress(answer))] : [];
  });
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, records.length >> 8, records.length & 255, 0, 0, 0, 0]);
  return Buffer.concat([head, question, ...records]);
}

/** `answer` is given a question and how often it has been asked before. */
export async function serveDns(answer: (question: string, before: number) => Answers): Promise<DnsServer> {
  const socket = createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query, peer) => {
    const labels: string[] = [];
    let at = 12;
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString("latin1", at + 1, at + 1 + length));
      at += 1 + length;
    }
    const type = query.readUInt16BE(at + 1);
    const question = `${TYPES[type] ?? type} ${labels.join(".").toLowerCase()}`;
    const before = asked.filter((one) => one === question).length;
    asked.push(question);
    socket.send(encodeReply(query, query.subarray(12, at + 5), type, answer(question, before)), peer.port, peer.address);
  });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked,
    async [Symbol.asyncDispose]() {
      const closed = once(socket, "close");
      socket.close();
      await closed;
    },
  };
}
