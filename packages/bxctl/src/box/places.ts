/** Where the box is that a command talks to. */
import { join, resolve } from "node:path";

/** Absolute paths. */
export interface Places {
  readonly home: string;
  readonly audit: string;
  readonly loopSocket: string;
  readonly adminSocket: string;
}

/** What the owner gave on the command line. */
export interface PlaceFlags {
  readonly home?: string;
  readonly socket?: string;
  readonly adminSocket?: string;
}

const DEFAULT_HOME = "/var/lib/boxmaker";

/** The places for these flags: `--home`, else `$BOXMAKER_HOME`, else the default; relative ones against the working directory. */
export function findPlaces(flags: PlaceFlags, env: Readonly<Record<string, string | undefined>>): Places {
  const named = env["BOXMAKER_HOME"];
  const home = resolve(flags.home ?? (named === undefined || named === "" ? DEFAULT_HOME : named));
  return {
    home,
    audit: join(home, "audit"),
    loopSocket: resolve(flags.socket ?? join(home, "run/loop/loop.sock")),
    adminSocket: resolve(flags.adminSocket ?? join(home, "run/admin/admin.sock")),
  };
}
