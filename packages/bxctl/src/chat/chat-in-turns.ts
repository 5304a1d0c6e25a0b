/** `bxctl chat`: line by line, until the owner leaves. */
import { type TurnEvent, unreachable } from "@boxmaker/proto";
import { askSessions } from "../box/ask-loop.ts";
import type { ExitStatus } from "../process-io.ts";
import type { Line, LineReader } from "../terminal/line-reader.ts";
import { openLines } from "../terminal/open-lines.ts";
import { Allowances } from "./allowances.ts";
import { askOwner } from "./approval-dialogue.ts";
import { AskingView } from "./asking-view.ts";
import { announce, type ChatContext } from "./chat-context.ts";
import { JsonView } from "./json-view.ts";
import type { TurnEnd } from "./run-turn.ts";
import { takeCompact, takeTurn } from "./take-turn.ts";
import { ScreenView } from "./turn-view.ts";
import { readWish } from "./wish.ts";

const HELP = [
  "/help   this list",
  "/allow TOOL SCOPE [uses N]  lets the model use the tool there without asking, until the next turn ends",
  "/compact  has the model sum the conversation up and goes on with that, which makes room",
  "/quit   leaves; so does the end of input (Ctrl-D)",
  "//text  sends a text that begins with /",
  "Ctrl-C cancels a turn, a second one leaves.",
  "A call that waits for you is shown whole; type its number to approve it, anything else refuses.",
];

/** Waits for the next message. Ctrl-C here says how to leave; a second one, or the first from a script, leaves. */
async function nextLine({ interrupts, out }: ChatContext, lines: LineReader): Promise<Line> {
  for (let warned = false; ; warned = true) {
    const interrupted = new AbortController();
    using _listening = interrupts.listen(() => interrupted.abort());
    const line = await lines.ask(out.style.bold("> "), { signal: interrupted.signal, remember: true });
    if (line.kind !== "withdrawn") return line;
    if (warned || !lines.isTerminal) return { kind: "end" };
    out.line("Ctrl-C again leaves; /help lists the commands");
  }
}

function chatTurn(text: string, context: ChatContext, lines: LineReader): Promise<TurnEnd> {
  return context.json ? scriptTurn(text, context) : personTurn(text, context, lines);
}

async function scriptTurn(text: string, context: ChatContext): Promise<TurnEnd> {
  const { conversation, places, clock, interrupts, out, err } = context;
  const view = new JsonView(err, out);
  const onEvent = (event: TurnEvent): Promise<void> => {
    view.event(event);
    return Promise.resolve();
  };
  const taking = { socket: places.loopSocket, clock, interrupts, notes: err, onEvent, onCancel: () => undefined };
  const end = await takeTurn(conversation, text, taking);
  view.end(end);
  return end;
}

async function personTurn(text: string, context: ChatContext, lines: LineReader): Promise<TurnEnd> {
  const { conversation, places, clock, interrupts, out } = context;
  const dialogue = { socket: places.adminSocket, screen: out, lines, clock };
  const view = new AskingView(new ScreenView({ events: out, answers: out, text: "streamed" }), (approval, settled) =>
    askOwner(approval, dialogue, settled),
  );
  const end = await takeTurn(conversation, text, {
    socket: places.loopSocket,
    clock,
    interrupts,
    notes: out,
    onEvent: (event) => view.event(event),
    onCancel: () => view.cancel(),
  });
  await view.end(end);
  return end;
}

/** Sums the conversation up. The event of the new epoch says that it is done. Says whether the owner left meanwhile. */
async function compact(context: ChatContext): Promise<"done" | "left"> {
  const { conversation, places, clock, interrupts, out, err, json } = context;
  const view = json ? new JsonView(err, out) : new ScreenView({ events: out, answers: out, text: "streamed" });
  const end = await takeCompact(conversation, {
    socket: places.loopSocket,
    clock,
    interrupts,
    notes: json ? err : out,
    onEvent: (event) => {
      view.event(event);
      return Promise.resolve();
    },
    onCancel: () => undefined,
  });
  if (end.kind !== "ok") view.end(end);
  return end.kind === "left" ? "left" : "done";
}

/** Holds the chat. A failed turn is one line, and the chat goes on; 1 where loopd wasn't there to begin with. */
export async function chatInTurns(context: ChatContext): Promise<ExitStatus> {
  const { out, err, io, places, interrupts, json } = context;
  const loop = await askSessions(places.loopSocket);
  if (loop.kind === "failed") {
    err.line(`bxctl: ${loop.problem}`);
    return 1;
  }
  announce(context, json ? err : out);
  using lines = openLines(io, interrupts, !json);
  await using allowances = new Allowances({ socket: places.adminSocket, session: context.conversation.session, screen: out });
  if (!json && lines.isTerminal) out.line(out.style.dim("/help lists the commands, /quit leaves"));
  for (;;) {
    const line = await nextLine(context, lines);
    if (line.kind !== "line") return 0;
    const wish = readWish(line.text);
    switch (wish.kind) {
      case "nothing":
        break;
      case "quit":
        return 0;
      case "help":
        for (const text of HELP) out.line(text);
        break;
      case "compact":
        if ((await compact(context)) === "left") return 0;
        break;
      case "mistake":
        out.line(wish.problem);
        break;
      case "allow":
        if (json) out.line("with --json brokerd isn't asked for anything: nothing is allowed");
        else await allowances.add(wish);
        break;
      case "say": {
        const end = await chatTurn(wish.text, context, lines);
        await allowances.end();
        if (end.kind === "left") return 0;
        break;
      }
      default:
        return unreachable(wish);
    }
  }
}
