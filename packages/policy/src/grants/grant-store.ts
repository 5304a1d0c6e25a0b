/**
 * The owner's grants, always as they are on disk: each decision gets one consistent set, or the problems that make it invalid.
 * Unchanged files are not read again.
 */
import type { Clock } from "@boxmaker/edge/log";
import { type AbsPath, decodeUtf8, escapeText, type GrantProblem } from "@boxmaker/proto";
import { type GrantSet, LABELS_FILE, TOOLS_FILE } from "../rules/grant-set.ts";
import { assembleSet, grantFilesOf, labelsFileOf } from "./assemble-set.ts";
import { checkPlaces, realPlaces } from "./check-places.ts";
import {
  type DirectoryEntry,
  type DirectoryLook,
  entryProblem,
  type FileBeside,
  isSameLook,
  latestChange,
  lookAtFiles,
} from "./grant-directory.ts";
import { type GrantFiles, isSameStamp, realGrantFiles, type Stamp } from "./grant-files.ts";
import { readSetText, type SetText } from "./set-text.ts";

export type { GrantSet } from "../rules/grant-set.ts";

/** How long the directory must have been unchanged before it is read: an editor's rename must not drop a deny for a moment. */
export const QUIET_MS = 250;
/** How long a decision waits for that at most. */
export const SETTLE_MS = 5_000;
/** Files that are opened at the same time. */
const READ_AHEAD = 32;

export interface GrantStoreOptions {
  readonly directory: AbsPath;
  /** `tools.toml`, and below `labels.toml`: where one isn't given or isn't there, nothing is said of tools or of trees. */
  readonly tools?: AbsPath;
  readonly labels?: AbsPath;
  /** The box's own directories. The grants directory and the files beside it always are. */
  readonly forbidden: readonly AbsPath[];
  readonly clock: Clock;
  readonly files?: GrantFiles;
  /** The user id that may write grants beside root; the process's own unless given. */
  readonly owner?: number;
}

type Content = { readonly kind: "text"; readonly text: SetText } | Unread;

/** `lasts`: as long as the file doesn't change; a failure of the system may pass by itself. */
interface Unread {
  readonly kind: "unread";
  readonly problem: string;
  readonly lasts: boolean;
}

/** What a file held when it had this stamp. */
interface Known {
  readonly stamp: Stamp;
  readonly content: Content;
}

export class GrantStore {
  readonly #directory: AbsPath;
  readonly #beside: readonly FileBeside[];
  readonly #forbidden: readonly AbsPath[];
  readonly #clock: Clock;
  readonly #files: GrantFiles;
  readonly #owner: number;
  #known = new Map<string, Known>();
  #loaded: { readonly look: DirectoryLook; readonly set: GrantSet } | undefined;
  #running: Promise<GrantSet> | undefined;
  #next: Promise<GrantSet> | undefined;

