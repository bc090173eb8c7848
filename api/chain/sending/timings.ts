import { SENDING_CONFIRMATIONS } from "../../config/constants.ts";

/** Durations and limits of the sending of transactions. Tests shorten them. */
export interface SendingTimings {
  /** Blocks that must follow the block of a transaction before it is final. At least 1. */
  confirmations: number;
  /** How long a process that was killed keeps the others from sending, in milliseconds. */
  leaseMs: number;
  /**
   * Pause between steps, and between looks at a transaction that isn't mined, in milliseconds. Also the first pause before a
   * transaction is sent again. That one doubles up to `retry.maxMs`, with jitter.
   */
  pollMs: number;
  /** Longest pause between looks at a transaction that isn't final, in milliseconds. */
  watchMs: number;
  /** How often and how long a transaction is sent that the node never has, before it counts as stuck. `ms` in milliseconds. */
  unseen: { sends: number; ms: number };
  /** How long a transaction may wait for a block before its fees are raised, in milliseconds. */
  bumpAfterMs: number;
  /** First and longest pause after a problem or an outage, in milliseconds. It doubles in between, with jitter. */
  retry: { minMs: number; maxMs: number };
  /** A transaction never offers more than this multiple of the market's fees. */
  feeCapMultiple: number;
  /** Transactions of a key that wait for a block at the same time. */
  maxInFlight: number;
}

export const SENDING_TIMINGS: SendingTimings = {
  confirmations: SENDING_CONFIRMATIONS,
  leaseMs: 15_000,
  pollMs: 1_000,
  watchMs: 5_000,
  unseen: { sends: 10, ms: 600_000 },
  bumpAfterMs: 30_000,
  retry: { minMs: 2_000, maxMs: 300_000 },
  feeCapMultiple: 10,
  maxInFlight: 8,
};
