/** Finds the few grants that could speak about a call among ten thousand: by tool and place, instead of one after the other. */
import { type AbsPath, hostOfUrl, type ToolCall, unreachable } from "@boxmaker/proto";
import type { LoadedGrant } from "./grant.ts";

type Places = Map<string, LoadedGrant[]>;

function add(places: Places, key: string, loaded: LoadedGrant): void {
  const known = places.get(key);
  if (known === undefined) places.set(key, [loaded]);
  else known.push(loaded);
}

/** A path and every folder above it but the root. */
function upwards(path: AbsPath): readonly string[] {
  const steps: string[] = [];
  for (let rest: string = path; rest !== ""; rest = rest.slice(0, rest.lastIndexOf("/"))) steps.push(rest);
  return steps;
}

/** The position of the first text that isn't below `from` in code-unit order. */
function lowerBound(sorted: readonly AbsPath[], from: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? from) < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class GrantIndex {
  readonly #places: Readonly<Record<ToolCall["tool"], Places>> = {
    read_file: new Map(),
    write_file: new Map(),
    shell: new Map(),
    http_fetch: new Map(),
  };
  readonly #shells: LoadedGrant[] = [];
  readonly #denied: readonly AbsPath[];
  /** Paths that some grant lets a box write. */
  readonly #writable: ReadonlyMap<string, AbsPath>;

  private constructor(grants: readonly LoadedGrant[]) {
    for (const loaded of grants) {
      const { tool, paths, hosts } = loaded.grant;
      for (const place of [...paths, ...hosts]) add(this.#places[tool], place, loaded);
      if (tool === "shell") this.#shells.push(loaded);
    }
    const denied = grants.filter(({ grant }) => grant.mode === "deny").flatMap(({ grant }) => grant.paths);
    this.#denied = [...new Set(denied)].sort();
    const writing = grants.filter(({ grant: { mode, tool } }) => mode !== "deny" && (tool === "shell" || tool === "write_file"));
    this.#writable = new Map(writing.flatMap(({ grant }) => grant.paths.map((path) => [path, path])));
  }

  static readonly #built = new WeakMap<readonly LoadedGrant[], GrantIndex>();

  /** The index of these grants, built once. They must not be changed afterwards. */
  static of(grants: readonly LoadedGrant[]): GrantIndex {
    const built = GrantIndex.#built.get(grants);
    if (built !== undefined) return built;
    const index = new GrantIndex(grants);
    GrantIndex.#built.set(grants, index);
    return index;
  }

  /** All grants that speak about the call, each once, and perhaps a few that don't: whether one does is for its constraints to say. */
  candidates(call: ToolCall): readonly LoadedGrant[] {
    const keys = this.#keysOf(call);
    if (keys === undefined) return this.#shells;
    const places = this.#places[call.tool];
    return [...new Set(keys.flatMap((key) => places.get(key) ?? []))];
  }

  #keysOf(call: ToolCall): readonly string[] | undefined {
    switch (call.tool) {
      case "read_file":
      case "write_file":
        return upwards(call.arguments.path);
      case "shell":
        return call.arguments.cwd === undefined ? undefined : upwards(call.arguments.cwd);
      case "http_fetch": {
        const host = hostOfUrl(call.arguments.url);
        return [host, `*${host.slice(host.indexOf("."))}`];
      }
      default:
        return unreachable(call);
    }
  }

  /** Paths strictly below the folder that some deny names, whatever tool, session or call the deny is about. */
  deniedBelow(folder: AbsPath): readonly AbsPath[] {
    const prefix = `${folder}/`;
    const start = lowerBound(this.#denied, prefix);
    let end = start;
    while (this.#denied[end]?.startsWith(prefix) === true) end++;
    return this.#denied.slice(start, end);
  }

  /** The outermost path strictly above this one that some grant lets a box write, if any. */
  writableAbove(path: AbsPath): AbsPath | undefined {
    const parents = upwards(path).slice(1);
    return parents.flatMap((parent) => this.#writable.get(parent) ?? []).at(-1);
  }
}
