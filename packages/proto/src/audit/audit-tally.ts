/** What a sound log still leaves open: asks that nobody answered, calls that never came back, and what a reader should know of. */
import type { Timestamp } from "../ids/timestamp.ts";
import { unreachable } from "../text/unreachable.ts";
import type { ApprovalAuditEvent } from "./audit-event.ts";
import { type DayFileName, dayOf } from "./log-files.ts";
import type { TalliedRecord } from "./tallied-record.ts";
import type { LinePlace } from "./torn-line.ts";

/** The first items of a list that may be long, and how many there are in all. */
export interface Listed<T> {
  readonly total: number;
  readonly first: readonly T[];
}

/** A recovery record: which line it accounts for. */
export interface RecoveryNote {
  readonly seq: number;
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

/** A break that the owner had brokerd go on behind, and how many lines nothing accounts for. */
export interface AcceptedBreakNote {
  readonly seq: number;
  readonly file: string;
  readonly line: number;
  readonly lines: number;
  readonly lastGood: number;
}

/** The owner had brokerd go on with a log that isn't the one that was signed. */
export interface AcceptedLossNote {
  readonly seq: number;
  readonly size: number;
  readonly found: number;
}

/** A record whose time is before that of the record before it. */
export interface ClockStep {
  readonly seq: number;
  readonly from: Timestamp;
  readonly to: Timestamp;
}

/** A file whose first record is of an earlier day than its name: the clock was set back while it was empty, or it was renamed. */
export interface MisnamedFile {
  readonly file: DayFileName;
  readonly time: Timestamp;
}

/** The lists; a seq is that of the decision, also where an approval let it run. */
export interface TallyLists {
  /** How many records there are, which isn't the last seq where a break was accepted. */
  readonly records: number;
  readonly unansweredAsks: Listed<number>;
  readonly unfinishedCalls: Listed<number>;
  readonly recoveries: Listed<RecoveryNote>;
  readonly acceptedBreaks: Listed<AcceptedBreakNote>;
  readonly acceptedLosses: Listed<AcceptedLossNote>;
  readonly clockSteps: Listed<ClockStep>;
  readonly misnamedFiles: Listed<MisnamedFile>;
  /** Seqs of approvals without a waiting ask and of results without a running call. */
  readonly strays: Listed<number>;
}

const MAX_LISTED = 100;

class ShortList<T> {
  readonly #first: T[] = [];
  #total = 0;

  add(item: T): void {
    this.#total++;
    if (this.#first.length < MAX_LISTED) this.#first.push(item);
  }

  list(): Listed<T> {
    return { total: this.#total, first: [...this.#first] };
  }
}

function listSet(seqs: ReadonlySet<number>): Listed<number> {
  return { total: seqs.size, first: [...seqs].slice(0, MAX_LISTED) };
}

function lets(approval: Pick<ApprovalAuditEvent, "answer" | "outcome">): boolean {
  return approval.answer === "approved" && (approval.outcome === "allowed" || approval.outcome === "ask");
}

/** Counts over the records of one log, in order. Memory grows only with what is open. */
export class AuditTally {
  readonly #asks = new Set<number>();
  readonly #calls = new Set<number>();
  readonly #recoveries = new ShortList<RecoveryNote>();
  readonly #acceptedBreaks = new ShortList<AcceptedBreakNote>();
  readonly #acceptedLosses = new ShortList<AcceptedLossNote>();
  readonly #clockSteps = new ShortList<ClockStep>();
  readonly #misnamed = new ShortList<MisnamedFile>();
  readonly #strays = new ShortList<number>();
  #records = 0;
  #lastTime: Timestamp | undefined;
  #lastFile: DayFileName | undefined;

  /** Takes the next record; fits an AuditChain's callback. */
  add({ seq, time, event }: TalliedRecord, { file }: LinePlace): void {
    if (this.#lastTime !== undefined && time < this.#lastTime) this.#clockSteps.add({ seq, from: this.#lastTime, to: time });
    if (file !== this.#lastFile && dayOf(time) !== dayOf(file)) this.#misnamed.add({ file, time });
    this.#records++;
    this.#lastTime = time;
    this.#lastFile = file;
    switch (event.kind) {
      case "decision":
        if (event.outcome === "ask") this.#asks.add(seq);
        if (event.outcome === "allowed") this.#calls.add(seq);
        break;
      case "approval":
        if (!this.#asks.delete(event.decision)) this.#strays.add(seq);
        else if (lets(event)) this.#calls.add(event.decision);
        break;
      case "result":
        if (!this.#calls.delete(event.decision)) this.#strays.add(seq);
        break;
      case "recovery":
        this.#recoveries.add({ seq, file: event.file, offset: event.offset, bytes: event.bytes });
        break;
      case "accepted_break": {
        const { file: broken, line, lines, last_good: lastGood } = event;
        this.#acceptedBreaks.add({ seq, file: broken, line, lines, lastGood });
        break;
      }
      case "accepted_loss":
        this.#acceptedLosses.add({ seq, size: event.size, found: event.found });
        break;
      case "started":
      case "session_opened":
      case "grants_changed":
      case "session_grant":
      case "session_grant_ended":
      case "label_reset":
      case "stopped":
        break;
      default:
        unreachable(event);
    }
  }

  lists(): TallyLists {
    return {
      records: this.#records,
      unansweredAsks: listSet(this.#asks),
      unfinishedCalls: listSet(this.#calls),
      recoveries: this.#recoveries.list(),
      acceptedBreaks: this.#acceptedBreaks.list(),
      acceptedLosses: this.#acceptedLosses.list(),
      clockSteps: this.#clockSteps.list(),
      misnamedFiles: this.#misnamed.list(),
      strays: this.#strays.list(),
    };
  }
}
