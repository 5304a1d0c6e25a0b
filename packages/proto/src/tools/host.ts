/** Host names and patterns of host names, as grants and URLs spell them. */
import { z } from "zod";
import { isHostName, isHostNamePattern, matchesHostName } from "./host-grammar.ts";

/** A host: lower-case LDH labels (RFC 5890), 1..253 bytes, the last one starting with a letter; no IP literal, port or final dot. */
export const Host = z
  .string()
  .refine(isHostName, "expected a host name of lower-case letters, digits and hyphens, no address, port or trailing dot")
  .brand<"Host">();
export type Host = z.infer<typeof Host>;

/** A host, or `*.` and a host, which stands for exactly one more label in front. */
export const HostPattern = z
  .string()
  .refine(isHostNamePattern, "expected a host name, or '*.' and a host name")
  .brand<"HostPattern">();
export type HostPattern = z.infer<typeof HostPattern>;

/** Whether the pattern stands for the host: equal, or `*.` and all but the host's first label (RFC 9525 section 6.3). */
export function matchesHost(pattern: HostPattern, host: Host): boolean {
  return matchesHostName(pattern, host);
}
