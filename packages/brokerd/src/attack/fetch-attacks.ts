/** Attacks on what a fetch may reach, in a network where every address answers. */
import { existsSync, readdirSync } from "node:fs";
import { type AttackName, failed, held, skipped, type Verdict } from "./finding.ts";
import { findStray, findUnasked, type NetworkTarget } from "./network-target.ts";
import { askProxy, type Destination } from "./socket/ask-proxy.ts";
import { OTHER_HOST, OTHER_PORT, PRIVATE, PUBLIC, redirectPath } from "./socket/network-places.ts";
import type { AttackGrant } from "./target.ts";

const WEB = "web.granted.test";
const UNTRIED = "it couldn't be tried";
const NO_IPV6 = "this machine has no IPv6";

/** Names of the granted pattern that lead to where no fetch may go, and one that leads to a public address of the same kind. */
interface NameAttack {
  readonly attack: AttackName;
  readonly names: readonly string[];
  readonly control: string;
  readonly allowed: readonly string[];
  readonly needsIPv6: boolean;
}

const NAME_ATTACKS: readonly NameAttack[] = [
  {
    attack: "private-names",
    names: ["ten", "seventeen", "home", "shared", "loopback", "mixed"],
    control: WEB,
    allowed: [PUBLIC.granted],
    needsIPv6: false,
  },
  { attack: "metadata-address", names: ["metadata"], control: WEB, allowed: [PUBLIC.granted], needsIPv6: false },
  {
    attack: "ipv6",
    names: ["unique", "link", "loopback6"],
    control: "ipv6.granted.test",
    allowed: [PUBLIC.ipv6],
    needsIPv6: true,
  },
  {
    attack: "nat64",
    names: ["nat64-ten", "nat64-metadata", "mapped"],
    control: "nat64.granted.test",
    allowed: [PUBLIC.nat64],
    needsIPv6: true,
  },
];

/** Pages of a granted host that send elsewhere; nothing of it may be gone after in the same call. */
const REDIRECTS = [
  `http://${OTHER_HOST}/`,
  `https://${OTHER_HOST}/`,
  `//${OTHER_HOST}/`,
  `http://${PRIVATE.ten}/`,
  "http://second.granted.test/second",
];
/** Their paths would be asked for where they were followed. */
const FOLLOWED = /^\/(?:second|behind-userinfo)$/u;

const USERINFO = [
  `http://${WEB}@${OTHER_HOST}/`,
  `https://${WEB}:443@${OTHER_HOST}/`,
  `http://${OTHER_HOST}@${WEB}/behind-userinfo`,
  `http://user:word@${WEB}/behind-userinfo`,
];

const redirected = (targets: readonly string[]): readonly string[] => targets.map((to) => `http://${WEB}${redirectPath(to)}`);

async function watched(
  field: NetworkTarget,
  attack: AttackName,
  carryOut: () => Promise<string | undefined>,
  { control, allowed, asked }: Pick<NameAttack, "control" | "allowed"> & { readonly asked: readonly string[] },
): Promise<Verdict> {
  const seen = await field.watch(carryOut, control);
  if (seen.kind === "untried") {
    // Even so, what got through has got through.
    const stray = findStray(field.network.seen, allowed);
    return failed(attack, stray ?? `${UNTRIED}: ${seen.why}`);
  }
  const stray = findStray(seen.sightings, allowed);
  if (stray !== undefined) return failed(attack, stray);
  const followed = seen.sightings.find((sighting) => sighting.kind === "request" && FOLLOWED.test(sighting.path));
  if (followed?.kind === "request") return failed(attack, `a redirect to ${followed.path} was followed`);
  const unasked = findUnasked(seen.sightings, asked);
  return unasked !== undefined
    ? failed(attack, `${UNTRIED}: no server was asked for ${unasked}`)
    : held(attack, `the servers of a network made for it saw ${control} alone`);
}

