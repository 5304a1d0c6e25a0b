/** Strictness at every depth of every format: each small change of each fixture is refused, but for the places listed here. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Fixture, loadFixtures } from "../support/fixtures.ts";
import { mutationsOf } from "../support/mutations.ts";

/** Where one kind of change is no fault, by the reason why. Every entry must be needed. */
const EXEMPT: Readonly<Record<string, readonly string[]>> = {
  "text that the model, a tool, the owner or a peer wrote, or a fixed sentence: any text is of the right shape": [
    "AdminAnswer: wrong string body.ask.request.arguments.command",
    "ApprovalAnswer: wrong string body.ask.request.arguments.command",
    "AdminAnswer: wrong string body.ask.request.arguments.content",
    "ApprovalAnswer: wrong string body.ask.request.arguments.content",
    "AdminAnswer: wrong string body.detail",
    "ApprovalAnswer: wrong string body.detail",
    "AdminAnswer: wrong string body.last_error.detail",
    "AdminAnswer: wrong string body.last_error.event",
    "AdminAnswer: wrong string body.grants[].text",
    "AdminAnswer: wrong string body.text",
    "AdminAnswer: wrong string body.problem",
    "AdminAnswer: wrong string body.problems[].problem",
    "AdminRequest: wrong string body.arguments",
    "AdminRequest: wrong string body.reason",
    "AdminRequest: wrong string body.scope",
    "ApprovalRequest: wrong string body.reason",
    "AuditRecord: wrong string event.arguments.values.command",
    "AuditRecord: wrong string event.arguments.values.url",
    "AuditRecord: wrong string event.reason",
    "AuditRecord: wrong string event.found",
    "AuditRecord: wrong string event.expected",
    "Baseline: wrong string system",
    "Baseline: wrong string tools",
    "BoxDone: wrong string body.content",
    "BoxRun: wrong string body.request.arguments.command",
    "BoxRun: wrong string body.request.arguments.content",
    "BrokerAnswer: wrong string body.content",
    "BrokerAnswer: wrong string body.detail",
    "BrokerAnswer: wrong string body.message",
    "BrokerRequest: wrong string body.arguments",
    "LoopAnswer: wrong string body.content",
    "LoopAnswer: wrong string body.detail",
    "LoopAnswer: wrong string body.error",
    "LoopAnswer: wrong string body.message",
    "LoopAnswer: wrong string body.text",
    "LoopRequest: wrong string body.text",
    "SessionRecord: wrong string content",
    "SessionRecord: wrong string reason",
    "SessionRecord: wrong string reasoning",
    "SessionRecord: wrong string summary",
    "SessionRecord: wrong string text",
    "SessionRecord: wrong string tool_calls[].arguments",
  ],
  "a name that the model or its server made up, kept as it came": [
    "AdminAnswer: wrong string body.raised_by[].tool",
    "AdminRequest: wrong string body.tool",
    "AuditRecord: wrong string event.tool",
    "BrokerRequest: wrong string body.tool",
    "LoopAnswer: wrong string body.tool",
    "SessionRecord: wrong string id",
    "SessionRecord: wrong string tool",
    "SessionRecord: wrong string tool_calls[].id",
    "SessionRecord: wrong string tool_calls[].name",
  ],
  "a grant's id or file, a version, an image, a user: the program that made it judged it": [
    "AdminAnswer: wrong string body.ask.grant",
    "ApprovalAnswer: wrong string body.ask.grant",
    "AdminAnswer: wrong string body.ask.grant_file",
    "ApprovalAnswer: wrong string body.ask.grant_file",
    "AdminAnswer: wrong string body.ask.run.image",
    "ApprovalAnswer: wrong string body.ask.run.image",
    "AdminAnswer: wrong string body.grant",
    "AdminAnswer: wrong string body.grants[].grant",
    "AdminAnswer: wrong string body.matched[].file",
    "AdminAnswer: wrong string body.matched[].grant",
    "AdminAnswer: wrong string body.otherwise.grant",
    "AdminAnswer: wrong string body.unmatched[].argument",
    "AdminAnswer: wrong string body.unmatched[].file",
    "AdminAnswer: wrong string body.unmatched[].grant",
    "AdminAnswer: wrong string body.would_pass[].grant",
    "AdminAnswer: wrong string body.problems[].file",
    "AdminAnswer: wrong string body.version",
    "AuditRecord: wrong string event.file",
    "AuditRecord: wrong string event.files[].file",
    "AuditRecord: wrong string event.grant",
    "AuditRecord: wrong string event.matched[].grant",
    "AuditRecord: wrong string event.run.image",
    "AuditRecord: wrong string event.spends",
    "AuditRecord: wrong string event.user",
    "AuditRecord: wrong string event.uses_left[].grant",
    "AuditRecord: wrong string event.version",
  ],
  "a space at the end of a path is part of it": [
    "AdminAnswer: wrong string body.ask.request.arguments.cwd",
    "ApprovalAnswer: wrong string body.ask.request.arguments.cwd",
    "AdminAnswer: wrong string body.ask.request.arguments.path",
    "ApprovalAnswer: wrong string body.ask.request.arguments.path",
    "AdminAnswer: wrong string body.ask.run.exposed[]",
    "ApprovalAnswer: wrong string body.ask.run.exposed[]",
    "AdminAnswer: wrong string body.ask.run.masked[]",
    "ApprovalAnswer: wrong string body.ask.run.masked[]",
    "AdminAnswer: wrong string body.ask.run.mounts[].path",
    "ApprovalAnswer: wrong string body.ask.run.mounts[].path",
    "AdminRequest: wrong string body.path",
    "AdminAnswer: wrong string body.path",
    "AdminAnswer: wrong string body.below[].path",
    "AdminAnswer: wrong string body.path_labels[].path",
    "AdminAnswer: wrong string body.above[].path",
    "AuditRecord: wrong string event.arguments.values.cwd",
    "AuditRecord: wrong string event.arguments.values.path",
    "AuditRecord: wrong string event.reserved[]",
    "AuditRecord: wrong string event.path",
    "AuditRecord: wrong string event.path_labels[].path",
    "AuditRecord: wrong string event.run.masked[]",
    "AuditRecord: wrong string event.run.mounts[].path",
    "BoxRun: wrong string body.request.arguments.cwd",
    "BoxRun: wrong string body.request.arguments.path",
    "BoxRun: wrong string body.mounts[].path",
    "BoxRun: wrong string body.roots[]",
  ],
  "an optional argument: absent is left out, as in the model's own call": [
    "AdminAnswer: dropped key body.ask.request.arguments.cwd",
    "ApprovalAnswer: dropped key body.ask.request.arguments.cwd",
    "BoxRun: dropped key body.request.arguments.cwd",
  ],
  "which arguments a recorded call has is the tool's to say, not the record's": [
    "AuditRecord: dropped key event.arguments.values.command",
    "AuditRecord: dropped key event.arguments.values.content",
    "AuditRecord: dropped key event.arguments.values.cwd",
    "AuditRecord: dropped key event.arguments.values.path",
    "AuditRecord: dropped key event.arguments.values.url",
  ],
  "a box is told no numbers of files where it has others": ["BoxRun: wrong type body.mounts"],
  "a long text is recorded by hash, a short one as itself": ["AuditRecord: wrong type event.arguments.values.content"],
};
const EXEMPT_PLACES = new Set(Object.values(EXEMPT).flat());

interface Accepted {
  readonly key: string;
  readonly text: string;
}

/** The changes of one fixture that its reader takes. */
function acceptedChanges({ format, text, read }: Fixture): readonly Accepted[] {
  return mutationsOf(text)
    .filter(({ bytes }) => read(bytes).kind === "ok")
    .map(({ change, place, bytes }) => ({ key: `${format}: ${change} ${place}`, text: bytes.toString() }));
}

const ACCEPTED = new Map(loadFixtures().map((fixture) => [fixture.name, acceptedChanges(fixture)]));

for (const [name, accepted] of ACCEPTED) {
  test(`every change of fixtures/${name} is refused, but for the exempt places`, () => {
    assert.deepEqual(
      accepted.filter(({ key }) => !EXEMPT_PLACES.has(key)),
      [],
    );
  });
}

test("every exemption is needed", () => {
  const needed = new Set([...ACCEPTED.values()].flat().map(({ key }) => key));
  assert.deepEqual(
    [...EXEMPT_PLACES].filter((key) => !needed.has(key)),
    [],
  );
});
