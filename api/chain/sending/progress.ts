import type { Network } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { SendingRecord, SendingState } from "./record.ts";
import type { Change, Extra, SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import type { Work } from "./work.ts";

/** Dependencies of the progress. */
interface ProgressDeps<R extends SendingRecord> {
  network: Network;
  work: Pick<Work<R>, "noun" | "factsOf">;
  store: SendingStore<R>;
  log: Logger;
  now: () => Date;
  timings: Pick<SendingTimings, "retry" | "watchMs">;
}

/** Writes the results of looks, and reports what has changed. */
export class Progress<R extends SendingRecord> {
  readonly #deps: ProgressDeps<R>;

  constructor(deps: ProgressDeps<R>) {
    this.#deps = deps;
  }

  /** Writes the result of a look. */
  async move(
    record: R,
    state: SendingState,
    { problem = null, detail = null, ...change }: Change = {},
    extra?: Extra,
  ): Promise<R | undefined> {
    const { store, now } = this.#deps;
    const hasChanged = state !== record.state || problem !== record.problem;
    const written = await store.write(
      record,
      {
        state,
        problem,
        detail,
        failures: problem === null ? 0 : record.failures + 1,
        ...(hasChanged ? { since: now() } : {}),
        ...change,
      },
      extra,
    );
    if (hasChanged && written !== undefined) this.#report(written);
    return written;
  }

  /** Writes a problem that time or an operator solves. */
  async hold(record: R, problem: string, detail: string, change: Change = {}): Promise<void> {
    const { now, timings } = this.#deps;
    const longestMs = pauseAfter(record.failures, timings.retry);
    const pauseMs = record.inFlight ? Math.min(longestMs, timings.watchMs) : longestMs;
    await this.move(record, "held", { problem, detail, dueAt: new Date(now().getTime() + pauseMs), ...change });
  }

  #report(record: R): void {
    const { network, work, log } = this.#deps;
    const { state, problem, detail, txHash, attempts } = record;
    const facts = { ...work.factsOf(record), network, state, problem, detail, txHash: txHash ?? attempts.at(-1)?.hash };
    if (problem !== null) log.warn(facts, `the ${work.noun} isn't on chain yet: ${problem}`);
    else log.info(facts, `the ${work.noun} is ${state}`);
  }
}
