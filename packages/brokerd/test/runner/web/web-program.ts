/**
 * A small internet for the network namespace that it is started in: `web-program.ts KEY CERTIFICATE`. It answers DNS, HTTPS and HTTP at
 * addresses that are the namespace's own, and keeps which addresses somebody connected to.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import type { Server } from "node:net";
import { answerQuestion } from "../../../src/attack/socket/dns-answer.ts";
import { ADDRESSES, NAMES } from "./places.ts";

const [key = "", certificate = ""] = process.argv.slice(2);
const reached: string[] = [];

const answer: RequestListener = (request, response) => {
  const host = request.headers.host ?? "";
  const redirect = (location: string): void => void response.writeHead(302, { location }).end("moved");
  switch (request.url ?? "") {
    case "/hello":
      return response.end(`hello from ${host}`);
    case "/reached":
      return response.end(reached.join(" "));
    case "/same":
      return redirect("/hello");
    case "/elsewhere":
      return redirect("https://other.example.com/hello");
    case "/down":
      return redirect("http://web.example.com/hello");
    case "/up":
      return redirect("https://web.example.com/hello");
    case "/never":
      return;
    case "/bytes":
      return response.end(Buffer.from([0x66, 0xff, 0x6f]));
    default:
      return response.writeHead(404).end("no such page");
  }
};

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.on("connection", () => reached.push(host));
  server.listen(port, host);
  await once(server, "listening");
}

const names = createSocket("udp4");
names.on("message", (message, { port, address }) => names.send(answerQuestion(message, NAMES), port, address));
names.bind(53, ADDRESSES.names);
await once(names, "listening");
for (const host of [ADDRESSES.web, ADDRESSES.ipv6, ADDRESSES.private, ADDRESSES.unique, ADDRESSES.metadata]) {
  await listen(createHttps({ key: readFileSync(key), cert: readFileSync(certificate) }, answer), host, 443);
  await listen(createHttp(answer), host, 80);
}
process.stdout.write("ready\n");
