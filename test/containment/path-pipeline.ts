/** One path of the table on its way: the grammar, the grants, and the tool in the mounts that the decision gives it. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@boxmaker/edge/log";
import { decide, type GrantSet, type PolicyState } from "@boxmaker/policy";
import { GrantStore, setFromTexts } from "@boxmaker/policy/grants";
import { AbsPath, CallId, SessionId, timestampFromMillis } from "@boxmaker/proto";
import { readFile } from "../../packages/toolkit/src/read-file.ts";
import { writeFile } from "../../packages/toolkit/src/write-file.ts";

/** `ok` with what was read, or who refused. */
export type Passage =
  | { readonly kind: "ok"; readonly content: string }
  | { readonly kind: "refused"; readonly by: "grammar" | "grants" | "toolkit" };

const STATE: PolicyState = {
  label: { taint: "public", untrusted: false },
  origin: "terminal",
  ceiling: "secret",
  usesSpent: () => 0,
  pathLabels: [],
};

function grantText(id: string, tool: string, paths: readonly string[]): string {
  const list = paths.map((path) => JSON.stringify(path)).join(", ");
  return `id = "${id}"\ntool = "${tool}"\nmode = "auto"\n[constraints]\npaths = [${list}]\n`;
}

/** notes may be read and written, ro and one.txt read. */
export function tableGrants(root: string): GrantSet {
  return setFromTexts(
    [
      { file: "read.toml", text: grantText("read", "read_file", [`${root}/notes`, `${root}/ro`, `${root}/one.txt`]) },
      { file: "write.toml", text: grantText("write", "write_file", [`${root}/notes`]) },
    ],
    [],
  );
}

/** Takes a call of a file tool all the way, in this process. */
export function pass(tool: string, path: string, grants: GrantSet): Passage {
  const args = tool === "write_file" ? { path, content: "WROTE" } : { path };
  const request = {
    session: SessionId.parse("chat-1"),
    call: CallId.parse(1),
    tool,
    argumentsText: JSON.stringify(args),
  };
  const verdict = decide(request, grants, STATE, timestampFromMillis(0), { runtime: "bubblewrap", image: null });
  if (verdict.kind === "denied") return { kind: "refused", by: verdict.reason === "invalid_arguments" ? "grammar" : "grants" };
  if (verdict.kind === "ask") throw new Error("expected grants that allow");
  const { request: call, run } = verdict.decision;
  const roots = run.mounts.map((mount) => mount.path);
  if (call.tool !== "read_file" && call.tool !== "write_file") throw new Error("expected a file tool");
  const result =
    call.tool === "read_file"
      ? readFile(call.arguments.path, roots, 1024 * 1024)
      : writeFile(call.arguments.path, call.arguments.content, roots);
  return result.status === "ok" ? { kind: "ok", content: result.content } : { kind: "refused", by: "toolkit" };
}

const PATIENT: Clock = {
  now: () => Date.UTC(2100, 0, 1),
  monotonic: () => 0,
  sleep: async () => undefined,
};

/** What the loader says of a grant of this path; undefined where it is valid. */
export async function loadProblem(path: string, forbidden: readonly string[]): Promise<string | undefined> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "boxmaker-load-")));
  try {
    writeFileSync(join(folder, "g.toml"), grantText("g", "read_file", [path]), { mode: 0o600 });
    const store = new GrantStore({
      directory: AbsPath.parse(folder),
      forbidden: forbidden.map((place) => AbsPath.parse(place)),
      clock: PATIENT,
    });
    const set = await store.current();
    return set.kind === "valid" ? undefined : set.problems.map(({ problem }) => problem).join("; ");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
