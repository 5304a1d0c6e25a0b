/** Asks as brokerd shows them. */
import { AdminAnswer, type AskBlock, sha256, Timestamp } from "@boxmaker/proto";

export const EXPIRES = Timestamp.parse("2999-01-01T00:00:00.000Z");
export const DIGEST = sha256("what is shown");

export type Block = Extract<AdminAnswer, { kind: "approval_block" }>;

/** The block of one waiting shell call, with `changes`. */
export function askBlock(changes: Partial<Record<keyof AskBlock, unknown>> = {}, digest: string = DIGEST): Block {
  const answer = AdminAnswer.parse({
    kind: "approval_block",
    body: {
      ask: {
        approval: 41,
        session: "holidays",
        call: 3,
        request: { tool: "shell", arguments: { command: "wc -l todo.md\nrm -r old", cwd: "/home/anna/notes" } },
        grant: "notes-shell",
        grant_file: "notes.toml",
        grant_sha256: sha256("grant"),
        run: {
          runtime: "podman",
          image: `sha256:${sha256("image")}`,
          mounts: [
            { path: "/home/anna/notes", writable: true },
            { path: "/home/anna/books", writable: false },
          ],
          masked: ["/home/anna/notes/keys"],
          exposed: [],
          host_exec: false,
          hosts: [],
        },
        label: { taint: "private", untrusted: false },
        before: { taint: "public", untrusted: false },
        after: { taint: "private", untrusted: false },
        ...changes,
      },
      digest,
      expires: EXPIRES,
    },
  });
  if (answer.kind !== "approval_block") throw new TypeError("unreachable");
  return answer;
}
