/** Something that no test can reach, with the reason. */
export interface LeftOut {
  /** Path from the project's root. */
  file: string;
  /** Text of the line, or of the condition. */
  text: string;
  /** The outcome of a condition that never occurs; undefined for a line. */
  outcome?: boolean;
  reason: string;
}

/** Lines and outcomes excluded from the coverage. An unneeded entry fails the run. */
export const LEFT_OUT: LeftOut[] = [
  {
    file: "contracts/MarketplaceDeployment.sol",
    text: "if (actual != expected) revert UnexpectedAddress(expected, actual);",
    reason: "a contract's n-th creation always has the address of its nonce n; the guard is there for another EVM",
  },
  {
    file: "contracts/MarketplaceDeployment.sol",
    text: "actual != expected",
    outcome: true,
    reason: "a contract's n-th creation always has the address of its nonce n; the guard is there for another EVM",
  },
];

/** Tests, by path prefix, that can't run on instrumented contracts. */
export const TESTS_LEFT_OUT: { tests: string; reason: string }[] = [
  {
    tests: "test/contracts/gas/",
    reason: "measures gas and code size, to which the instrumentation adds",
  },
  {
    tests: "test/contracts/fork/",
    reason: "deploys on a chain of its own process, whose limit of code size instrumented contracts pass",
  },
  {
    tests: "test/contracts/deploy/keyless.test.ts",
    reason: "deploys on a chain of its own process, likewise",
  },
  {
    tests: "test/contracts/upgrade/storage-layout.test.ts",
    reason: "compares the build with its baselines; it runs no contract",
  },
  {
    tests: "test/contracts/upgrade/published-contracts.test.ts",
    reason: "compares the build with its published sources, from which an instrumented one differs",
  },
];
