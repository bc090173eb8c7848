import type { BuyerCriteria } from "./document.ts";
import type { CheckAnswers, CheckTask } from "./check-thread.ts";
import { expressionOf } from "./expression-check.ts";
import type { Subject } from "./expression-check.ts";
import { createFairQueue, QueueFullError } from "./fair-queue.ts";
import { createLimitedThread, TaskLimitError, ThreadUnavailableError } from "./limited-thread.ts";
import type { ThreadLimits } from "./limited-thread.ts";
import type { Verdict } from "./verdict.ts";

/** What is wrong with a part of proposed criteria. `path` below the criteria: `schema`, `checks.0`. */
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

/** What code can say about a result. */
export interface Evaluation {
  /** Undefined for criteria without a schema. */
  schema: Verdict | undefined;
  /** In the order of the criteria. */
  checks: CheckVerdict[];
}

/** Judges results by the parts of criteria that need no judgement. */
export interface CriteriaEvaluator {
  /**
   * What is wrong with criteria that a buyer proposes.
   * @param lane the agent that asks: work of different agents takes turns
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
const MAX_WAITING_PER_LANE = 8;
const IN_WORDS: Verdict = { result: "open", detail: "needs judgement" };

/** Starts no thread before the first question. */
export function createCriteriaEvaluator(limits: ThreadLimits = LIMITS): CriteriaEvaluator {
  const thread = createLimitedThread(new URL("./check-thread.ts", import.meta.url), limits);
  const queue = createFairQueue(MAX_WAITING_PER_LANE);

  /** Answers the tasks of one set of criteria; `late` replaces the answer of a task that exceeds a limit. */
  function ask<Late>(lane: string, late: (reason: string) => Late) {
    let overruns = 0;
    return async <Kind extends CheckTask["kind"]>(
      task: Extract<CheckTask, { kind: Kind }>,
    ): Promise<CheckAnswers[Kind] | Late> => {
      if (overruns >= MAX_OVERRUNS) return late("not tried, because the checks before it took too long");
      try {
        return (await queue.run(lane, () => thread.run(task))) as CheckAnswers[Kind];
      } catch (error) {
        if (error instanceof TaskLimitError) {
          overruns += 1;
          return late(error.message);
        }
        if (error instanceof QueueFullError || error instanceof ThreadUnavailableError) {
          throw new EvaluatorUnavailableError(error.message, { cause: error });
        }
        throw error;
      }
    };
  }

  return {
    async faults(lane, { schema, checks = [] }) {
      const question = ask(lane, (reason) => reason);
      const found: CriteriaFault[] = [];
      if (schema !== undefined) {
        const message = await question({ kind: "schema-fault", schema });
        if (message !== undefined) found.push({ path: "schema", message });
      }
      for (const [index, text] of checks.entries()) {
        const expression = expressionOf(text);
        if (expression === undefined) continue;
        const message = await question({ kind: "expression-fault", expression });
        if (message !== undefined) found.push({ path: `checks.${index}`, message });
      }
      return found;
    },

    async evaluate(lane, { schema, checks = [] }, subject) {
      const question = ask(lane, (reason): Verdict => ({ result: "open", detail: reason }));
      const value = subject.result;
      const verdicts: CheckVerdict[] = [];
      const ofSchema = schema === undefined ? undefined : await question({ kind: "schema", schema, value });
      for (const text of checks) {
        const expression = expressionOf(text);
        if (expression === undefined) verdicts.push({ text, kind: "words", ...IN_WORDS });
        else
          verdicts.push({ text, kind: "expression", ...(await question({ kind: "expression", expression, subject })) });
      }
      return { schema: ofSchema, checks: verdicts };
    },

    close: () => thread.close(),
  };
}
