import { setTimeout as sleep } from "node:timers/promises";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import type { PaymentReads } from "../../../chain/payment-chain.ts";
import type { Network } from "../../../config/constants.ts";
import { pauseAfter } from "../../../lib/retry.ts";

/** First and longest pause between checks, in milliseconds. */
const PAUSE = { minMs: 100, maxMs: 1_000 };
const MS_A_SECOND = 1_000;

/**
 * Whether a block is younger than a moment. Such a block contains everything that was visible on chain by then. A server may
 * lag some blocks, so an older block may not show a wallet's latest incoming payment.
 * @param timestamp of the block, in unix seconds
 * @param leadSeconds how far the chain's clock is ahead of ours: without it, all blocks of such a chain would be younger
 */
export function isYounger(timestamp: number, moment: Date, leadSeconds = 0): boolean {
  return (timestamp - leadSeconds) * MS_A_SECOND > moment.getTime();
}

/** The error for a server without a block younger than the payment. */
export function tooOldError(network: Network): ChainUnavailableError {
  const message = `The JSON-RPC server of ${network} has no block that is younger than the payment`;
  return new ChainUnavailableError(network, undefined, message);
}

/** Dependencies and limits of the wait for a younger block. */
export interface BlockWait {
  /** Its reads end with the signal. */
  chain: Pick<PaymentReads, "head">;
  network: Network;
  patienceMs: number;
  signal: AbortSignal;
}

/** Waits until the server has a block that is younger than a moment. @throws ChainUnavailableError */
export async function untilYoungerBlock(
  { chain, network, patienceMs, signal }: BlockWait,
  moment: Date,
  leadSeconds = 0,
): Promise<void> {
  const end = performance.now() + patienceMs;
  for (let looks = 0; !isYounger((await chain.head()).timestamp, moment, leadSeconds); looks += 1) {
    if (signal.aborted || performance.now() > end) throw tooOldError(network);
    await sleep(pauseAfter(looks, PAUSE));
  }
}
