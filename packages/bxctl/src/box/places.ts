/** Where the box is that a command talks to. */
import { join, resolve } from "node:path";
import { escapeText } from "@boxmaker/proto/text";

/** Absolute paths. */
export interface Places {
  readonly home: string;
  readonly audit: string;
  readonly loopSocket: string;
  readonly adminSocket: string;
  /** The flags that lead another bxctl to the same brokerd, as a shell takes them, each after a space; printable. */
  readonly adminFlags: string;
  /** As above, for the whole box. */
  readonly homeFlags: string;
}

/** What the owner gave on the command line. */
export interface PlaceFlags {
  readonly home?: string;
  readonly socket?: string;
  readonly adminSocket?: string;
}

const DEFAULT_HOME = "/var/lib/boxmaker";

function shellWord(text: string): string {
  return /^[\w/.+@%-]+$/u.test(text) ? text : `'${escapeText(text).replaceAll("'", "'\\''")}'`;
}

/** The places for these flags: `--home`, else `$BOXMAKER_HOME`, else the default; relative ones against the working directory. */
export function findPlaces(flags: PlaceFlags, env: Readonly<Record<string, string | undefined>>): Places {
  const named = env["BOXMAKER_HOME"];
  const home = resolve(flags.home ?? (named === undefined || named === "" ? DEFAULT_HOME : named));
  const ownSocket = join(home, "run/admin/admin.sock");
  const adminSocket = resolve(flags.adminSocket ?? ownSocket);
  const homeFlag = home === DEFAULT_HOME ? "" : ` --home ${shellWord(home)}`;
  return {
    home,
    audit: join(home, "audit"),
    loopSocket: resolve(flags.socket ?? join(home, "run/loop/loop.sock")),
    adminSocket,
    homeFlags: homeFlag,
    adminFlags: adminSocket === ownSocket ? homeFlag : ` --admin-socket ${shellWord(adminSocket)}`,
  };
}
