import type { Network } from "../../config/constants.ts";
import type { Logger } from "../../lib/logger.ts";
import { pauseAfter } from "../../lib/retry.ts";
import type { SendingChain } from "../sending-chain.ts";
import type { SendingRecord, Unseen } from "./record.ts";
import type { Change } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import type { Work } from "./work.ts";

/** Dependencies of the broadcasts. */
export interface BroadcastsDeps<R extends SendingRecord> {
  network: Network;
  chain: Pick<SendingChain, "broadcast">;
  work: Pick<Work<R>, "factsOf">;
  log: Logger;
  now: () => Date;
  timings: Pick<SendingTimings, "pollMs" | "retry" | "unseen">;
}

/** Sends signed transactions that the node doesn't have, with pauses that double, and counts how often that was in vain. */
export class Broadcasts<R extends SendingRecord> {
  readonly #deps: BroadcastsDeps<R>;

  constructor(deps: BroadcastsDeps<R>) {
    this.#deps = deps;
  }

  /**
   * Sends the latest transaction, which the node doesn't have, unless it was sent a short while ago. @returns how often that
   * was in vain, if this is too
   */
  async send(record: R): Promise<Unseen> {
    const { network, chain, work, log, now, timings } = this.#deps;
    const { unseen } = record;
    if (unseen !== undefined && unseen.nextAt > now()) return unseen;
    const attempt = record.attempts.at(-1);
    const answer = attempt === undefined ? undefined : await chain.broadcast(attempt.raw);
    const refusal = answer?.kind === "refused" ? answer.reason : null;
    if (refusal !== null) {
      const facts = { ...work.factsOf(record), network, txHash: attempt?.hash, reason: refusal };
      log.info(facts, "the node refused the transaction");
    }
    const { since = now(), sends = 0 } = unseen ?? {};
    const pauseMs = pauseAfter(sends, { minMs: timings.pollMs, maxMs: timings.retry.maxMs });
    return { since, sends: sends + 1, nextAt: new Date(now().getTime() + pauseMs), refusal };
  }

  /** Whether a transaction was sent so often, or for so long, that something else must be wrong. */
  isStuck({ sends, since }: Unseen): boolean {
    const { now, timings } = this.#deps;
    return sends >= timings.unseen.sends || now().getTime() - since.getTime() >= timings.unseen.ms;
  }

  /** A stuck transaction is looked at when it may be sent again, and not before. */
  lookingAgain(unseen: Unseen): Change {
    return { unseen, ...(this.isStuck(unseen) ? { dueAt: unseen.nextAt } : {}) };
  }
}
