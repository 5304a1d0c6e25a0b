/** What brokerd logs more than once, and what it doesn't. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { openLog } from "@boxmaker/edge/log";
import type { GrantProblem } from "@boxmaker/proto";
import { Events } from "../src/events.ts";

const problem = (file: string, line: number): GrantProblem => ({ file, line, problem: "unknown key" });

test("grantsInvalid() prints each distinct set of problems once, whole and with its pointer, until the grants are valid again", () => {
  const lines: string[] = [];
  const events = new Events(
    openLog(
      (line) => lines.push(line),
      () => 0,
    ),
    { now: () => 0 },
  );
  const first = [problem("/g/a.toml", 1), problem("/g/a.toml", 2)];
  const second = [problem("/g/a.toml", 2)];
  for (const set of [first, first, second, first, second]) events.grantsInvalid(set);
  assert.equal(lines.length, 3);
  for (const line of lines) assert.match(line, /grants-invalid.*a\.toml.*docs\/runbook\.md#grants-invalid/u);
  events.grantsValid();
  events.grantsInvalid(first);
  assert.equal(lines.length, 5);
});
