/**
 * The servers of the attacks' own network, started inside of it: a name server, and what listens on every address at the ports of the web and one more.
 * Prints `ready`, then each {@link Sighting} as a line of JSON. Ends with its input, and so with whoever started it.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { answerQuestion, readQuestion } from "./dns-answer.ts";
import { NAMES, OTHER_PORT, PUBLIC, redirectTarget, type Sighting, WEB_PORTS } from "./network-places.ts";

const HTTP_PORT = 80;
const DNS_PORT = 53;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const tell = (sighting: Sighting): void => say(JSON.stringify(sighting));

function answer(path: string): string {
  const target = redirectTarget(path);
  const body = `this is ${path}`;
  const head = target === undefined ? "200 OK" : `302 Found\r\nlocation: ${target}`;
  return `HTTP/1.1 ${head}\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

function serve(socket: Socket, port: number): void {
  const address = (socket.localAddress ?? "").replace(/^::ffff:(?=[0-9.]+$)/u, "");
  tell({ kind: "connection", address, port });
  if (port !== HTTP_PORT) {
    // That somebody came is all there is to see: there is no certificate.
    socket.on("error", () => undefined).destroy();
    return;
  }
  let received = "";
  socket
    .on("error", () => undefined)
    .on("data", (chunk) => {
      received += chunk.toString("latin1");
      const path = /^[A-Z]+ (\S+) HTTP[\s\S]*\r\n\r\n/u.exec(received)?.[1];
      if (path === undefined) return;
      tell({ kind: "request", address, path });
      socket.end(answer(path));
    });
}

async function listen(port: number): Promise<Server> {
  const server = createServer((socket) => serve(socket, port));
  // Without IPv6 in the kernel this is every IPv4 address alone.
  server.listen(port);
  await once(server, "listening");
  return server;
}

const names = createSocket("udp4");
names.on("message", (message, { port, address }) => {
  try {
    tell({ kind: "question", name: readQuestion(message).name });
    names.send(answerQuestion(message, NAMES), port, address);
  } catch {
    // No question: whoever sent it has found a way here all the same.
    tell({ kind: "question", name: "" });
  }
});
names.bind(DNS_PORT, PUBLIC.names);
await once(names, "listening");
const servers = await Promise.all([...WEB_PORTS, OTHER_PORT].map(listen));
say("ready");
process.stdin.resume().on("end", () => {
  names.close();
  for (const server of servers) server.close();
});
