/** Holds an audit log open until it is killed: `node holder-program.ts DIRECTORY`. Says `opened PID`, the id of a child that outlives it. */
import { spawn } from "node:child_process";
import { writeSync } from "node:fs";
import { AbsPath } from "@boxmaker/proto";
import { openAuditLog } from "../../src/audit/audit-log.ts";

const directory = AbsPath.parse(process.argv[2]);
const opening = await openAuditLog({ directory, clock: { now: () => 0, monotonic: () => 0 }, onRecord: () => {}, warn: () => {} });
const child = spawn("/bin/sleep", ["600"], { stdio: "ignore" });
writeSync(1, opening.kind === "open" ? `opened ${child.pid}\n` : `${opening.problem}\n`);
process.stdin.resume();
