/** Attacks of a command on what can be reached: Unix sockets under its mounts, this machine, and what lies behind it. */
import { listen, listenForDatagrams } from "./bait-socket.ts";
import type { Bait } from "./file-attacks.ts";
import { type AttackName, failed, held, skipped, type Verdict } from "./finding.ts";
import type { FiringRange } from "./firing-range.ts";
import type { NetworkTarget } from "./network-target.ts";
import { NODE, type Probe } from "./one-box.ts";
import { OTHER_HOST, PRIVATE, PUBLIC, type Sighting } from "./socket/network-places.ts";
import { aim, fire, phraseShot } from "./target.ts";

const CONNECT_MS = 1000;
/** How an attempt ends where there is a way. */
const ON_ITS_WAY = new Set(["reached", "timeout", "ECONNREFUSED", "ECONNRESET", "EHOSTUNREACH"]);

type Place = { readonly path: string } | { readonly host: string; readonly port: number };

/** Connects to each, and says under the attack's name what came of it. */
function connecting(attack: AttackName, places: readonly Place[]): string {
  const program = `for (const to of ${JSON.stringify(places)}) {
const say = (what) => { console.log("${attack}: " + what); socket.destroy(); };
const socket = require("net").connect(to).on("data", () => say("reached")).on("error", (e) => say(e.code)).setTimeout(${CONNECT_MS}, () => say("timeout")); }`;
  return `${NODE} -e '${program}'`;
}

/** Whether what was said of the attack shows a way. */
function foundWay(attack: AttackName): (said: string) => string | undefined {
  return (said) => {
    const line = said.split("\n").find((text) => text.startsWith(`${attack}: `) && ON_ITS_WAY.has(text.slice(attack.length + 2)));
    return line === undefined ? undefined : `there is a way: ${line.slice(attack.length + 2)}`;
  };
}

/** Asks a name server. */
function lookingUp(server: string): string {
  const program = `const names = new (require("dns").Resolver)({ timeout: 500, tries: 1 }); names.setServers(["${server}"]); names.resolve4("${OTHER_HOST}", () => console.log("dns: asked"))`;
  return `${NODE} -e '${program}'`;
}

/** `findings`: what can't be tried on this machine. */
export async function networkProbes(
  range: FiringRange,
  { given }: Bait,
): Promise<{ readonly probes: readonly Probe[]; readonly findings: readonly Verdict[] }> {
  range.folder("given/run");
  const agent = await listen(range, { path: `${given}/run/agent.sock` });
  const admin = await listen(range, { path: `${given}/run/admin.sock` });
  const host = await listen(range, { host: "127.0.0.1", port: 0 });
  const names = await listenForDatagrams(range);
  const ipv6 = await listen(range, { host: "::1", port: 0 });
  const reached = (what: string, isReached: boolean | undefined): string | undefined =>
    isReached === true ? `${what} was reached` : undefined;
  const probes: readonly Probe[] = [
    {
      attack: "unix-sockets",
      script: connecting("unix-sockets", [{ path: `${given}/run/agent.sock` }, { path: `${given}/run/admin.sock` }]),
      judge: () => reached("the agent's", agent?.isReached()) ?? reached("admin.sock", admin?.isReached()),
      seen: "neither was reached",
      proof: "unix-sockets: ",
    },
    {
      attack: "host-network",
      script: connecting("host-network", [{ host: "127.0.0.1", port: host?.port ?? 0 }]),
      judge: () => reached("a listener of the host", host?.isReached()),
      seen: "no connection came",
      proof: "host-network: ",
    },
    {
      attack: "dns",
      script: lookingUp(`127.0.0.1:${names.port}`),
      judge: () => reached("the name server", names.isReached()),
      seen: "no question came",
      proof: "dns: ",
    },
    {
      attack: "metadata-address",
      script: connecting("metadata-address", [{ host: "169.254.169.254", port: 80 }]),
      judge: foundWay("metadata-address"),
      seen: "there is no way there",
      proof: "metadata-address: ",
    },
  ];
  if (ipv6 === undefined) return { probes, findings: [skipped("ipv6", "this machine has no IPv6")] };
  const overIpv6: Probe = {
    attack: "ipv6",
    script: connecting("ipv6", [{ host: "::1", port: ipv6.port }]),
    judge: () => reached("a listener of the host", ipv6.isReached()),
    seen: "no connection came",
    proof: "ipv6: ",
  };
  return { probes: [...probes, overIpv6], findings: [] };
}

/** What a command tries in the attacks' own network, and what of it the servers there could see. */
const INSIDE: readonly { readonly attack: AttackName; readonly script: string; readonly isSign: (seen: Sighting) => boolean }[] = [
  {
    attack: "host-network",
    script: connecting(
      "host-network",
      [PRIVATE.ten, PUBLIC.other].map((host) => ({ host, port: 80 })),
    ),
    isSign: (seen) => seen.kind === "connection" && (seen.address === PRIVATE.ten || seen.address === PUBLIC.other),
  },
  { attack: "dns", script: lookingUp(PUBLIC.names), isSign: (seen) => seen.kind === "question" && seen.name === OTHER_HOST },
  {
    attack: "metadata-address",
    script: connecting("metadata-address", [{ host: PRIVATE.metadata, port: 80 }]),
    isSign: (seen) => seen.kind === "connection" && seen.address === PRIVATE.metadata,
  },
  {
    attack: "ipv6",
    script: connecting(
      "ipv6",
      [PRIVATE.unique, PUBLIC.ipv6, "::1"].map((host) => ({ host, port: 80 })),
    ),
    isSign: (seen) => seen.kind === "connection" && seen.address.includes(":"),
  },
];

/** A command's attempts to reach a network whose servers tell what they saw. */
export async function commandInNetwork(
  field: NetworkTarget,
  range: FiringRange,
  isWanted: (name: AttackName) => boolean,
): Promise<readonly Verdict[]> {
  const { target, network } = field;
  const tried = INSIDE.filter(({ attack }) => isWanted(attack) && (attack !== "ipv6" || network.hasIPv6));
  if (tried.length === 0) return [];
  const command = tried.map(({ script }) => `(${script}) 2>&1`).join("\n");
  const folder = range.folder("in-network");
  const run = async (): Promise<string | undefined> => {
    const aimed = aim(target, {
      tool: "shell",
      arguments: { command },
      grants: [{ tool: "shell", mode: "auto", constraints: { paths: [folder] } }],
    });
    if (aimed.kind === "refused") return aimed.reason;
    const shot = await fire(target, aimed, target.config.shell_ms);
    return shot.kind === "done" && tried.every(({ attack }) => shot.content.includes(`${attack}: `)) ? undefined : phraseShot(shot);
  };
  const seen = await field.watch(run, "web.granted.test");
  const sightings = seen.kind === "seen" ? seen.sightings : network.seen;
  return tried.map(({ attack, isSign }) => {
    if (sightings.some(isSign)) return failed(attack, "a server of a network made for it was reached");
    return seen.kind === "seen"
      ? held(attack, "the servers of a network made for it saw nothing of the command")
      : failed(attack, `it couldn't be tried: ${seen.why}`);
  });
}
