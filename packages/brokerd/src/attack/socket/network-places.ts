/** Who is where in the attacks' own network, and what its servers tell of whoever comes. */
import { z } from "zod";
import type { NameTable } from "./dns-answer.ts";

/** Public by their numbers; in that network they are its own loopback device's, so that nothing leaves the machine. */
export const PUBLIC = {
  granted: "93.184.215.14",
  other: "93.184.215.99",
  names: "93.184.215.53",
  ipv6: "2606:2800:21f:cb07::14",
  nat64: "64:ff9b::5db8:d70e",
} as const;

/** What no fetch may reach, whatever its name resolves to; the loopback addresses are there anyway. */
export const PRIVATE = {
  ten: "10.1.2.3",
  seventeen: "172.16.1.2",
  home: "192.168.1.1",
  shared: "100.64.0.1",
  metadata: "169.254.169.254",
  unique: "fd00::1",
  nat64Ten: "64:ff9b::a01:203",
  nat64Metadata: "64:ff9b::a9fe:a9fe",
} as const;

/** Where the web is served. */
export const WEB_PORTS: readonly number[] = [80, 443];
/** What else listens there, so that a way to it would be seen. */
export const OTHER_PORT = 22;

/** The pattern that is granted. */
export const GRANTED = "*.granted.test";
/** A host that isn't. */
export const OTHER_HOST = "other.test";

/** What each name resolves to. */
export const NAMES: NameTable = {
  "web.granted.test": [PUBLIC.granted],
  "second.granted.test": [PUBLIC.granted],
  [OTHER_HOST]: [PUBLIC.other],
  "ipv6.granted.test": [PUBLIC.ipv6],
  "nat64.granted.test": [PUBLIC.nat64],
  "mixed.granted.test": [PRIVATE.ten, PRIVATE.metadata, PUBLIC.granted, PRIVATE.home],
  "ten.granted.test": [PRIVATE.ten],
  "seventeen.granted.test": [PRIVATE.seventeen],
  "home.granted.test": [PRIVATE.home],
  "shared.granted.test": [PRIVATE.shared],
  "loopback.granted.test": ["127.0.0.1"],
  "metadata.granted.test": [PRIVATE.metadata],
  "unique.granted.test": [PRIVATE.unique],
  "link.granted.test": ["fe80::1"],
  "loopback6.granted.test": ["::1"],
  "mapped.granted.test": [`::ffff:${PRIVATE.ten}`],
  "nat64-ten.granted.test": [PRIVATE.nat64Ten],
  "nat64-metadata.granted.test": [PRIVATE.nat64Metadata],
};

/** One thing that a server saw: a question for a name, a connection to one of its addresses, a request over one. */
export const Sighting = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("question"), name: z.string() }).readonly(),
  z.strictObject({ kind: z.literal("connection"), address: z.string(), port: z.number() }).readonly(),
  z.strictObject({ kind: z.literal("request"), address: z.string(), path: z.string() }).readonly(),
]);
export type Sighting = z.infer<typeof Sighting>;

/** What the page at `path` sends on to; any other page says its own path. */
export function redirectPath(target: string): string {
  return `/to?${encodeURIComponent(target)}`;
}

/** The target of such a path, or undefined. */
export function redirectTarget(path: string): string | undefined {
  return path.startsWith("/to?") ? decodeURIComponent(path.slice("/to?".length)) : undefined;
}
