/** docs/wire.md says what is true: its examples are fixtures, and it leaves out no message and no code. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { DenialReason, ErrorCode, MAX_FRAME, MAX_JSON_DEPTH, MAX_JSON_VALUES } from "../../src/index.ts";
import { loadFixtures, WIRE_FORMATS } from "../support/fixtures.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../../../docs/wire.md"), "utf8");
const FIXTURES = new Map(loadFixtures().map((fixture) => [fixture.name, fixture]));
const EXAMPLES = Array.from(DOCUMENT.matchAll(/^```json ?(.*)\n([\s\S]*?)\n```$/gmu), ([, name = "", text = ""]) => ({
  name,
  text,
}));

/** What tells one message from another within a set: its kind, and the form of its body where it has several. */
function messageOf(text: string): string {
  const { kind, body } = JSON.parse(text) as { kind: string; body: { event?: string; outcome?: string } };
  return [
    kind,
    kind === "turn_event" ? body.event : undefined,
    /^tool_response|approve_result$/u.test(kind) ? body.outcome : undefined,
  ]
    .filter((part) => part !== undefined)
    .join(" ");
}

test("every example in docs/wire.md is the fixture that it names", () => {
  assert.ok(EXAMPLES.length > 40);
  assert.equal(DOCUMENT.match(/^```/gmu)?.length, 2 * EXAMPLES.length, "every block is an example");
  for (const { name, text } of EXAMPLES) assert.equal(text, FIXTURES.get(name)?.text, name);
});

test("docs/wire.md has an example of every message of every socket", () => {
  for (const format of WIRE_FORMATS) {
    const due = new Set([...FIXTURES.values()].filter((fixture) => fixture.format === format).map(({ text }) => messageOf(text)));
    const shown = new Set(EXAMPLES.filter(({ name }) => name.startsWith(`${format}/`)).map(({ text }) => messageOf(text)));
    assert.deepEqual([...shown].sort(), [...due].sort(), format);
  }
});

test("docs/wire.md names every error code, every denial reason and the limits", () => {
  for (const code of [...ErrorCode.options, ...DenialReason.options]) assert.ok(DOCUMENT.includes(`\`${code}\``), code);
  for (const limit of [MAX_FRAME, MAX_JSON_VALUES]) assert.ok(DOCUMENT.includes(limit.toLocaleString("en-US")), String(limit));
  assert.ok(DOCUMENT.includes(`more than ${MAX_JSON_DEPTH} levels`));
});