  constructor(options: GrantStoreOptions) {
    this.#directory = options.directory;
    this.#beside = [
      ...(options.labels === undefined ? [] : [{ name: LABELS_FILE, path: options.labels }]),
      ...(options.tools === undefined ? [] : [{ name: TOOLS_FILE, path: options.tools }]),
    ];
    this.#forbidden = [...options.forbidden, options.directory, ...this.#beside.map(({ path }) => path)];
    this.#clock = options.clock;
    this.#files = options.files ?? realGrantFiles;
    this.#owner = options.owner ?? process.geteuid?.() ?? 0;
  }

  /**
   * The grants as they are on disk after this was called. Where they have changed, it waits until they have been left alone for
   * {@link QUIET_MS}, {@link SETTLE_MS} at most. The same object is returned as long as nothing changes.
   */
  current(): Promise<GrantSet> {
    // A look that has begun may have missed the change that its caller knows of; one that hasn't may be shared.
    if (this.#next !== undefined) return this.#next;
    if (this.#running === undefined) return this.#start();
    const start = (): Promise<GrantSet> => this.#start();
    this.#next = this.#running.then(start, start);
    return this.#next;
  }

  #start(): Promise<GrantSet> {
    this.#next = undefined;
    const running = this.#refresh().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #refresh(): Promise<GrantSet> {
    const look = this.#look();
    const isUnchanged = this.#loaded !== undefined && isSameLook(look, this.#loaded.look);
    if (isUnchanged && this.#loaded?.set.kind === "valid") return this.#loaded.set;
    const deadline = this.#clock.monotonic() + SETTLE_MS;
    // An invalid set is judged anew though: what is wrong may lie outside the directory (a path that leads through a link).
    let settled = isUnchanged ? look : await this.#settle(look, deadline);
    while (settled !== undefined) {
      const known = await this.#read(settled);
      const after = this.#look();
      if (isSameLook(settled, after)) {
        this.#known = keepLasting(known);
        this.#loaded = { look: settled, set: this.#judge(settled, known) };
        return this.#loaded.set;
      }
      settled = await this.#settle(after, deadline);
    }
    const problem = `keeps changing: it wasn't left alone for ${QUIET_MS} ms within ${SETTLE_MS} ms; stop what writes there`;
    return { kind: "invalid", problems: [{ file: escapeText(this.#directory), line: 1, problem }] };
  }

  #look(): DirectoryLook {
    return lookAtFiles(this.#directory, this.#beside, this.#files, this.#owner);
  }

  /** Waits until the directory has been left alone; `undefined` where the deadline comes first. */
  async #settle(first: DirectoryLook, deadline: number): Promise<DirectoryLook | undefined> {
    const clock = this.#clock;
    const never = new AbortController().signal;
    let look = first;
    let quietSince = clock.monotonic() - this.#quietFor(look);
    for (;;) {
      const now = clock.monotonic();
      const remaining = quietSince + QUIET_MS - now;
      if (remaining <= 0) return look;
      if (now >= deadline) return undefined;
      await clock.sleep(Math.min(remaining, deadline - now), never);
      const next = this.#look();
      if (isSameLook(look, next)) continue;
      look = next;
      quietSince = clock.monotonic() - this.#quietFor(look);
    }
  }

  /** How long ago the last change was, by the file system; 0 where that isn't known or lies in the future of a clock that was set back. */
  #quietFor(look: DirectoryLook): number {
    const changed = latestChange(look);
    return changed === undefined ? 0 : Math.max(0, this.#clock.now() - changed);
  }

  /** What every file of the look holds: known content where the stamp is the same, read anew where not. */
  async #read(look: DirectoryLook): Promise<Map<string, Known>> {
    const known = new Map<string, Known>();
    for (let start = 0; start < look.entries.length; start += READ_AHEAD) {
      const batch = look.entries.slice(start, start + READ_AHEAD);
      const read = await Promise.all(batch.map((entry) => this.#readEntry(entry)));
      batch.forEach((entry, index) => {
        const found = read[index];
        if (found !== undefined) known.set(entry.name, found);
      });
    }
    return known;
  }

  async #readEntry(entry: DirectoryEntry): Promise<Known | undefined> {
    const { looked, name, path } = entry;
    if (looked.kind !== "file" || entryProblem(entry, this.#owner) !== undefined) return undefined;
    const known = this.#known.get(name);
    if (known !== undefined && isSameStamp(known.stamp, looked)) return known;
    const reading = await this.#files.read(path, looked);
    switch (reading.kind) {
      case "bytes":
        return { stamp: looked, content: readContent(entry, reading.bytes) };
      case "changed":
        return { stamp: looked, content: UNSTABLE };
      case "unreadable":
        return { stamp: looked, content: { kind: "unread", problem: `can't be read (${reading.code})`, lasts: false } };
      default:
        return reading satisfies never;
    }
  }

  /** The places that no grant may name, as written and as they are now without links. */
  get reserved(): readonly AbsPath[] {
    return realPlaces(this.#forbidden, this.#files);
  }

  /** The set that these files make: valid only where nothing at all is wrong. */
  #judge(look: DirectoryLook, known: ReadonlyMap<string, Known>): GrantSet {
    const problems: GrantProblem[] = [...look.problems];
    const texts: SetText[] = [];
    for (const entry of look.entries) {
      const content = known.get(entry.name)?.content ?? UNSTABLE;
      const problem = entryProblem(entry, this.#owner) ?? (content.kind === "unread" ? content.problem : undefined);
      if (problem !== undefined) problems.push({ file: entry.shown, line: 1, problem });
      if (content.kind === "text") texts.push(content.text);
    }
    problems.push(...checkPlaces(grantFilesOf(texts), labelsFileOf(texts), this.#files));
    return assembleSet(texts, this.reserved, problems);
  }
}

const UNSTABLE: Unread = { kind: "unread", problem: "changed while it was read", lasts: false };

function readContent({ name, shown }: DirectoryEntry, bytes: Uint8Array): Content {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: "unread", problem: "is not UTF-8", lasts: true };
  return { kind: "text", text: readSetText(name, shown, text) };
}

/** What may be used again as long as the file's stamp is the same. */
function keepLasting(known: ReadonlyMap<string, Known>): Map<string, Known> {
  return new Map([...known].filter(([, { content }]) => content.kind === "text" || content.lasts));
}
