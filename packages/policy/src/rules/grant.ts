/** A rule of the owner: the shape of its file, and the rule with every default filled in. */
import { AbsPath, DataClass, type Hash32, Host, HostPattern, Origin, SafeInteger, SessionId, ToolName } from "@boxmaker/proto";
import { z } from "zod";
import { Effect } from "./effect.ts";
import { Predicate } from "./predicate.ts";

/** Who may answer an ask. */
export const Approver = z.enum(["bxctl", "gateway"]);
export type Approver = z.infer<typeof Approver>;

/** How a name is spelled in a URL, where it has another spelling there and is nothing but a name. */
function hostHint(text: string): string | undefined {
  if (/[:/?#@\\]/u.test(text)) return undefined;
  const spelled = URL.canParse(`http://${text}/`) ? new URL(`http://${text}/`).hostname : undefined;
  return spelled !== undefined && spelled !== text && Host.safeParse(spelled).success ? spelled : undefined;
}

/** A host pattern as an owner writes it: a name in another script or in capitals is refused with the spelling that is meant. */
const WrittenHost = z
  .string()
  .superRefine((text, context) => {
    if (HostPattern.safeParse(text).success) return;
    const wildcard = text.startsWith("*.") ? "*." : "";
    const hint = hostHint(text.slice(wildcard.length));
    const message =
      hint === undefined
        ? "expected a host name of lower-case letters, digits and hyphens, or '*.' and one; no address, port or trailing dot"
        : `expected "${wildcard}${hint}", which is how this name is spelled in a URL`;
    context.addIssue({ code: "custom", message });
  })
  .pipe(HostPattern);

/** RFC 3339's years that a timestamp of ours can have. */
const Expiry = z
  .date("expected a time like 2027-01-01T00:00:00Z")
  .refine((date) => date.getTime() >= 0 && date.getUTCFullYear() <= 9999, "expected a time within the years 1970 to 9999");

/** The values of a list, each once and one at least. */
function distinct<T extends z.ZodType>(item: T): z.ZodReadonly<z.ZodArray<T>> {
  return z
    .array(item)
    .min(1, "expected at least one value")
    .refine((values) => new Set(values).size === values.length, "a value is given twice")
    .readonly();
}

export const Constraints = z
  .strictObject({
    paths: distinct(AbsPath).optional(),
    hosts: distinct(WrittenHost).optional(),
    args: z.record(z.string(), Predicate).readonly().optional(),
  })
  .readonly();
export type Constraints = z.infer<typeof Constraints>;

/** A call that the grant must, or must not, match: looked at when the grant is loaded. */
export const Example = z.strictObject({ call: z.record(z.string(), z.unknown()).readonly(), match: z.boolean() }).readonly();
export type Example = z.infer<typeof Example>;

/** The keys of a grant file. What may be left out depends on tool and mode, see {@link completeGrant}. */
export const GRANT_FILE_KEYS = {
  id: z.string().regex(/^[a-z0-9-]{1,64}$/u, "expected 1 to 64 of a-z, 0-9 and '-'"),
  tool: ToolName,
  mode: Effect,
  max_taint: DataClass.optional(),
  if_untrusted: Effect.optional(),
  label: DataClass.optional(),
  untrusted: z.boolean().optional(),
  expires: Expiry.optional(),
  uses: SafeInteger.min(1, "expected 1 or more: with none left the grant could never permit anything").optional(),
  session: SessionId.optional(),
  origins: distinct(Origin).optional(),
  approvers: distinct(Approver).optional(),
  host_exec: z.boolean().optional(),
  constraints: Constraints,
  examples: z.array(Example).readonly().optional(),
} as const;

export const GrantFile = z.strictObject(GRANT_FILE_KEYS).readonly();
export type GrantFile = z.infer<typeof GrantFile>;

/** A grant as policy reads it. Null where the file sets no limit. */
export interface Grant {
  readonly id: string;
  readonly tool: ToolName;
  readonly mode: Effect;
  /** It permits nothing above this. */
  readonly maxTaint: DataClass;
  /** The most that it gives once the session is untrusted. */
  readonly ifUntrusted: Effect;
  /** The class of its results. */
  readonly label: DataClass;
  /** Whether its results may hold a stranger's words. */
  readonly untrusted: boolean;
  /** Milliseconds since 1970-01-01T00:00:00Z; at that millisecond it has expired. */
  readonly expires: number | null;
  /** How many calls it permits, over all sessions. */
  readonly uses: number | null;
  readonly session: SessionId | null;
  readonly origins: readonly Origin[] | null;
  readonly approvers: readonly Approver[];
  readonly hostExec: boolean;
  /** Empty for http_fetch. */
  readonly paths: readonly AbsPath[];
  /** Empty for the other tools. */
  readonly hosts: readonly HostPattern[];
  readonly args: ReadonlyMap<string, Predicate>;
}

export interface ToolDefaults {
  readonly maxTaint: DataClass;
  readonly ifUntrusted: Effect;
  readonly label: DataClass;
  readonly untrusted: boolean;
}

/** What holds where the owner says nothing. A sink changes or sends something; it asks once the session has read a stranger's words. */
export const TOOL_DEFAULTS: Readonly<Record<ToolName, ToolDefaults>> = {
  read_file: { maxTaint: "secret", ifUntrusted: "auto", label: "private", untrusted: false },
  write_file: { maxTaint: "private", ifUntrusted: "ask", label: "private", untrusted: false },
  shell: { maxTaint: "private", ifUntrusted: "ask", label: "private", untrusted: false },
  http_fetch: { maxTaint: "public", ifUntrusted: "ask", label: "public", untrusted: true },
};

/** The grant of a file, with the defaults of its tool where the file says nothing. */
export function completeGrant(file: GrantFile): Grant {
  const defaults = TOOL_DEFAULTS[file.tool];
  const grant: Grant = {
    id: file.id,
    tool: file.tool,
    mode: file.mode,
    maxTaint: file.max_taint ?? defaults.maxTaint,
    ifUntrusted: file.if_untrusted ?? defaults.ifUntrusted,
    label: file.label ?? defaults.label,
    untrusted: file.untrusted ?? defaults.untrusted,
    expires: file.expires?.getTime() ?? null,
    uses: file.uses ?? null,
    session: file.session ?? null,
    origins: file.origins ?? null,
    approvers: file.approvers ?? ["bxctl"],
    hostExec: file.host_exec ?? false,
    paths: file.constraints.paths ?? [],
    hosts: file.constraints.hosts ?? [],
    args: new Map(Object.entries(file.constraints.args ?? {})),
  };
  return Object.freeze(grant);
}

/** A grant and where it came from. `file` is the file's name in the grants directory, `sha256` that of its bytes, which are `text`. */
export interface LoadedGrant {
  readonly grant: Grant;
  readonly file: string;
  readonly sha256: Hash32;
  readonly text: string;
}
