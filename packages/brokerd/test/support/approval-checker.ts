/**
 * Whether an audit log keeps the promise about approvals: every ask that ran has exactly one earlier approval of that digest, unexpired,
 * unused. Written from that sentence and the log's format alone: it reads lines as JSON, and shares nothing with what wrote them.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/* The log as anybody may read it. */
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
type Table = { readonly [key: string]: Json };

interface Line {
  readonly seq: number;
  readonly time: string;
  readonly event: Table;
}

function isTable(value: Json | undefined): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function table(value: Json | undefined): Table {
  if (!isTable(value)) throw new Error("expected a table");
  return value;
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function sha256(bytes: string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function readLines(directory: string): readonly Line[] {
  const files = readdirSync(directory).filter((name) => name.endsWith(".jsonl"));
  const log = files
    .sort()
    .map((name) => readFileSync(join(directory, name), "utf8"))
    .join("");
  return log
    .split("\n")
    .slice(0, -1)
    .map((line): Line => {
      const value = table(JSON.parse(line) as Json);
      return { seq: Number(value["seq"]), time: text(value["time"]), event: table(value["event"]) };
    });
}

/** The digest that an approval must carry, from the record of the ask and that of the approval. */
function digestOf(ask: Table, approval: Table, fileOf: (sha256: Json | undefined) => string): string {
  const given = table(ask["arguments"]);
  const effect = {
    session: ask["session"],
    call: ask["call"],
    request: { tool: ask["tool"], arguments: given["values"] },
    grant: approval["grant"],
    grant_file: fileOf(approval["grant_sha256"]),
    grant_sha256: approval["grant_sha256"],
    run: approval["run"],
    label: ask["label"],
    before: approval["before"],
    after: approval["raises"],
  };
  return sha256(JSON.stringify(effect));
}

/** A grant's own expiry and uses, read off its text. */
function limitsOf(directory: string, hash: string): { readonly expires: number; readonly uses: number } {
  const grant = readFileSync(join(directory, "grants", hash), "utf8");
  const expires = /^expires = (?<time>.*)$/mu.exec(grant)?.groups?.["time"];
  const uses = /^uses = (?<uses>\d+)$/mu.exec(grant)?.groups?.["uses"];
  return {
    expires: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
    uses: uses === undefined ? Number.POSITIVE_INFINITY : Number(uses),
  };
}

/** What an audit log shows. `faults` are the sentences that don't hold. */
export interface ApprovalFindings {
  readonly faults: readonly string[];
  /** Asks that ran. */
  readonly ran: number;
}

/**
 * @param directory the audit directory
 * @param told until when each ask could be answered, as its requester was told, in milliseconds
 */
export function checkApprovals(directory: string, told: ReadonlyMap<number, number>): ApprovalFindings {
  const faults: string[] = [];
  const asks = new Map<number, Table>();
  const approvals = new Map<number, Table[]>();
  const finished = new Set<number>();
  const files = new Map<string, string>();
  const spent = new Map<string, number>();
  let ran = 0;
  const spend = (grant: Json | undefined, hash: Json | undefined, seq: number): void => {
    if (typeof grant !== "string") return;
    const count = (spent.get(grant) ?? 0) + 1;
    spent.set(grant, count);
    if (typeof hash === "string" && count > limitsOf(directory, hash).uses) faults.push(`${seq}: more uses than the grant has`);
  };
  for (const { seq, time, event } of readLines(directory)) {
    switch (text(event["kind"])) {
      case "grants_changed":
        for (const file of event["files"] as readonly Table[]) files.set(text(file["sha256"]), text(file["file"]));
        break;
      case "session_grant":
        files.set(text(event["sha256"]), `session grant ${text(event["grant"])}`);
        break;
      case "decision":
        if (event["outcome"] === "ask") {
          asks.set(seq, event);
          if (event["run"] === null) faults.push(`${seq}: an ask without a plan`);
        }
        if (event["outcome"] === "allowed") spend(event["spends"], event["grant_sha256"], seq);
        break;
      case "approval": {
        const id = Number(event["decision"]);
        const ask = asks.get(id);
        if (ask === undefined) {
          faults.push(`${seq}: an end of what no ask is`);
          break;
        }
        if (event["answer"] !== "approved" || (event["outcome"] !== "ask" && event["outcome"] !== "allowed")) {
          approvals.set(id, [...(approvals.get(id) ?? []), event]);
          break;
        }
        if ((approvals.get(id) ?? []).length > 0) faults.push(`${seq}: ask ${id} had an end already`);
        approvals.set(id, [...(approvals.get(id) ?? []), event]);
        const digest = digestOf(ask, event, (hash) => files.get(text(hash)) ?? "");
        if (event["digest"] !== digest) faults.push(`${seq}: not the digest of what ran`);
        const until = told.get(id) ?? 0;
        const grantUntil = limitsOf(directory, text(event["grant_sha256"])).expires;
        if (Date.parse(time) >= Math.min(until, grantUntil)) faults.push(`${seq}: approved when it had expired`);
        spend(event["spends"], event["grant_sha256"], seq);
        break;
      }
      case "result": {
        const id = Number(event["decision"]);
        if (finished.has(id)) faults.push(`${seq}: a second result of ${id}`);
        finished.add(id);
        const ask = asks.get(id);
        if (ask === undefined) break;
        ran++;
        const letting = (approvals.get(id) ?? []).filter(({ outcome }) => outcome === "ask" || outcome === "allowed");
        if (letting.length !== 1) faults.push(`${seq}: ask ${id} ran with ${letting.length} approvals`);
        break;
      }
      default:
    }
  }
  return { faults, ran };
}
