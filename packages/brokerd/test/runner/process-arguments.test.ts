import assert from "node:assert/strict";
import { test } from "node:test";
import { processArguments } from "../../src/runner/process/process-arguments.ts";
import { absPath } from "./decisions.ts";

const BOXES = { node: absPath("/opt/node"), toolkit: absPath("/opt/toolkit.mjs") };

test("the process runtime's command line permits exactly the mounts, and writing only where it is granted", () => {
  const reading = processArguments(BOXES, [{ kind: "read_only", path: absPath("/srv/notes") }]);
  assert.deepEqual(reading, [
    "--permission",
    "--allow-fs-read=/opt/toolkit.mjs",
    "--allow-fs-read=/proc/self/fd/*",
    "--allow-fs-read=/srv/notes",
    "--allow-fs-read=/srv/notes/*",
    "--max-old-space-size=128",
    "/opt/toolkit.mjs",
  ]);
  const writing = processArguments(BOXES, [
    { kind: "writable", path: absPath("/srv/notes") },
    { kind: "read_only", path: absPath("/srv/notes/.git/hooks") },
    { kind: "empty_directory", path: absPath("/srv/notes/.ssh") },
  ]);
  assert.deepEqual(
    writing.filter((arg) => arg.startsWith("--allow-fs-write=")),
    ["--allow-fs-write=/proc/self/fd/*", "--allow-fs-write=/srv/notes", "--allow-fs-write=/srv/notes/*"],
  );
});
