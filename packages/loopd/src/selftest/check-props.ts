/** Compares what a llama-server says about itself with what the owner expects. */
import { quoteText } from "@boxmaker/proto";
import type { Config } from "../config/config.ts";
import type { ServerInfo } from "../model/model-server.ts";
import { EXPECTED, mismatch, report, type SelftestReport, SLOTS } from "./report.ts";

export type LlamaInfo = Extract<ServerInfo, { readonly kind: "llama-server" }>;

function compare(what: string, expected: string | number | undefined, got: string | number): readonly string[] {
  return expected === undefined || expected === got ? [] : [mismatch(what, expected, got, EXPECTED)];
}

/** What the owner may copy into the config, so that a changed server is noticed. */
function expectSection({ slots, context, templateSha256 }: LlamaInfo): readonly string[] {
  return [
    "nothing is expected of it yet; to be told when it changes, put this into the config:",
    "[expect]",
    `context = ${context}`,
    `slots = ${slots}`,
    `template_sha256 = "${templateSha256}"`,
  ];
}

/** Slots, context and chat template, and whether `[slots]` fits. */
export function checkProps({ expect, slots }: Config, server: LlamaInfo): SelftestReport {
  const highest = Math.max(...slots.terminal, ...slots.gateway);
  const build = server.build === "" ? "" : `, build ${quoteText(server.build)}`;
  const expectsNothing = Object.values(expect).every((value) => value === undefined);
  return report(
    [
      `server: llama-server${build}`,
      `slots: ${server.slots}`,
      `context per slot: ${server.context}`,
      `chat template SHA-256: ${server.templateSha256}`,
      ...(expectsNothing ? expectSection(server) : []),
    ],
    {
      mismatches: [
        ...compare("slots", expect.slots, server.slots),
        ...compare("context per slot", expect.context, server.context),
        ...compare("chat template SHA-256", expect.template_sha256, server.templateSha256),
      ],
      warnings: highest < server.slots ? [] : [mismatch("slots", `more than ${highest}`, server.slots, SLOTS)],
    },
  );
}
