/** What a sound log still leaves open: asks that nobody answered, calls that never came back, and what a reader should know of. */
import type { Timestamp } from "../ids/timestamp.ts";
import { unreachable } from "../text/unreachable.ts";
import type { ApprovalAuditEvent } from "./audit-event.ts";
import { dayOf } from "./day-of.ts";
import type { DayFileName } from "./log-files.ts";
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

/** An answer or a result whose ask or call is in no record of this part; `runs`: it lets the call run. */
export interface LooseEnd {
  readonly seq: number;
  readonly kind: "approval" | "result";
  readonly decision: number;
  readonly runs: boolean;
}

/** What was counted over some records in the middle of a log. It can be copied to another thread. */
export interface TallyPart {
  readonly firstSeq: number;
  readonly firstTime: Timestamp;
  readonly lastTime: Timestamp;
  readonly lastFile: DayFileName;
  readonly asks: ReadonlySet<number>;
  readonly calls: ReadonlySet<number>;
  /** In order. */
  readonly looseEnds: readonly LooseEnd[];
  readonly lists: TallyLists;
}

const MAX_LISTED = 100;

class ShortList<T> {
  readonly #first: T[] = [];
  #total = 0;

  add(item: T): void {
    this.#total++;
    if (this.#first.length < MAX_LISTED) this.#first.push(item);
  }

  addAll({ total, first }: Listed<T>): void {
    this.#first.push(...first.slice(0, MAX_LISTED - this.#first.length));
    this.#total += total;
  }

  list(): Listed<T> {
    return { total: this.#total, first: [...this.#first] };
  }
}

/** In order of seq: an ask that was approved late comes to the calls behind later ones. */
function listSet(seqs: ReadonlySet<number>): Listed<number> {
  return { total: seqs.size, first: [...seqs].sort((a, b) => a - b).slice(0, MAX_LISTED) };
}

function letsRun(approval: Pick<ApprovalAuditEvent, "answer" | "outcome">): boolean {
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
  readonly #looseEnds: LooseEnd[] = [];
  readonly #keepsLooseEnds: boolean;
  #records = 0;
  #first: Pick<TallyPart, "firstSeq" | "firstTime"> | undefined;
  #lastTime: Timestamp | undefined;
  #lastFile: DayFileName | undefined;

  /**
   * @param scope of a part, an answer without its ask is no stray yet: the ask may be in an earlier part
   * @param within the file that a part begins in the middle of
   */
  constructor(scope: "log" | "part" = "log", within?: DayFileName) {
    this.#keepsLooseEnds = scope === "part";
    this.#lastFile = within;
  }

  /** Takes the next record; fits an AuditChain's callback. */
  add({ seq, time, event }: TalliedRecord, { file }: LinePlace): void {
    this.#step(seq, time);
    if (file !== this.#lastFile && dayOf(time) !== dayOf(file)) this.#misnamed.add({ file, time });
    this.#records++;
    this.#first ??= { firstSeq: seq, firstTime: time };
    this.#lastTime = time;
    this.#lastFile = file;
    switch (event.kind) {
      case "decision":
        if (event.outcome === "ask") this.#asks.add(seq);
        if (event.outcome === "allowed") this.#calls.add(seq);
        break;
      case "approval":
        this.#close({ seq, kind: "approval", decision: event.decision, runs: letsRun(event) });
        break;
      case "result":
        this.#close({ seq, kind: "result", decision: event.decision, runs: false });
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

  #step(seq: number, time: Timestamp): void {
    const from = this.#lastTime;
    if (from !== undefined && time < from) this.#clockSteps.add({ seq, from, to: time });
  }

  #close(end: LooseEnd): void {
    const isKnown = (end.kind === "approval" ? this.#asks : this.#calls).delete(end.decision);
    if (isKnown) {
      if (end.runs) this.#calls.add(end.decision);
    } else if (this.#keepsLooseEnds) {
      this.#looseEnds.push(end);
    } else {
      this.#strays.add(end.seq);
    }
  }

  /** How many answers and results wait for an earlier part. */
  get looseEnds(): number {
    return this.#looseEnds.length;
  }

  /** What was counted so far, for {@link AuditTally.join}; undefined where there was no record. */
  part(): TallyPart | undefined {
    const [lastTime, lastFile] = [this.#lastTime, this.#lastFile];
    if (this.#first === undefined || lastTime === undefined || lastFile === undefined) return undefined;
    const open = { asks: this.#asks, calls: this.#calls, looseEnds: this.#looseEnds };
    return { ...this.#first, lastTime, lastFile, ...open, lists: this.lists() };
  }

  /** Takes the part that follows; parts must come in order. */
  join({ firstSeq, firstTime, lastTime, lastFile, asks, calls, looseEnds, lists }: TallyPart): void {
    this.#step(firstSeq, firstTime);
    for (const end of looseEnds) this.#close(end);
    for (const seq of asks) this.#asks.add(seq);
    for (const seq of calls) this.#calls.add(seq);
    this.#records += lists.records;
    this.#recoveries.addAll(lists.recoveries);
    this.#acceptedBreaks.addAll(lists.acceptedBreaks);
    this.#acceptedLosses.addAll(lists.acceptedLosses);
    this.#clockSteps.addAll(lists.clockSteps);
    this.#misnamed.addAll(lists.misnamedFiles);
    this.#strays.addAll(lists.strays);
    this.#first ??= { firstSeq, firstTime };
    this.#lastTime = lastTime;
    this.#lastFile = lastFile;
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
