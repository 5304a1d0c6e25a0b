/**
 * Writes an audit log and says on stdout what became of each append, for tests that make system calls fail or kill the process:
 * `node writer-program.ts DIRECTORY FIRST_HOUR COUNT [accept|plain|quick]`. Every append is eight hours after the one before, so that days
 * roll over; every third one has a blob. The last three are appended at once, at the same time. `accept` goes on behind a break;
 * `plain` appends all on one day, without blobs; so does `quick`, on a disk that is known to be quick.
 */
import { writeSync } from "node:fs";
import { AbsPath, sha256 } from "@boxmaker/proto";
import { openAuditLog } from "../../src/audit/audit-log.ts";
import { SyncPace } from "../../src/audit/sync-pace.ts";
import { blobText } from "./blob-text.ts";

const HOUR_MS = 3_600_000;
const MODES = ["usual", "accept", "plain", "quick"] as const;
const TOGETHER = 3;

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

const directory = AbsPath.parse(process.argv[2]);
const count = Number(process.argv[4]);
const mode = MODES.find((name) => name === process.argv[5]) ?? "usual";
const isPlain = mode === "plain" || mode === "quick";
const hoursBetween = isPlain ? 0 : 8;
let hour = Number(process.argv[3]);
const clock = { now: () => Date.UTC(2026, 0, 5) + hour * HOUR_MS, monotonic: () => 0 };

const opening = await openAuditLog({
  directory,
  clock,
  pace: new SyncPace(mode === "quick" ? 0 : Number.POSITIVE_INFINITY),
  acceptBreak: mode === "accept",
  onRecord: () => {},
  onRestart: () => {},
  warn: (line) => say(`warned ${line}`),
});
if (opening.kind === "refused") {
  say(`refused ${opening.problem}`);
} else {
  const { log } = opening;
  say(`opened ${log.head}`);
  const append = async (index: number): Promise<void> => {
    const text = blobText(index);
    const blobs = index % 3 === 0 && !isPlain ? new Map([[sha256(text), text]]) : new Map();
    try {
      const { seq, durable } = log.append(
        { kind: "started", version: `ü ${index}`, config_sha256: sha256("c"), head: log.head, reserved: [] },
        blobs,
      );
      await durable;
      say(`durable ${seq}`);
    } catch (error) {
      say(`denied ${error instanceof Error ? error.name : "?"}`);
    }
  };
  for (let index = 0; index < count - TOGETHER; index++) {
    hour += hoursBetween;
    await append(index);
  }
  await Promise.all(Array.from({ length: TOGETHER }, async (_, index) => await append(count - TOGETHER + index)));
  await log[Symbol.asyncDispose]();
  say("done");
}
