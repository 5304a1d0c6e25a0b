/**
 * A life of a log with checkpoints, for tests that make system calls fail or kill the process: `node checkpoint-program.ts DIRECTORY
 * KEYS`. It appends a record, writes a checkpoint, appends another, and ends with a checkpoint over both. What became of it is said on
 * stdout.
 */
import { writeSync } from "node:fs";
import { AbsPath } from "@boxmaker/proto";
import { openAuditLog } from "../../src/audit/audit-log.ts";
import { Checkpoints } from "../../src/audit/checkpoints.ts";
import { FakeClock } from "../fakes/fake-clock.ts";
import { NO_BLOBS, sessionEvent } from "./audit-fixture.ts";

function say(line: string): void {
  writeSync(1, `${line}\n`);
}

const directory = AbsPath.parse(process.argv[2]);
const keys = AbsPath.parse(process.argv[3]);
const clock = new FakeClock();
const checkpoints = new Checkpoints({ keys, clock, every: 1000, warn: (line) => say(`warned ${line}`) });
const opening = await openAuditLog({ directory, clock, checkpoints, onRecord: () => {}, warn: (line) => say(`stopped ${line}`) });
if (opening.kind === "refused") {
  say(`refused ${opening.problem}`);
  await checkpoints[Symbol.asyncDispose]();
} else {
  await checkpoints.start();
  for (const name of ["a", "b"]) {
    const { seq, durable } = opening.log.append(sessionEvent(name), NO_BLOBS);
    await durable;
    say(`durable ${seq}`);
    if (name === "a") await checkpoints.write();
  }
  await checkpoints[Symbol.asyncDispose]();
  await opening.log[Symbol.asyncDispose]();
  say("done");
}
