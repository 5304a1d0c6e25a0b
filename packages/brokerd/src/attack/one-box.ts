/** Many attacks in one box, each judged by itself: a start costs more than all of them. */
import { randomBytes } from "node:crypto";
import type { AbsPath } from "@boxmaker/proto";
import { type AttackName, failed, held, skipped, type Verdict } from "./finding.ts";
import { type AttackGrant, aim, fire, phraseShot, type Target } from "./target.ts";

/** One attack by a command. */
export interface Probe {
  readonly attack: AttackName;
  /** For sh; what it prints is judged, together with what happened outside. */
  readonly script: string;
  /** What got through, in words, or undefined. */
  readonly judge: (said: string) => string | undefined;
  /** What is seen where nothing gets through. */
  readonly seen: string;
  /** What the script prints where it was carried out, if its end alone doesn't show that. */
  readonly proof?: string;
}

/** A granted file with a secret in it: a box that hasn't got what is granted shows nothing of what is kept from it. */
export interface Readable {
  readonly path: AbsPath;
  readonly secret: string;
}

/** Where a box has Node. */
export const NODE = '"$(command -v /opt/boxmaker/node || echo /usr/bin/node)"';

/** Runs the probes one after the other in one box of the shell. */
export async function tryInOneBox(
  target: Target,
  probes: readonly Probe[],
  grants: readonly AttackGrant[],
  readable: Readable,
): Promise<readonly Verdict[]> {
  if (target.runtime.name === "process") return probes.map(({ attack }) => skipped(attack, "this runtime runs no commands"));
  const mark = randomBytes(8).toString("hex");
  const scripts = probes.map(({ attack, script }) => `(\n${script}\n) 2>&1 < /dev/null\necho ${attack}-${mark}`);
  const command = [`cat ${readable.path}`, ...scripts].join("\n");
  const aimed = aim(target, { tool: "shell", arguments: { command }, grants });
  if (aimed.kind === "refused") return probes.map(({ attack }) => failed(attack, `it couldn't be tried: ${aimed.reason}`));
  const shot = await fire(target, aimed, target.config.shell_ms);
  return probes.map(({ attack, judge, seen, proof = "" }) => {
    const said = shot.kind === "done" ? shot.content : "";
    const got = judge(said);
    if (got !== undefined) return failed(attack, got);
    // What wasn't tried hasn't held.
    if (shot.kind === "done" && !said.includes(readable.secret))
      return failed(attack, "it couldn't be tried: the box hasn't what is granted");
    return said.includes(`${attack}-${mark}\n`) && said.includes(proof)
      ? held(attack, seen)
      : failed(attack, `it couldn't be tried: ${phraseShot(shot)}`);
  });
}

/** Judges by a secret that must not come out. */
export function tells(secret: string, what: string): (said: string) => string | undefined {
  return (said) => (said.includes(secret) ? what : undefined);
}
