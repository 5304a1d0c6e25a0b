/** The whole of a waiting call as the owner sees it: nothing shortened, nothing that could be taken for something else. */
import { type Label, millisFromTimestamp, quoteText, type RunPlan, type ToolCall } from "@boxmaker/proto";
import type { BodyOf } from "../box/ask-admin.ts";
import type { RowMarks } from "../terminal/row-writer.ts";
import type { Screen } from "../terminal/screen.ts";

/** A waiting call, its digest, and when it expires. */
export type ShownAsk = BodyOf<"approval_block">;

const NAME_COLUMNS = 12;
const INDENT = "  ";
const CONTENT: RowMarks = { first: `${INDENT}  | `, rest: `${INDENT}  | ` };

interface Row {
  readonly marks: RowMarks;
  readonly text: string;
}

function field(name: string, values: readonly string[]): readonly Row[] {
  const rest = " ".repeat(INDENT.length + NAME_COLUMNS);
  return values.map((text, index) => ({ marks: { first: index === 0 ? INDENT + name.padEnd(NAME_COLUMNS) : rest, rest }, text }));
}

/** An argument in quotes, so that its end and every blank are visible; of several lines, each in quotes of its own. */
function argument(name: string, value: string): readonly Row[] {
  const lines = value.split("\n");
  if (lines.length === 1) return field(name, [quoteText(value)]);
  const endsLine = lines.at(-1) === "";
  const whole = endsLine ? lines.slice(0, -1) : lines;
  const size = `${whole.length} ${whole.length === 1 ? "line" : "lines"}, ${Buffer.byteLength(value)} bytes`;
  return [
    ...field(name, [`${size}${endsLine ? "" : ", no newline at the end"}:`]),
    ...whole.map((line) => ({ marks: CONTENT, text: quoteText(line) })),
  ];
}

function argumentsOf(call: ToolCall): readonly Row[] {
  return Object.entries(call.arguments).flatMap(([name, value]) => argument(name, value));
}

/** A label in words. */
export function phraseLabel(label: Label): string {
  return label.untrusted ? `${label.taint}, untrusted` : label.taint;
}

/** Said in words: the places are many, few of them exist, and brokerd hides them in every box. */
const HIDDEN_ALWAYS = "the usual places of credentials (.ssh, .gnupg, .aws, .env, browser profiles, …)";

function phraseRuntime({ runtime, image }: RunPlan): string {
  if (runtime === "process") return "process: WITHOUT a sandbox, held by checks of its own";
  return image === null ? runtime : `${runtime}, image ${quoteText(image)}`;
}

function planRows(run: RunPlan): readonly Row[] {
  const mounts = run.mounts.map(({ path, writable }) => `${quoteText(path)} ${writable ? "writable" : "read-only"}`);
  return [
    ...field("runs in", [phraseRuntime(run)]),
    ...field("mounts", mounts.length === 0 ? ["none"] : mounts),
    ...field("hidden", mounts.length === 0 ? [] : [...run.masked.map((path) => quoteText(path)), HIDDEN_ALWAYS]),
    ...field(
      "NOT hidden",
      run.exposed.map((path) => `${quoteText(path)}, a place of credentials that the grant names`),
    ),
    ...field(
      "MAY CHANGE",
      run.host_exec ? ["what programs of this machine execute: .git/hooks, .envrc, shell start-up files, …"] : [],
    ),
    ...field("network", run.hosts.length === 0 ? ["none"] : run.hosts.map((host) => quoteText(host))),
  ];
}

function phraseWait(milliseconds: number): string {
  if (milliseconds <= 0) return "now";
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 120) return `in ${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `in ${minutes} min` : `in ${Math.floor(minutes / 60)} h`;
}

function rowsOf({ ask, digest, expires }: ShownAsk, now: number): readonly Row[] {
  const { before, after } = ask;
  const rises = before.taint !== after.taint || before.untrusted !== after.untrusted;
  return [
    ...argumentsOf(ask.request),
    ...field("session", [`${ask.session}, call ${ask.call}`]),
    ...field("grant", [`${quoteText(ask.grant)} in ${quoteText(ask.grant_file)}`, `sha256 ${ask.grant_sha256}`]),
    ...planRows(ask.run),
    ...field("result is", [phraseLabel(ask.label)]),
    ...field("seen so far", [phraseLabel(before)]),
    ...field("seen after", [rises ? `${phraseLabel(after)} (approving raises it)` : `${phraseLabel(after)} (no change)`]),
    ...field("expires", [`${expires} (${phraseWait(millisFromTimestamp(expires) - now)})`]),
    ...field("digest", [digest]),
  ];
}

/**
 * Writes the whole block.
 *
 * @param now milliseconds since 1970, for how long there is left to answer
 */
export function showAsk(screen: Screen, shown: ShownAsk, now: number): void {
  screen.line(screen.style.bold(`approval ${shown.ask.approval}: ${shown.ask.request.tool}`));
  for (const { marks, text } of rowsOf(shown, now)) screen.line(text, marks);
}
