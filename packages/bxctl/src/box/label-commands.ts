/** `bxctl label show` and `label reset`: what boxes left on paths, and taking that back. */
import { AbsPath, type Label, quoteText } from "@boxmaker/proto";
import { phraseLabel } from "../approvals/describe-ask.ts";
import type { ExitStatus } from "../process-io.ts";
import { jsonLine } from "../terminal/json-line.ts";
import { askAdmin } from "./ask-admin.ts";
import type { BoxCommand } from "./box-commands.ts";

function readPath({ err }: BoxCommand, text: string): AbsPath | undefined {
  const path = AbsPath.safeParse(text);
  if (path.success) return path.data;
  err.line(
    `bxctl: ${quoteText(text)} is no path of a label: expected an absolute path without "." and "..", and no "/" at its end`,
  );
  return undefined;
}

function fail({ err }: BoxCommand, problem: string): ExitStatus {
  err.line(`bxctl: ${problem}`);
  return 1;
}

/** What holds for the path: its own label, those of its parents and of what lies below, and what the owner says. */
export async function showLabel(command: BoxCommand, text: string): Promise<ExitStatus> {
  const path = readPath(command, text);
  if (path === undefined) return 2;
  const { places, out, json } = command;
  const reply = await askAdmin(places.adminSocket, { kind: "label_show", body: { path } }, "label_report");
  if (reply.kind !== "answer") return fail(command, reply.problem);
  if (json) {
    out.raw(jsonLine(reply.body));
    return 0;
  }
  const { label, above, below, more, owner } = reply.body;
  const line = (name: string, at: string, what: Label): void =>
    out.line(`  ${name.padEnd(7)} ${quoteText(at)}: ${phraseLabel(what)}`);
  const isBare = label === null && above.length === 0 && below.length === 0 && owner === null;
  out.line(isBare ? `${quoteText(path)}: no label: nothing that a box wrote is known there` : `${quoteText(path)}:`);
  if (label !== null) line("here", path, label);
  for (const entry of above) line("above", entry.path, entry.label);
  for (const entry of below) line("below", entry.path, entry.label);
  if (more > 0) out.line(`          and ${more} more below`);
  if (owner !== null) line("yours", path, owner);
  return 0;
}

/** Takes back what boxes left on the path and below it. Recorded. */
export async function resetLabel(command: BoxCommand, text: string): Promise<ExitStatus> {
  const path = readPath(command, text);
  if (path === undefined) return 2;
  const { places, out, json } = command;
  const reply = await askAdmin(places.adminSocket, { kind: "label_reset", body: { path } }, "ok");
  if (reply.kind !== "answer") return fail(command, reply.problem);
  if (json) out.raw(jsonLine({ path }));
  else out.line(`${quoteText(path)}: labels there and below are taken back; what is there counts as yours again`);
  return 0;
}
