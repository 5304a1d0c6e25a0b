/** Reads one stream in a process of its own, bare or by way of loopd's client, and prints what it saw: `bare|client SOCKET WISH`. */
import { once } from "node:events";
import { connect } from "node:net";
import { systemClock } from "@boxmaker/edge/log";
import { ConfigFile } from "../../packages/loopd/src/config/config-file.ts";
import { ModelClient } from "../../packages/loopd/src/model/model-client.ts";
import { Reading } from "./reading.ts";

const REPLY_BYTES = 64 * 1024 * 1024;
const STAMP = /@([0-9]+)@/gu;
const NS_PER_MS = 1e6;

const [how, socketPath = "", wish = ""] = process.argv.slice(2);
const latencies: number[] = [];
let lastMs = 0;
let firstMs: number | undefined;

function see(piece: string): void {
  const now = process.hrtime.bigint();
  lastMs = Number(now) / NS_PER_MS;
  firstMs ??= lastMs;
  for (const [, sent = "0"] of piece.matchAll(STAMP)) latencies.push(Number(now - BigInt(sent)) / NS_PER_MS);
}

async function readBare(): Promise<void> {
  const body = JSON.stringify({ model: wish });
  const socket = connect({ path: socketPath });
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  let rest = "";
  socket.on("data", (chunk: Buffer) => {
    const text = rest + chunk.toString("latin1");
    // A stamp may be cut: what follows the last line's end waits for its other half.
    const whole = text.lastIndexOf("\n") + 1;
    see(text.slice(0, whole));
    rest = text.slice(whole);
  });
  await once(socket, "close");
}

async function readAsLoopd(): Promise<void> {
  const { infer, sampling, limits } = ConfigFile.parse({ home: "..", infer: { server: "openai", retry_attempts: 1 } });
  const settings = {
    model: wish,
    infer,
    sampling,
    thinkingCap: limits.thinking_cap,
    thinkingOverrun: limits.thinking_overrun,
    replyBytes: REPLY_BYTES,
  };
  await using client = new ModelClient(socketPath, settings, { clock: systemClock, random: () => 0.5 });
  const request = { messages: ['{"role":"user","content":"x"}'], tools: "[]", slot: null };
  const onEvent = (event: { readonly event: string; readonly text?: string }): void => {
    if (event.event === "text") see(event.text ?? "");
  };
  const result = await client.complete(request, onEvent, new AbortController().signal);
  if (result.kind === "failed") throw new Error(`${result.error.code}: ${result.error.detail}`);
}

await (how === "client" ? readAsLoopd() : readBare());
const reading: Reading = {
  latencies,
  ms: lastMs - (firstMs ?? lastMs),
  // In kilobytes, as the system counts it.
  maxRssMb: process.resourceUsage().maxRSS / 1024,
};
process.stdout.write(JSON.stringify(Reading.parse(reading)));
