/** The grants that the owner has given for the next turn of a chat. */
import { escapeText, type SessionId } from "@boxmaker/proto";
import type { Screen } from "../terminal/screen.ts";
import { formatOwnerTime } from "../time/owner-time.ts";
import { type HeldGrant, holdGrant } from "./session-grant.ts";
import { obstaclesOf } from "./try-allowance.ts";
import type { AllowWish } from "./wish.ts";

const TEXT = { first: "  | ", rest: "  | " };

export interface AllowanceOptions {
  /** admin.sock. */
  readonly socket: string;
  readonly session: SessionId;
  readonly screen: Screen;
}

export class Allowances implements AsyncDisposable {
  readonly #options: AllowanceOptions;
  #held: HeldGrant[] = [];

  constructor(options: AllowanceOptions) {
    this.#options = options;
  }

  /** Asks brokerd for the grant and shows all that it says, or why there is none. */
  async add(wish: AllowWish): Promise<void> {
    const { tool, scope, uses } = wish;
    const { socket, session, screen } = this.#options;
    const allowing = await holdGrant(socket, { session, tool, scope, uses });
    if (allowing.kind === "failed") {
      screen.line("not allowed:");
      for (const line of allowing.lines) screen.line(`  ${line}`, { first: "", rest: "    " });
      return;
    }
    const { held } = allowing;
    this.#held.push(held);
    screen.line(`grant ${escapeText(held.grant)}, until the next turn ends, ${formatOwnerTime(held.expires)} at the latest:`);
    for (const line of held.text.trimEnd().split("\n")) screen.line(escapeText(line), TEXT);
    for (const line of await obstaclesOf(socket, session, wish)) screen.line(line, { first: "", rest: "    " });
  }

  /** The turn that they were given for has ended, and so do they. */
  async end(): Promise<void> {
    const held = this.#held;
    this.#held = [];
    for (const { grant, release } of held) this.#options.screen.line(`grant ${escapeText(grant)} ${await release()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const held = this.#held;
    this.#held = [];
    await Promise.all(held.map(({ release }) => release()));
  }
}
