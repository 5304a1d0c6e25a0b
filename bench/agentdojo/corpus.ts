/** AgentDojo's tools and the calls of its tasks, as far as a broker sees them. */
import { readFileSync } from "node:fs";
import { DataClass, readForeignJson } from "@boxmaker/proto";
import { z } from "zod";

const Call = z
  .object({
    function: z.string(),
    args: z.record(z.string(), z.unknown()).readonly(),
    /** Measured: the attacker's texts that the result of this call carries. */
    vectors_in_result: z.array(z.string()).readonly(),
    /** Measured, by argument: whether the owner's request says every value in it. */
    args_in_prompt: z.record(z.string(), z.boolean()).readonly(),
  })
  .readonly();
export type Call = z.infer<typeof Call>;

const Task = z.object({ id: z.string(), calls: z.array(Call).readonly() }).readonly();
export type Task = z.infer<typeof Task>;

const Tool = z
  .object({
    name: z.string(),
    proposed: z
      .object({
        effect: z.enum(["read", "write"]),
        /** An argument reaches another party. */
        egress: z.boolean(),
        destination_args: z.array(z.string()).readonly(),
        label: DataClass,
        untrusted: z.boolean(),
      })
      .readonly(),
  })
  .readonly();
export type Tool = z.infer<typeof Tool>;

const SuiteFields = z
  .object({
    owner_known_destinations: z.array(z.string()).readonly(),
    tools: z.array(Tool).readonly(),
    user_tasks: z.array(Task).readonly(),
    injection_tasks: z.array(Task).readonly(),
  })
  .readonly();

const Corpus = z.object({ suites: z.record(z.string(), SuiteFields).readonly() }).readonly();

/** One of AgentDojo's four worlds. */
export interface Suite {
  readonly name: string;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly userTasks: readonly Task[];
  /** Those that call a tool: what only changes the model's answer never comes before a broker. */
  readonly attacks: readonly Task[];
  /** Whom the owner has dealt with before. */
  readonly knownDestinations: readonly string[];
}

/** Whether the tool changes something or sends something. */
export function isSink({ proposed }: Tool): boolean {
  return proposed.effect === "write" || proposed.egress;
}

/** @throws {Error} when the data set isn't what it should be */
export function readCorpus(): readonly Suite[] {
  const reading = readForeignJson(readFileSync(new URL("../data/agentdojo.json", import.meta.url), "utf8"));
  if (reading.kind === "invalid") throw new Error(`agentdojo.json: ${reading.problem}`);
  return Object.entries(Corpus.parse(reading.value).suites).map(([name, suite]) => ({
    name,
    tools: new Map(suite.tools.map((tool) => [tool.name, tool])),
    userTasks: suite.user_tasks,
    attacks: suite.injection_tasks.filter(({ calls }) => calls.length > 0),
    knownDestinations: suite.owner_known_destinations,
  }));
}

/** @throws {Error} when the suite has no such tool */
export function toolOf(suite: Suite, name: string): Tool {
  const tool = suite.tools.get(name);
  if (tool === undefined) throw new Error(`expected a tool of ${suite.name}, got ${name}`);
  return tool;
}
