/** Fetches in the attacks' own network, and what its servers saw of them: only that counts. */
import type { FiringRange } from "./firing-range.ts";
import type { OwnNetwork } from "./own-network.ts";
import { GRANTED, type Sighting, WEB_PORTS } from "./socket/network-places.ts";
import { type Aim, type AttackGrant, aim, fire, phraseShot, type Target } from "./target.ts";

/** What was seen meanwhile; or why nothing can be said: without the granted page the network may be to blame. */
export type Watched =
  | { readonly kind: "seen"; readonly sightings: readonly Sighting[] }
  | { readonly kind: "untried"; readonly why: string };

const GRANT: AttackGrant = { tool: "http_fetch", mode: "auto", constraints: { hosts: [GRANTED] } };
const GRANTED_NAME = GRANTED.slice(1);

export class NetworkTarget {
  readonly target: Target;
  readonly network: OwnNetwork;
  readonly #range: FiringRange;

  constructor(target: Target, network: OwnNetwork, range: FiringRange) {
    this.target = target;
    this.network = network;
    this.#range = range;
  }

  /** Decides a fetch under the grant of {@link GRANTED}, or these. */
  aim(url: string, grants: readonly AttackGrant[] = [GRANT]): Aim {
    return aim(this.target, { tool: "http_fetch", arguments: { url }, grants, session: "attack-fetches" });
  }

  /** Fetches these, whatever comes of it: at once, but for boxes that wait. @returns why one couldn't be tried */
  async fetchAll(urls: readonly string[]): Promise<string | undefined> {
    if (this.target.waiting === null) {
      const problems = await Promise.all(urls.map((url) => this.#fetch(url)));
      return problems.find((problem) => problem !== undefined);
    }
    for (const url of urls) {
      const problem = await this.#fetch(url);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }

  async #fetch(url: string): Promise<string | undefined> {
    const aimed = this.aim(url);
    if (aimed.kind === "refused") return `${url}: ${aimed.reason}`;
    const shot = await fire(this.target, aimed, this.target.config.http_fetch_ms);
    return shot.kind === "done" ? undefined : `${url}: ${phraseShot(shot)}`;
  }

  /**
   * Has the attack carried out, then a page of `control` fetched, which is granted and public, so that what was seen until then is all
   * that there was to see.
   */
  async watch(attack: () => Promise<string | undefined>, control: string): Promise<Watched> {
    this.network.forget();
    const problem = await attack();
    if (problem !== undefined) return { kind: "untried", why: problem };
    const path = `/${this.#range.secret()}`;
    const aimed = this.aim(`http://${control}${path}`);
    if (aimed.kind === "refused") return { kind: "untried", why: aimed.reason };
    const shot = await fire(this.target, aimed, this.target.config.http_fetch_ms);
    if (shot.kind !== "done" || !shot.content.endsWith(`this is ${path}`)) {
      return { kind: "untried", why: `the granted page of ${control} didn't come: ${phraseShot(shot)}` };
    }
    const sightings = await this.network.seenUntil(path);
    return sightings === undefined
      ? { kind: "untried", why: `${control} was not asked for the page that came` }
      : { kind: "seen", sightings };
  }
}

/**
 * The first thing that nobody may have seen: a connection to an address but those, or to another port than the web's, a question for a
 * name that isn't granted.
 */
export function findStray(sightings: readonly Sighting[], allowed: readonly string[]): string | undefined {
  for (const sighting of sightings) {
    switch (sighting.kind) {
      case "question":
        if (!sighting.name.endsWith(GRANTED_NAME)) return `a name server was asked for ${sighting.name}`;
        break;
      case "connection":
        if (!allowed.includes(sighting.address) || !WEB_PORTS.includes(sighting.port))
          return `${sighting.address}, port ${sighting.port}, was reached`;
        break;
      case "request":
        break;
      default:
        return sighting satisfies never;
    }
  }
  return undefined;
}

/** The first of these names and paths that no server was asked for: what hasn't come that far hasn't been tried. */
export function findUnasked(sightings: readonly Sighting[], wanted: readonly string[]): string | undefined {
  const asked = new Set(
    sightings.map((sighting) => {
      switch (sighting.kind) {
        case "question":
          return sighting.name;
        case "request":
          return sighting.path;
        case "connection":
          return undefined;
        default:
          return sighting satisfies never;
      }
    }),
  );
  return wanted.find((text) => !asked.has(text));
}
