import assert from "node:assert/strict";
import { test } from "node:test";
import { ApprovalId, type TurnEvent } from "@boxmaker/proto";
import { AskingView } from "../../src/chat/asking-view.ts";
import { EXPIRES } from "../support/asks.ts";
import { USAGE } from "../support/scripted-server.ts";

/** A view and an owner that keep a diary. */
function diary() {
  const entries: string[] = [];
  const questions: { readonly settled: AbortSignal; readonly answer: () => void }[] = [];
  const view = new AskingView(
    { event: (event) => entries.push(event.event), end: (end) => entries.push(`end ${end.kind}`) },
    (approval, settled) =>
      new Promise((resolve) => {
        entries.push(`ask ${approval}`);
        let open = true;
        const answer = (): void => {
          if (!open) return;
          open = false;
          entries.push(`asked ${approval}${settled.aborted ? ", taken back" : ""}`);
          resolve();
        };
        settled.addEventListener("abort", answer, { once: true });
        questions.push({ settled, answer });
      }),
  );
  return { entries, questions, view };
}

function ask(approval: number): TurnEvent {
  return { event: "approval_pending", approval: ApprovalId.parse(approval), tool: "shell", expires: EXPIRES };
}

const RESULT: TurnEvent = { event: "tool_result", tool: "shell", class: "public", truncated: false };
const QUIET: TurnEvent = { event: "thinking_capped" };
const DONE = { kind: "done", content: "", usage: USAGE } as const;

test("events wait while the owner is asked, and follow in order", async () => {
  const { entries, questions, view } = diary();
  await view.event(ask(1));
  await view.event(QUIET);
  assert.deepEqual(entries, ["approval_pending", "ask 1"]);
  questions[0]?.answer();
  await view.event(RESULT);
  await view.end(DONE);
  assert.deepEqual(entries, ["approval_pending", "ask 1", "asked 1", "thinking_capped", "tool_result", "end done"]);
});

test("the end of the call takes the question back before it is shown", async () => {
  for (const event of [
    RESULT,
    { event: "tool_denied", tool: "shell", reason: "approval_expired" },
    { event: "tool_failed", tool: "shell", message: "x" },
  ] as const) {
    const { entries, view } = diary();
    await view.event(ask(1));
    await view.event(event);
    assert.deepEqual(entries, ["approval_pending", "ask 1", "asked 1, taken back", event.event]);
  }
});

test("a second question waits for the first one, and what follows it waits for the second", async () => {
  const { entries, questions, view } = diary();
  await view.event(ask(1));
  await view.event(ask(2));
  await view.event(QUIET);
  questions[0]?.answer();
  await Promise.resolve();
  await Promise.resolve();
  assert.deepEqual(entries, ["approval_pending", "ask 1", "asked 1", "approval_pending", "ask 2"]);
  await view.end(DONE);
  assert.deepEqual(entries.slice(5), ["asked 2, taken back", "thinking_capped", "end done"]);
});

test("the end of the turn and Ctrl-C take a question back", async () => {
  const { entries, questions, view } = diary();
  await view.event(ask(1));
  view.cancel();
  assert.ok(questions[0]?.settled.aborted);
  await view.end({ kind: "refused", code: "cancelled", detail: "" });
  assert.deepEqual(entries, ["approval_pending", "ask 1", "asked 1, taken back", "end refused"]);
});
