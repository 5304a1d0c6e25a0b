/** A thread that verifies day files as they are sent to it, one at a time; it sends back what {@link verifyDay} finds. */
import { parentPort } from "node:worker_threads";
import type { LogFile } from "@boxmaker/proto";
import { verifyDay } from "./verify-day.ts";

/** What is sent to the thread. */
export interface DayTask {
  readonly directory: string;
  readonly file: LogFile;
  readonly treeSize: number;
}

const port = parentPort;
port?.on("message", ({ directory, file, treeSize }: DayTask) => {
  verifyDay(directory, file, treeSize).then(
    (day) => port.postMessage(day),
    // A file that can't be read isn't whole; reading it in turn says why.
    () => port.postMessage(undefined),
  );
});
