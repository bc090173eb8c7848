// Interprets the results of halmos: a proof must pass, and a control must be refuted.

/** The exit codes of a test in halmos's JSON. */
const PASSED = 0;
const COUNTEREXAMPLE = 1;
const REASONS = new Map([
  [PASSED, "passed"],
  [COUNTEREXAMPLE, "has a counterexample"],
  [2, "timed out"],
  [3, "got stuck on something that halmos doesn't support"],
  [4, "reverted on all paths, so nothing was checked"],
  [5, "ended with an error"],
]);

/** The used fields of a test's result in halmos's JSON. */
export interface TestResult {
  name: string;
  exitcode: number;
  /** Total, successful and blocked paths. */
  num_paths?: [number, number, number] | null;
  /** Seconds: total, paths, models. */
  time?: [number, number, number] | null;
  /** Loops that were cut off, so that not every path was seen. */
  num_bounded_loops?: number | null;
}

/** The end of one proof or control. */
export interface Verdict {
  name: string;
  kind: "proof" | "control";
  good: boolean;
  text: string;
  seconds: number;
}

/** A proof must pass with every path seen; a control (`refute_`) must have a counterexample. */
export function verdictOf(name: string, result: TestResult | undefined): Verdict {
  const kind = name.startsWith("refute_") ? "control" : "proof";
  const seconds = result?.time?.[0] ?? 0;
  if (result === undefined) return { name, kind, seconds, good: false, text: "has no result" };
  const reason = REASONS.get(result.exitcode) ?? `ended with the unknown code ${result.exitcode}`;
  if (kind === "control") {
    const good = result.exitcode === COUNTEREXAMPLE;
    return { name, kind, seconds, good, text: good ? "refuted" : `must be refuted, but ${reason}` };
  }
  if (result.exitcode !== PASSED) return { name, kind, seconds, good: false, text: reason };
  const cut = result.num_bounded_loops ?? 0;
  if (cut > 0) return { name, kind, seconds, good: false, text: `left out paths: ${cut} loops were cut off` };
  return { name, kind, seconds, good: true, text: "proved" };
}

/** The last line of a run. */
export function summaryOf(verdicts: readonly Verdict[], seconds: number): string {
  const count = (kind: Verdict["kind"]): number =>
    verdicts.filter((verdict) => verdict.good && verdict.kind === kind).length;
  const failed = verdicts.filter((verdict) => !verdict.good).length;
  return `${count("proof")} proved, ${count("control")} controls refuted, ${failed} failed; ${seconds.toFixed(0)} s`;
}
