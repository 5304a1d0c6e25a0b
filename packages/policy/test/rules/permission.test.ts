/** What several grants say together of who approves a call, how long it may wait, and what its results are. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { millisFromTimestamp, Timestamp } from "@boxmaker/proto";
import type { Ask } from "../../src/rules/decide.ts";
import { ask, EARLIER, type GrantFields, grant, LATER, path, read, type StateFields, shell } from "./support.ts";

function askOf(grants: readonly GrantFields[], fields: StateFields = {}): Ask {
  const verdict = ask(
    read("/srv/notes/a"),
    grants.map((each) => grant(each)),
    fields,
  );
  return verdict.kind === "ask" ? verdict.ask : assert.fail(verdict.kind);
}

const BOTH = ["bxctl", "gateway"] as const;
const ASK = { id: "a", mode: "ask" } as const;

test("an ask is approved by whom every grant that wants an answer lets, one that has expired included", () => {
  assert.deepEqual(askOf([{ ...ASK, approvers: BOTH }]).approvers, BOTH);
  assert.deepEqual(askOf([{ ...ASK, approvers: ["gateway"] }]).approvers, ["gateway"]);
  assert.deepEqual(
    askOf([
      { ...ASK, approvers: BOTH },
      { ...ASK, id: "b", expires: EARLIER },
    ]).approvers,
    ["bxctl"],
  );
});

test("a grant that wants no answer has no say in who gives it, and has one where the session's state makes it ask", () => {
  const auto = { id: "b", approvers: ["gateway"] } as const;
  assert.deepEqual(askOf([{ ...ASK, approvers: BOTH }, auto]).approvers, BOTH);
  const untrusted = { untrusted: true } as const;
  assert.deepEqual(
    askOf(
      [
        { ...ASK, approvers: BOTH },
        { ...auto, if_untrusted: "ask" },
      ],
      untrusted,
    ).approvers,
    ["gateway"],
  );
});

test("an ask whose grants name nobody in common is the owner's, at the terminal", () => {
  assert.deepEqual(
    askOf([
      { ...ASK, approvers: ["gateway"] },
      { ...ASK, id: "b", approvers: ["bxctl"] },
    ]).approvers,
    ["bxctl"],
  );
});

test("an ask lasts as long as the last grant that permits it, and for ever by one without an end", () => {
  const later = millisFromTimestamp(Timestamp.parse("2027-01-01T00:00:00.000Z"));
  const ending = { ...ASK, expires: LATER };
  assert.equal(askOf([ending]).expires, later);
  assert.equal(
    askOf([ending, { ...ASK, id: "b", expires: "2028-01-01T00:00:00Z" }]).expires,
    millisFromTimestamp(Timestamp.parse("2028-01-01T00:00:00.000Z")),
  );
  for (const [first, second] of [
    ["a", "b"],
    ["b", "a"],
  ] as const) {
    assert.equal(
      askOf([
        { ...ASK, id: first },
        { ...ending, id: second },
      ]).expires,
      null,
    );
  }
  // One that permits nothing now doesn't make it longer.
  assert.equal(askOf([ending, { ...ASK, id: "b", max_taint: "public" }], { taint: "private" }).expires, later);
});

test("the results of a command are labelled by all that its grants could mount, also where less is mounted now", () => {
  const label = (fields: StateFields): unknown =>
    ask(
      shell(),
      [
        grant({ id: "a", tool: "shell", paths: ["/srv/a"], max_taint: "secret" }),
        grant({ id: "b", tool: "shell", paths: ["/srv/b"], max_taint: "public" }),
        grant({ id: "c", tool: "shell", mode: "ask", paths: ["/srv/c"], max_taint: "public" }),
      ],
      { ...fields, pathLabels: [{ path: path("/srv/b/deep"), label: { taint: "secret", untrusted: true } }] },
    ).record.label;
  assert.deepEqual(label({}), { taint: "secret", untrusted: true });
  assert.deepEqual(label({ taint: "private" }), { taint: "secret", untrusted: true });
});
