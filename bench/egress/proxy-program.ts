/** A proxy in a process of its own, whose every connection leads to one port of loopback: `SOCKET PORT`. Ends with its input. */
import { dialDirectly } from "../../packages/toolkit/src/egress/dial.ts";
import { EgressProxy, PROXY_LIMITS } from "../../packages/toolkit/src/egress/egress-proxy.ts";

const [socketPath = "", port = ""] = process.argv.slice(2);
const opening = await EgressProxy.open({
  socketPath,
  allow: ["example.com"],
  lookUp: () => Promise.resolve(["93.184.216.34"]),
  dial: (_, _port, signal) => dialDirectly({ address: "127.0.0.1", family: 4 }, Number(port), signal),
  log: () => undefined,
  limits: PROXY_LIMITS,
});
if (opening.kind === "refused") throw new Error(opening.problem);
process.stdin.resume().once("end", () => void opening.proxy[Symbol.asyncDispose]());
process.stdout.write("ready\n");
