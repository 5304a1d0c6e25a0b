/** Start and verify read the log by different ways; whatever happened to it, they come to the same judgement. */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { AbsPath } from "@boxmaker/proto";
import fc from "fast-check";
import { openAuditLog } from "../../packages/brokerd/src/audit/audit-log.ts";
import { verifyAudit } from "../../packages/bxctl/src/audit/verify-audit.ts";
import { damaged } from "../../packages/proto/test/audit/random-damage.ts";

interface Judgement {
  /** Where the log breaks, in the words that both programs use. */
  readonly place: string | undefined;
  readonly text: string;
}

function judgementOf(text: string): Judgement {
  return { place: /broken: (?<place>.+); see docs\/runbook\.md#audit-broken/u.exec(text)?.groups?.["place"], text };
}

async function verify(directory: string): Promise<Judgement> {
  let text = "";
  await verifyAudit(directory, { write: (part) => (text += part) });
  return judgementOf(text);
}

/** Starts and stops the log: what it said, and its head. */
async function start(directory: AbsPath, acceptBreak = false): Promise<Judgement & { readonly head: number | undefined }> {
  const ignore = (): void => {};
  const clock = { now: () => Date.parse("2026-01-10T00:00:00.000Z"), monotonic: () => 0 };
  const opening = await openAuditLog({ directory, clock, acceptBreak, onRecord: ignore, onRestart: ignore, warn: ignore });
  if (opening.kind === "refused") return { ...judgementOf(opening.problem), head: undefined };
  const { head } = opening.log;
  await opening.log[Symbol.asyncDispose]();
  return { place: undefined, text: opening.notices.join("\n"), head };
}

test("whatever happened to a log, start and verify agree on it, before and after it is mended", async () => {
  await fc.assert(
    fc.asyncProperty(damaged, async (files) => {
      const directory = AbsPath.parse(realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-random-"))));
      try {
        for (const [name, bytes] of files) writeFileSync(join(directory, name), bytes, { mode: 0o600 });
        const [verified, started] = [await verify(directory), await start(directory)];
        assert.equal(verified.place, started.place, `${verified.text}\n${started.text}`);
        assert.equal(started.head === undefined, verified.place !== undefined, started.text);
        const { head, text } = started.head === undefined ? await start(directory, true) : started;
        assert.notEqual(head, undefined, text);
        const after = await verify(directory);
        assert.match(after.text, /^audit: ok, /u);
        if (head !== 0) assert.match(after.text, new RegExp(`^last record: seq ${head}, `, "mu"));
        assert.equal((await start(directory)).head, head);
      } finally {
        rmSync(directory, { recursive: true, force: true });
      }
    }),
    { numRuns: 60 },
  );
});
