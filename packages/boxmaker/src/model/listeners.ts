/** Who listens on which TCP port of this machine, so that a stranger's program isn't taken for the owner's model server. */
import { readFile } from "node:fs/promises";

/** A listening TCP socket: its port, and the user that it belongs to. */
export interface Listener {
  readonly port: number;
  readonly uid: number;
}

/** The kernel's state number for a listening socket (proc_pid_net(5), include/net/tcp_states.h). */
const LISTEN = "0A";
/** 127.0.0.1 and every address, of IPv4, of IPv6, and of IPv4 in IPv6. */
const LOCAL = /^(?:0100007F|00000000|0{32}|0{24}01000000|0{16}FFFF0000(?:0100007F|00000000)):([0-9A-F]{4})$/u;

/** The listeners of a `/proc/net/tcp` or `tcp6` table that loopback connections reach. */
export function parseListeners(table: string): readonly Listener[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, local = "", , state, , , , uid = ""] = line.trim().split(/\s+/u);
      const port = LOCAL.exec(local)?.[1];
      if (state !== LISTEN || port === undefined || !/^[0-9]+$/u.test(uid)) return [];
      return [{ port: Number.parseInt(port, 16), uid: Number(uid) }];
    });
}

/** All of them; none where the kernel doesn't say. */
export async function readListeners(): Promise<readonly Listener[]> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map((path) => readFile(path, "utf8").catch(() => "")));
  return tables.flatMap(parseListeners);
}