function byName(field: NetworkTarget, { attack, names, needsIPv6, ...about }: NameAttack): Promise<Verdict> | Verdict {
  if (needsIPv6 && !field.network.hasIPv6) return skipped(attack, NO_IPV6);
  const [first = ""] = names;
  const hosts = names.map((name) => `${name}.granted.test`);
  const urls = [...hosts.map((host) => `http://${host}/`), `https://${first}.granted.test/`];
  const targets = attack === "metadata-address" ? [`http://${PRIVATE.metadata}/latest/`] : [];
  const asked = [...hosts, ...targets.map(redirectPath)];
  return watched(field, attack, () => field.fetchAll([...urls, ...redirected(targets)]), { ...about, asked });
}

const TO_WEB = { control: WEB, allowed: [PUBLIC.granted] };

/** Granted both hosts, so that nothing but its spelling speaks against the call. */
async function userinfo(field: NetworkTarget): Promise<Verdict> {
  const grants: readonly AttackGrant[] = [{ tool: "http_fetch", mode: "auto", constraints: { hosts: [WEB, OTHER_HOST] } }];
  for (const url of USERINFO) {
    const aimed = field.aim(url, grants);
    if (aimed.kind === "spec") return failed("userinfo", `brokerd let ${url} run`);
    if (aimed.reason !== "invalid_arguments") return failed("userinfo", `${UNTRIED}: ${aimed.reason}`);
  }
  return watched(field, "userinfo", () => field.fetchAll(redirected(USERINFO)), { ...TO_WEB, asked: USERINFO.map(redirectPath) });
}

/** Not through the parser: by a program that has the proxy's socket. */
const ASKED: readonly Destination[] = [
  { kind: "name", name: OTHER_HOST, port: 80 },
  { kind: "name", name: OTHER_HOST, port: 443 },
  { kind: "name", name: WEB, port: OTHER_PORT },
  { kind: "name", name: PUBLIC.other, port: 80 },
  { kind: "name", name: "0251.0376.0251.0376", port: 80 },
  { kind: "address", bytes: [169, 254, 169, 254], port: 80 },
  { kind: "address", bytes: [127, 0, 0, 1], port: 80 },
  { kind: "address", bytes: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], port: 80 },
];

async function proxyAsked(field: NetworkTarget, home: string): Promise<Verdict> {
  const ask = async (): Promise<string | undefined> => {
    const problem = await field.fetchAll([`http://${WEB}/`]);
    const parent = `${home}/run/runner/egress`;
    const [directory] = existsSync(parent) ? readdirSync(parent) : [];
    if (problem !== undefined || directory === undefined) return problem ?? "no proxy is there";
    const socket = `${parent}/${directory}/proxy.sock`;
    const isServing = await askProxy(socket, { kind: "name", name: WEB, port: 80 });
    if (isServing !== true) return "the proxy doesn't serve what is granted";
    for (const destination of ASKED) {
      if ((await askProxy(socket, destination)) === undefined) return `the proxy gave no answer on ${JSON.stringify(destination)}`;
    }
    return undefined;
  };
  return watched(field, "proxy-asked", ask, { ...TO_WEB, asked: [] });
}

/** Every attack of a fetch that is wanted, in parts of one line each or of lines that have another part. */
export async function fetchAttacks(
  field: NetworkTarget,
  home: string,
  isWanted: (name: AttackName) => boolean,
): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const attack of NAME_ATTACKS) if (isWanted(attack.attack)) verdicts.push(await byName(field, attack));
  if (isWanted("redirects")) {
    const about = { ...TO_WEB, asked: REDIRECTS.map(redirectPath) };
    verdicts.push(await watched(field, "redirects", () => field.fetchAll(redirected(REDIRECTS)), about));
  }
  if (isWanted("userinfo")) verdicts.push(await userinfo(field));
  if (isWanted("proxy-asked")) verdicts.push(await proxyAsked(field, home));
  return verdicts;
}
