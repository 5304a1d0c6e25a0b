/** What one attack came to, as a line that other programs read. */
import { z } from "zod";

/** Each attack by its name, and what is tried. */
export const ATTACKS = {
  "outside-paths": "a command read a file beside its grant, by its path and over ..",
  "proc-root": "a command read a file of the host through the roots in /proc, and looked for the host's processes there",
  "symbolic-links": "a command followed symbolic links that lead out of its grant, found there and made by itself",
  "read-only-places": "a command wrote outside of its grant: the root, the system, the toolkit, the kernel's settings",
  "git-hooks": "a command changed what git executes on the host, moved it away and linked it elsewhere",
  credentials: "a command read a password file that lies in its grant, also after moving it",
  "denied-path": "a command read what another grant denies, also after moving it",
  "make-set-id": "a command gave files and folders of its grant a set-id mode",
  "run-set-id": "a command ran a set-id program of another user that lies in its grant",
  "unix-sockets": "a command connected to Unix sockets that lie in its grant: an agent's and one like admin.sock",
  capabilities: "a command opened a raw socket, and its processes were looked at from outside for any privilege",
  "host-network": "a command connected to this machine's own addresses and to public ones",
  dns: "a command asked name servers",
  "metadata-address": "a command connected to 169.254.169.254, and a granted host's name and page led a fetch there",
  ipv6: "a command connected over IPv6, and a granted host's name led a fetch to this machine, a neighbour and a private network",
  "tmp-fill": "a command filled /tmp",
  "read-links": "read_file was given symbolic links that lead out of its grant",
  "hard-links": "write_file was given a name that is a hard link to a file outside of its grant",
  "swapped-mount": "a granted folder was replaced by another one between the decision and the start",
  "fork-bomb": "a command started more processes than it may have",
  memory: "a command used more memory than it may have",
  "endless-output": "a command wrote 100 MB",
  "ignored-signals": "a command ignored signals and ran on beyond its time limit",
  "kept-pipes": "a command left a process in a session of its own that kept the pipes",
  redirects: "a page sent a fetch on to a host that isn't granted, a private address, and a host that needs a call of its own",
  userinfo: "a URL and a page's redirect had a granted host's name before an @, or a password for it",
  "private-names": "a granted host's name led a fetch to addresses of private networks and of this machine",
  nat64: "a granted host's name led a fetch to an IPv4 address within an IPv6 one (64:ff9b::/96, ::ffff:0:0/96)",
  "proxy-asked": "whoever has a fetch's socket asked the proxy itself for hosts, addresses and ports that aren't granted",
} as const;

/** The names in the order in which they are shown. */
export const AttackName = z.enum(Object.keys(ATTACKS).filter((name): name is keyof typeof ATTACKS => name in ATTACKS));
export type AttackName = z.infer<typeof AttackName>;

/** How a box came to its call: started for it, or waiting for one since an earlier call (`runner.pool`). */
export const BoxKind = z.enum(["cold", "waiting"]);
export type BoxKind = z.infer<typeof BoxKind>;

/** `failed`: the attack got through, or couldn't be carried out as it should; `skipped`: it can't be shown here. */
export const Finding = z
  .strictObject({
    attack: AttackName,
    box: BoxKind,
    result: z.enum(["held", "failed", "skipped"]),
    tried: z.string(),
    /** What was seen, or why it was skipped. */
    seen: z.string(),
  })
  .readonly();
export type Finding = z.infer<typeof Finding>;

/** What an attack came to, whatever box it was tried on. */
export type Verdict = Omit<Finding, "box">;

/** A defence that held. */
export function held(attack: AttackName, seen: string): Verdict {
  return { attack, result: "held", tried: ATTACKS[attack], seen };
}

/** An attack that got through. */
export function failed(attack: AttackName, seen: string): Verdict {
  return { attack, result: "failed", tried: ATTACKS[attack], seen };
}

/** One that can't be shown here, and why. */
export function skipped(attack: AttackName, why: string): Verdict {
  return { attack, result: "skipped", tried: ATTACKS[attack], seen: why };
}

const WORST_FIRST = ["failed", "held", "skipped"] as const;

/** One verdict of an attack that was carried out in parts: the worst, with all that was seen. */
export function combine(attack: AttackName, parts: readonly Verdict[]): Verdict {
  const result = WORST_FIRST.find((worst) => parts.some((part) => part.result === worst)) ?? "skipped";
  const seen = parts.filter((part) => result !== "failed" || part.result === "failed");
  const words = seen.map((part) =>
    part.result === "skipped" && result === "held" ? `not tried in part: ${part.seen}` : part.seen,
  );
  return { attack, result, tried: ATTACKS[attack], seen: [...new Set(words)].join("; ") };
}
