/** Asks that are ended in several ways at the same moment, and everything that tells how each of them ended. */
import type { AdminAnswer, ApprovalAuditEvent, ApprovalId } from "@boxmaker/proto";
import type { ApprovalChange, PendingAsk } from "../../src/approvals/approval-table.ts";
import type { AskEnd } from "../../src/calls/tool-calls.ts";
import { BoxFiles, Rig, type SentCall } from "./rig.ts";

export type Ending = "approve" | "refuse" | "expire" | "gone";
export const ENDINGS: readonly Ending[] = ["approve", "refuse", "expire", "gone"];

/** brokerds that are raced in at most, each with a log of its own: one waits for its disk while another goes on. */
const LANES = 8;
/** Asks that wait at the same time, one of which is raced for after the other. */
const AT_ONCE = 64;
/** What lies between the expiries of two of them, so that time passes for one alone. */
const APART_MS = 500;
/**
 * After so many turns of the event loop the next ending comes, so that it meets the one before at every step; `null`: once that one is
 * through, which has won then for certain.
 */
const DELAYS: readonly (number | null)[] = [0, 0, 1, 2, 3, 4, 6, null];

const ANSWERS = { approve: "approved", refuse: "refused", expire: "expired", gone: "gone" } as const satisfies Record<
  Ending,
  ApprovalAuditEvent["answer"]
>;

/** How often each ending has won, and what was wrong in words. */
export interface RaceTally {
  readonly wins: Readonly<Record<Ending, number>>;
  readonly faults: readonly string[];
}

interface Round {
  readonly id: ApprovalId;
  readonly won: readonly (typeof ANSWERS)[Ending][];
  readonly outcome: string;
}

function turnsOf(count: number): Promise<void> {
  return count === 0 ? Promise.resolve() : new Promise((resolve) => setImmediate(() => resolve(turnsOf(count - 1))));
}

class Races {
  readonly #rig: Rig;
  readonly #files: BoxFiles;
  readonly #changes: [ApprovalId, ApprovalChange][] = [];
  readonly #rounds: Round[] = [];

  constructor(rig: Rig, files: BoxFiles) {
    this.#rig = rig;
    this.#files = files;
    rig.table.subscribe(({ id }, change) => this.#changes.push([id, change]));
  }

  async #end(ending: Ending, { id, ask, expiresAt }: PendingAsk<AskEnd>, sent: SentCall): Promise<AdminAnswer | undefined> {
    const { approvals, clock } = this.#rig;
    const owner = { by: "bxctl", user: null } as const;
    switch (ending) {
      case "approve":
        return await approvals.approve(id, ask.digest, owner);
      case "refuse":
        return await approvals.refuse(id, null, owner);
      case "expire":
        clock.advance(Math.max(0, expiresAt - clock.now()));
        return undefined;
      case "gone":
        sent.leave();
        return undefined;
      default:
        return ending satisfies never;
    }
  }

  async #race(entry: PendingAsk<AskEnd>, sent: SentCall, order: readonly Ending[], delay: number | null): Promise<void> {
    const answers: Promise<readonly [Ending, AdminAnswer | undefined]>[] = [];
    for (const ending of order) {
      answers.push(this.#end(ending, entry, sent).then((answer) => [ending, answer] as const));
      await (delay === null ? Promise.all([sent.outcome, ...answers]) : turnsOf(delay));
    }
    const won = (await Promise.all(answers)).flatMap(([ending, answer]) =>
      answer?.kind === "ok" || (answer?.kind === "approve_result" && answer.body.outcome === "ask") ? [ANSWERS[ending]] : [],
    );
    const outcome = await sent.outcome;
    const denial = typeof outcome === "object" && outcome.outcome === "denied" ? outcome.reason : undefined;
    this.#rounds.push({ id: entry.id, won, outcome: denial ?? (typeof outcome === "object" ? outcome.outcome : outcome) });
  }

