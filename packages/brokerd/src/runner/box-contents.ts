/** What a box of any kind holds beside its system and its tool. */
import { AbsPath, type HostPattern } from "@boxmaker/proto";
import type { Layer } from "./layers.ts";

/** What is laid over the root of a tool's box. */
export interface BoxContents {
  readonly layers: readonly Layer[];
  /** The directory with the proxy's socket, where the box has a way to the network: it has no other. */
  readonly egress: AbsPath | null;
}

/** What a proxy's box holds: it has a network, and nothing else. */
export interface ProxyContents {
  /** Where its socket is to be. */
  readonly directory: AbsPath;
  /** Owner's patterns, or a host that policy has read out of a URL: letters, digits, hyphens and dots alone. */
  readonly hosts: readonly HostPattern[];
}

/** Where tools and proxies find the shared directory. */
export const EGRESS_DIRECTORY = AbsPath.parse("/run/boxmaker/egress");

/** What the toolkit is told to be a proxy. */
export function proxyCommand(hosts: readonly HostPattern[]): readonly string[] {
  return ["egress-proxy", "--socket", `${EGRESS_DIRECTORY}/proxy.sock`, ...hosts.flatMap((host) => ["--allow", host])];
}
