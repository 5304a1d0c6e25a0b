/** What is mutated, and the tests that must notice. */

/** Files of one package, and the test files of the same package that are run for each mutant, the quickest first. */
export interface MutationSet {
  readonly package: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
}

/** The sets by name; paths are relative to the package. */
export const MUTATION_SETS: Readonly<Record<string, MutationSet>> = {
  arguments: {
    package: "proto",
    sources: ["src/tools/*.ts", "src/policy/data-class.ts"],
    tests: ["test/policy/*.test.ts", "test/tools/*.test.ts"],
  },
  policy: {
    package: "policy",
    // What only the reading of grant files comes by belongs to that set.
    sources: ["src/rules/!(grant|grant-set|mountable-path).ts"],
    tests: ["test/rules/!(exhaustive|theorems).test.ts"],
  },
  grants: {
    package: "policy",
    sources: ["src/grants/*.ts", "src/rules/{grant,grant-set,mountable-path}.ts"],
    tests: ["test/grants/*.test.ts"],
  },
  chain: {
    package: "proto",
    sources: ["src/audit/audit-chain.ts"],
    tests: ["test/audit/!(audit-tally|log-files).test.ts"],
  },
  writer: {
    package: "brokerd",
    sources: ["src/audit/audit-writer.ts"],
    tests: [
      "test/audit/audit-writer.test.ts",
      "test/audit/writer-steps.test.ts",
      "test/audit/audit-opening.test.ts",
      "test/audit/accept-break.test.ts",
    ],
  },
};
