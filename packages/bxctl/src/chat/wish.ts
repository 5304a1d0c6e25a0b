/** What a line that the owner types in a chat asks for. */
import { quoteText, SafeInteger, ToolName } from "@boxmaker/proto";
import { isSendable, MAX_TEXT_BYTES } from "./message-text.ts";

/** A grant for the session until its next turn ends. `uses` null: as often as the model likes meanwhile. */
export interface AllowWish {
  readonly kind: "allow";
  readonly tool: ToolName;
  readonly scope: string;
  readonly uses: number | null;
}

/** `problem` is printable. */
export type Wish =
  | { readonly kind: "nothing" | "quit" | "help" | "compact" }
  | { readonly kind: "say"; readonly text: string }
  | AllowWish
  | { readonly kind: "mistake"; readonly problem: string };

const ALLOW_USAGE = "expected /allow TOOL SCOPE [uses N], as in: /allow write_file /home/me/notes uses 2";
const SHOWN = 64;

function readAllow(line: string): Wish {
  const mistake = (problem: string): Wish => ({ kind: "mistake", problem: `${problem}; ${ALLOW_USAGE}` });
  const [, tool = "", rest = ""] = /^\/allow\s+(\S+)\s+(.+)$/u.exec(line) ?? [];
  if (rest === "") return { kind: "mistake", problem: ALLOW_USAGE };
  const named = ToolName.safeParse(tool);
  if (!named.success) return mistake(`${quoteText(tool.slice(0, SHOWN))} is no tool: there are ${ToolName.options.join(", ")}`);
  const [, scope = rest, count] = /^(.+?)\s+uses\s+(\S+)$/u.exec(rest) ?? [];
  if (count === undefined) return { kind: "allow", tool: named.data, scope, uses: null };
  const uses = SafeInteger.min(1).safeParse(/^[1-9][0-9]{0,15}$/u.test(count) ? Number(count) : undefined);
  if (!uses.success) return mistake(`${quoteText(count.slice(0, SHOWN))} is no number of uses`);
  return { kind: "allow", tool: named.data, scope, uses: uses.data };
}

export function readWish(line: string): Wish {
  const word = line.trim();
  if (word === "") return { kind: "nothing" };
  if (word === "/quit") return { kind: "quit" };
  if (word === "/help") return { kind: "help" };
  if (word === "/compact") return { kind: "compact" };
  if (word === "/allow" || word.startsWith("/allow ")) return readAllow(word);
  if (word.startsWith("/") && !word.startsWith("//")) {
    return {
      kind: "mistake",
      problem: `${quoteText(word.slice(0, SHOWN))} is no command here; /help lists them, //text sends a text that begins with /`,
    };
  }
  const text = word.startsWith("//") ? word.slice(1) : line;
  return isSendable(text)
    ? { kind: "say", text }
    : { kind: "mistake", problem: `expected at most ${MAX_TEXT_BYTES} bytes in one message` };
}
