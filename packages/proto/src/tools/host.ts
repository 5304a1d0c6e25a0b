/** Host names and patterns of host names, as grants and URLs spell them. */
import { z } from "zod";

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;

function isHost(text: string): boolean {
  if (text.length > 253) return false;
  const labels = text.split(".");
  // A last label that starts with a letter excludes every spelling of an IPv4 address.
  return labels.every((label) => LABEL.test(label)) && /^[a-z]/u.test(labels.at(-1) ?? "");
}

/** A host: lower-case LDH labels (RFC 5890), 1..253 bytes, the last one starting with a letter; no IP literal, port or final dot. */
export const Host = z
  .string()
  .refine(isHost, "expected a host name of lower-case letters, digits and hyphens, no address, port or trailing dot")
  .brand<"Host">();
export type Host = z.infer<typeof Host>;

/** A host, or `*.` and a host, which stands for exactly one more label in front. */
export const HostPattern = z
  .string()
  .refine((text) => isHost(text.startsWith("*.") ? text.slice(2) : text), "expected a host name, or '*.' and a host name")
  .brand<"HostPattern">();
export type HostPattern = z.infer<typeof HostPattern>;

/** Whether the pattern stands for the host: equal, or `*.` and all but the host's first label (RFC 9525 section 6.3). */
export function matchesHost(pattern: HostPattern, host: Host): boolean {
  if (!pattern.startsWith("*.")) return pattern.length === host.length && host.startsWith(pattern);
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot) === pattern.slice(1);
}
