/** Where everything of one box is on disk. */
import { join, resolve } from "node:path";
import { AbsPath, quoteText } from "@boxmaker/proto";

/** The paths of one home. Sockets may lie elsewhere, where the home's own path would make theirs too long for the kernel. */
export interface Layout {
  readonly home: AbsPath;
  readonly notes: AbsPath;
  readonly audit: AbsPath;
  readonly grants: AbsPath;
  readonly config: { readonly brokerd: AbsPath; readonly loopd: AbsPath };
  readonly sockets: { readonly loop: AbsPath; readonly broker: AbsPath; readonly admin: AbsPath; readonly infer: AbsPath };
}

/** The kernel's limit on a socket's path is 107 bytes (unix(7)); the longest name below `run` takes this much. */
const LONGEST_SOCKET = "/loop-gateway/loop.sock".length;
const MAX_SOCKET_PATH = 107;

export type LayoutResult =
  | { readonly kind: "ok"; readonly layout: Layout }
  | { readonly kind: "invalid"; readonly problem: string };

/** Whether sockets below `home` would have paths that the kernel takes. */
export function hasRoomForSockets(home: string): boolean {
  return Buffer.byteLength(`${home}/run`) + LONGEST_SOCKET <= MAX_SOCKET_PATH;
}

/**
 * The layout of a home. A relative one is resolved against the working directory.
 *
 * @param run where the sockets' directories are, `<home>/run` unless it is too long
 */
export function layoutOf(home: string, run: string = join(resolve(home), "run")): LayoutResult {
  const root = AbsPath.safeParse(resolve(home));
  if (home === "" || !root.success || /[:,]/u.test(root.data)) {
    return {
      kind: "invalid",
      problem: `can't use ${quoteText(home)} as home: expected a path without ':', ',' and control characters`,
    };
  }
  const below = (path: string): AbsPath => AbsPath.parse(join(root.data, path));
  const socket = (path: string): AbsPath => AbsPath.parse(join(run, path));
  return {
    kind: "ok",
    layout: {
      home: root.data,
      notes: below("notes"),
      audit: below("audit"),
      grants: below("etc/grants"),
      config: { brokerd: below("etc/brokerd.toml"), loopd: below("etc/loopd.toml") },
      sockets: {
        loop: socket("loop/loop.sock"),
        broker: socket("broker/broker.sock"),
        admin: socket("admin/admin.sock"),
        infer: socket("infer/infer.sock"),
      },
    },
  };
}
