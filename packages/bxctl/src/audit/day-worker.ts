/** A thread that verifies day files as they are sent to it, one at a time; it sends back what {@link verifyDay} finds. */
import { parentPort } from "node:worker_threads";
import type { LogFile } from "@boxmaker/proto";
import { verifyDay } from "./verify-day.ts";

/** What is sent to the thread. */
export interface DayTask {
  readonly directory: string;
  readonly file: LogFile;
}

const port = parentPort;
// A rejection ends the thread with an error, which whoever waits for the answer sees.
port?.on("message", async ({ directory, file }: DayTask) => port.postMessage(await verifyDay(directory, file)));
