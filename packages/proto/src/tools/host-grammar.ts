/** The grammar of host names and of patterns of them, apart from the schemas: the toolkit matches by it without loading zod. */

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/u;

/**
 * Whether `text` is a host name: lower-case LDH labels (RFC 5890), 1..253 bytes, the last one starting with a letter, which excludes
 * every spelling of an IPv4 address.
 */
export function isHostName(text: string): boolean {
  if (text.length > 253) return false;
  const labels = text.split(".");
  return labels.every((label) => LABEL.test(label)) && /^[a-z]/u.test(labels.at(-1) ?? "");
}

/** Whether `text` is a host name, or `*.` and a host name. */
export function isHostNamePattern(text: string): boolean {
  return isHostName(text.startsWith("*.") ? text.slice(2) : text);
}

/** Whether the pattern stands for the host: equal, or `*.` and all but the host's first label (RFC 9525 section 6.3). */
export function matchesHostName(pattern: string, host: string): boolean {
  if (!pattern.startsWith("*.")) return pattern === host;
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot) === pattern.slice(1);
}