  async batch(endings: readonly Ending[], from: number, count: number): Promise<void> {
    const sent = Array.from({ length: count }, (_, offset) => this.#rig.write("a", { session: `s-${from + offset}` }));
    const waiting = await Promise.all(
      sent.map(async (one) => ({ sent: one, entry: this.#rig.table.get(await one.pending) ?? throwGone() })),
    );
    waiting.sort((a, b) => a.entry.expiresAt - b.entry.expiresAt);
    for (const [offset, { entry, sent: one }] of waiting.entries()) {
      const round = from + offset;
      const shift = round % endings.length;
      const order = [...endings.slice(shift), ...endings.slice(0, shift)];
      await this.#race(entry, one, order, DELAYS[Math.floor(round / endings.length) % DELAYS.length] ?? null);
    }
  }

  /** What each ask's record, watchers, owners and requester were told, held against each other. */
  tally(): RaceTally {
    const wins: Record<Ending, number> = { approve: 0, refuse: 0, expire: 0, gone: 0 };
    const faults: string[] = [];
    const records = Map.groupBy(this.#files.events("approval"), ({ decision }) => decision);
    const results = Map.groupBy(this.#files.events("result"), ({ decision }) => Number(decision));
    const changes = Map.groupBy(this.#changes, ([id]) => id);
    let ran = 0;
    for (const { id, won, outcome } of this.#rounds) {
      const answers = (records.get(id) ?? []).map(({ answer }) => answer);
      const told = (changes.get(id) ?? []).map(([, change]) => change).join(" ");
      const [winner] = ENDINGS.filter((ending) => ANSWERS[ending] === answers[0]);
      const isApproved = answers[0] === "approved";
      const expected = isApproved ? ["result", "failed"] : [answers[0] === "expired" ? "approval_expired" : "approval_refused"];
      const isOwners = isApproved || answers[0] === "refused";
      if (outcome === "result") ran++;
      const isSound =
        answers.length === 1 &&
        told === `pending ${answers[0]}` &&
        (isOwners ? won.length === 1 && won[0] === answers[0] : won.length === 0) &&
        expected.includes(outcome) &&
        (results.get(id)?.length ?? 0) === (isApproved ? 1 : 0);
      if (!isSound) faults.push(`${id}: recorded ${answers.join(", ")}; watched ${told}; owners ${won.join(", ")}; ${outcome}`);
      if (winner !== undefined) wins[winner]++;
    }
    // A call whose requester left at the last moment has a result, too: that it didn't run.
    if (this.#rig.runtime.runs.length !== ran) faults.push(`${this.#rig.runtime.runs.length} runs for ${ran} results`);
    if (this.#rig.table.size !== 0 || this.#rig.ledger.running !== 0) faults.push("something waits or runs still");
    return { wins, faults };
  }
}

function throwGone(): never {
  throw new Error("expected an ask that waits");
}

async function raceIn(endings: readonly Ending[], rounds: number): Promise<RaceTally> {
  using files = new BoxFiles();
  files.grant("write", "write_file", "ask");
  let sent = 0;
  await using rig = await Rig.open(files, { ttlMs: () => (1 + (sent++ % AT_ONCE)) * APART_MS, maxPending: AT_ONCE });
  const races = new Races(rig, files);
  for (let from = 0; from < rounds; from += AT_ONCE) await races.batch(endings, from, Math.min(AT_ONCE, rounds - from));
  return races.tally();
}

/** Races these endings for as many asks of several brokerds at once, each in every order and at every distance. */
export async function raceEndings(endings: readonly Ending[], rounds: number): Promise<RaceTally> {
  const lanes = Math.min(LANES, rounds);
  const tallies = await Promise.all(Array.from({ length: lanes }, () => raceIn(endings, Math.ceil(rounds / lanes))));
  const winsOf = (ending: Ending): number => tallies.reduce((sum, { wins }) => sum + wins[ending], 0);
  const wins = { approve: winsOf("approve"), refuse: winsOf("refuse"), expire: winsOf("expire"), gone: winsOf("gone") };
  return { wins, faults: tallies.flatMap(({ faults }) => faults) };
}
