/** `bxctl approve --uses --expires`: the grant that would let the very same call run again, made and checked before anything is approved. */
import type { ValidGrantSet } from "@boxmaker/policy";
import { exactGrant, restrictionsOn } from "@boxmaker/policy/analysis";
import { checkAddedGrant } from "@boxmaker/policy/grants";
import { type AskBlock, escapeText, quoteText } from "@boxmaker/proto";
import { askAdmin } from "../box/ask-admin.ts";
import { end, type GrantsCommand } from "../grants/grants-command.ts";
import { loadOwn } from "../grants/load-set.ts";
import type { ExitStatus } from "../process-io.ts";
import type { GrantLimits } from "./grant-limits.ts";

/** A grant that can be written. `file` is its name in `directory`. */
export interface PlannedGrant {
  readonly directory: string;
  readonly file: string;
  readonly text: string;
}

export type Plan =
  | { readonly kind: "planned"; readonly grant: PlannedGrant }
  | { readonly kind: "ended"; readonly status: ExitStatus };

/** `approved-N`, or with a further number where that is taken. */
function freeId({ approval }: AskBlock, { grants }: ValidGrantSet): string {
  const taken = new Set(grants.flatMap(({ grant, file }) => [grant.id, file.replace(/\.toml$/u, "")]));
  let id = `approved-${approval}`;
  for (let next = 2; taken.has(id); next++) id = `approved-${approval}-${next}`;
  return id;
}

/** Makes the grant and holds it to every rule; where it can't be, or would change nothing, says why and ends. */
export async function planGrant(command: GrantsCommand, ask: AskBlock, limits: GrantLimits): Promise<Plan> {
  const loaded = await loadOwn(command, undefined);
  if (loaded.kind === "ended") return loaded;
  const { set, config } = loaded;
  const report = await askAdmin(command.places.adminSocket, { kind: "session", body: { session: ask.session } }, "session_report");
  if (report.kind !== "answer") return end(command, 1, `not approved: ${report.problem}`);
  const restrictions = restrictionsOn(ask, report.body.origin, set);
  if (restrictions.length > 0) {
    const names = restrictions.map(quoteText).join(", ");
    return end(
      command,
      1,
      `not approved: a grant would change nothing, since ${names} asks about this call whatever else is granted; see docs/runbook.md#exact-grant-useless`,
    );
  }
  const exact = exactGrant(ask, { id: freeId(ask, set), ...limits });
  if (exact.kind === "no_place") {
    return end(
      command,
      1,
      "not approved: no grant can be made for this call, since its box holds no folder; see docs/runbook.md#exact-grant-useless",
    );
  }
  const { file, text } = exact.loaded;
  const checked = checkAddedGrant(set, file, text, { forbidden: [...config.forbidden, config.grants] });
  if (checked.kind === "valid") return { kind: "planned", grant: { directory: config.grants, file, text } };
  for (const { line, problem } of checked.problems) command.err.line(`${escapeText(file)}:${line}: ${escapeText(problem)}`);
  return end(command, 1, "not approved: the grant for it would make all grants invalid; see docs/runbook.md#grants-invalid");
}
