/** Attacks of a command on what can be reached: Unix sockets under its mounts, this machine, and what lies behind it. */
import { listen, listenForDatagrams } from "./bait-socket.ts";
import type { Bait } from "./file-attacks.ts";
import { type AttackName, type Finding, skipped } from "./finding.ts";
import type { FiringRange } from "./firing-range.ts";
import { NODE, type Probe } from "./one-box.ts";

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

/** `findings`: what can't be tried on this machine. */
export async function networkProbes(
  range: FiringRange,
  { given }: Bait,
): Promise<{ readonly probes: readonly Probe[]; readonly findings: readonly Finding[] }> {
  range.folder("given/run");
  const agent = await listen(range, { path: `${given}/run/agent.sock` });
  const admin = await listen(range, { path: `${given}/run/admin.sock` });
  const host = await listen(range, { host: "127.0.0.1", port: 0 });
  const names = await listenForDatagrams(range);
  const ipv6 = await listen(range, { host: "::1", port: 0 });
  const reached = (what: string, isReached: boolean | undefined): string | undefined =>
    isReached === true ? `${what} was reached` : undefined;
  const lookUp = `const names = new (require("dns").Resolver)({ timeout: 500, tries: 1 }); names.setServers(["127.0.0.1:${names.port}"]); names.resolve4("boxmaker.test", () => {})`;
  const probes: readonly Probe[] = [
    {
      attack: "unix-sockets",
      script: connecting("unix-sockets", [{ path: `${given}/run/agent.sock` }, { path: `${given}/run/admin.sock` }]),
      judge: () => reached("the agent's", agent?.isReached()) ?? reached("admin.sock", admin?.isReached()),
      seen: "neither was reached",
    },
    {
      attack: "host-network",
      script: connecting("host-network", [{ host: "127.0.0.1", port: host?.port ?? 0 }]),
      judge: () => reached("a listener of the host", host?.isReached()),
      seen: "no connection came",
    },
    {
      attack: "dns",
      script: `${NODE} -e '${lookUp}'`,
      judge: () => reached("the name server", names.isReached()),
      seen: "no question came",
    },
    {
      attack: "metadata-address",
      script: connecting("metadata-address", [{ host: "169.254.169.254", port: 80 }]),
      judge: foundWay("metadata-address"),
      seen: "there is no way there",
    },
  ];
  if (ipv6 === undefined) return { probes, findings: [skipped("ipv6", "this machine has no IPv6")] };
  const overIpv6: Probe = {
    attack: "ipv6",
    script: connecting("ipv6", [{ host: "::1", port: ipv6.port }]),
    judge: () => reached("a listener of the host", ipv6.isReached()),
    seen: "no connection came",
  };
  return { probes: [...probes, overIpv6], findings: [] };
}
