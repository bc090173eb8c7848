import type { BuyerCriteria } from "./document.ts";
import type { CheckAnswers, CheckTask } from "./check-thread.ts";
import { parseExpression } from "./expression-check.ts";
import type { Subject } from "./expression-check.ts";
import { createLimitedThread, TaskLimitError, ThreadUnavailableError } from "./limited-thread.ts";
import type { ThreadLimits } from "./limited-thread.ts";
import { EvaluationTurns, QueueFullError } from "./turns.ts";
import type { RunTask, Step } from "./turns.ts";
import type { Verdict } from "./verdict.ts";

/** An error in a part of proposed criteria. `path` below the criteria: `schema`, `checks.0`. */
export interface CriteriaFault {
  path: string;
  message: string;
}

/** A check of the criteria, and what code can say about it. */
export interface CheckVerdict extends Verdict {
  text: string;
  /** `expression` is evaluated by code; `words` are left to the parties or a judge. */
  kind: "expression" | "words";
}

/** The verdicts of code on a result. */
export interface Evaluation {
  /** Undefined for criteria without a schema. */
  schema: Verdict | undefined;
  /** In the order of the criteria. */
  checks: CheckVerdict[];
}

/** Judges results by the parts of criteria that need no judgement. */
export interface CriteriaEvaluator {
  /**
   * Finds the errors in criteria that a buyer proposes.
   * @param lane the agent that asks: requests of different agents take turns
   * @throws EvaluatorUnavailableError
   */
  faults(lane: string, criteria: BuyerCriteria): Promise<CriteriaFault[]>;
  /** @throws EvaluatorUnavailableError */
  evaluate(lane: string, criteria: BuyerCriteria, subject: Subject): Promise<Evaluation>;
  close(): Promise<void>;
}

/** Thrown when criteria can't be evaluated at the moment. */
export class EvaluatorUnavailableError extends Error {
  override readonly name = "EvaluatorUnavailableError";
}

/**
 * Half a second is a hundred times what a schema of 256 KB needs. After four tasks that used it up the rest of the
 * criteria is left open, so criteria made of traps cost two seconds.
 */
const LIMITS: ThreadLimits = { cpuMs: 500, wallMs: 60_000, heapMb: 64 };
const MAX_OVERRUNS = 4;
const IN_WORDS: Verdict = { result: "open", detail: "needs judgement" };

/** Starts no thread before the first question. */
export function createCriteriaEvaluator(limits: ThreadLimits = LIMITS): CriteriaEvaluator {
  const turns = new EvaluationTurns(
    () => createLimitedThread(new URL("./check-thread.ts", import.meta.url), limits),
    () => performance.now(),
  );

  /** Answers the tasks of one set of criteria; `late` replaces the answer of a task that exceeds a limit. */
  function asker<Late>(late: (reason: string) => Late) {
    let overruns = 0;
    return async <Kind extends CheckTask["kind"]>(
      run: RunTask,
      task: Extract<CheckTask, { kind: Kind }>,
    ): Promise<CheckAnswers[Kind] | Late> => {
      if (overruns >= MAX_OVERRUNS) return late("not tried, because the checks before it took too long");
      try {
        return (await run(task)) as CheckAnswers[Kind];
      } catch (error) {
        if (!(error instanceof TaskLimitError)) throw error;
        overruns += 1;
        return late(error.message);
      }
    };
  }

  /** @throws EvaluatorUnavailableError */
  async function runInTurns(lane: string, steps: readonly Step[]): Promise<void> {
    try {
      await turns.run(lane, steps);
    } catch (error) {
      if (error instanceof QueueFullError || error instanceof ThreadUnavailableError) {
        throw new EvaluatorUnavailableError(error.message, { cause: error });
      }
      throw error;
    }
  }

  return {
    async faults(lane, { schema, checks = [] }) {
      const question = asker((reason) => reason);
      const found: CriteriaFault[] = [];
      const steps: Step[] = [];
      if (schema !== undefined) {
        steps.push(async (run) => {
          const message = await question(run, { kind: "schema-fault", schema });
          if (message !== undefined) found.push({ path: "schema", message });
        });
      }
      for (const [index, text] of checks.entries()) {
        const expression = parseExpression(text);
        if (expression === undefined) continue;
        steps.push(async (run) => {
          const message = await question(run, { kind: "expression-fault", expression });
          if (message !== undefined) found.push({ path: `checks.${index}`, message });
        });
      }
      await runInTurns(lane, steps);
      return found;
    },

    async evaluate(lane, { schema, checks = [] }, subject) {
      const question = asker((reason): Verdict => ({ result: "open", detail: reason }));
      const evaluation: Evaluation = {
        schema: undefined,
        checks: checks.map((text): CheckVerdict => ({ text, kind: "words", ...IN_WORDS })),
      };
      const steps: Step[] = [];
      if (schema !== undefined) {
        steps.push(async (run) => {
          evaluation.schema = await question(run, { kind: "schema", schema, value: subject.result });
        });
      }
      for (const [index, text] of checks.entries()) {
        const expression = parseExpression(text);
        if (expression === undefined) continue;
        steps.push(async (run) => {
          const verdict = await question(run, { kind: "expression", expression, subject });
          evaluation.checks[index] = { text, kind: "expression", ...verdict };
        });
      }
      await runInTurns(lane, steps);
      return evaluation;
    },

    close: () => turns.close(),
  };
}
