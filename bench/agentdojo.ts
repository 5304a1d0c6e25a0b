/** How many tasks an owner's way of granting leaves alone, and how many attacks of a fully compromised model it lets through. */
import { readCorpus } from "./agentdojo/corpus.ts";
import { VARIANTS } from "./agentdojo/grants.ts";
import { replay } from "./agentdojo/replay.ts";
import type { Figure } from "./figure/figure.ts";

export function run(): Promise<readonly Figure[]> {
  const suites = readCorpus();
  const figures = VARIANTS.flatMap((variant): readonly Figure[] => {
    const tally = replay(suites, variant);
    const tasks = `${tally.tasks} tasks`;
    const attacks = `${tally.attacks} attacks`;
    return [
      { name: `${variant.name}.tasks_without_approval`, value: tally.tasksWithoutApproval, unit: "tasks", against: tasks },
      { name: `${variant.name}.tasks_with_one_at_most`, value: tally.tasksWithOneAtMost, unit: "tasks", against: tasks },
      { name: `${variant.name}.approvals_per_task`, value: tally.approvals / tally.tasks, unit: "approvals", against: null },
      { name: `${variant.name}.most_approvals`, value: tally.mostApprovals, unit: "approvals", against: null },
      { name: `${variant.name}.attacks_through`, value: tally.attacksThrough, unit: "attacks", against: attacks },
    ];
  });
  return Promise.resolve(figures);
}
