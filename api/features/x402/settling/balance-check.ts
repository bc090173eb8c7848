import { setTimeout as sleep } from "node:timers/promises";

import type { Address, Hex } from "viem";

import type { Holding, PaymentChain, PaymentReads } from "../../../chain/payment-chain.ts";
import type { Network } from "../../../config/constants.ts";
import { pauseAfter } from "../../../lib/retry.ts";
import { isYounger, tooOldError } from "./block-age.ts";
import type { ClaimTimings, Claims } from "./claims.ts";
import type { ClaimRecord } from "../model.ts";
import { ProofRefusedError } from "../offer/proof.ts";
import type { SignedClaim } from "./settlement.ts";

/** First and longest pause between checks of the other payments, in milliseconds. */
const PAUSE = { minMs: 100, maxMs: 1_000 };

/** Dependencies of the balance check. */
interface BalanceCheckDeps {
  claims: Pick<Claims, "findOtherOpenPayments">;
  network: Network;
  chain: Pick<PaymentChain, "until">;
  timings: Pick<ClaimTimings, "x402PatienceMs">;
}

/**
 * A facilitator verifies each payment alone, so the same balance would cover many payments at once. Each claim is stored
 * before it reads the others, so of two claims at least the later one sees the other. A claim passes only if the balance
 * covers it and all that it sees. Otherwise earlier claims come first: a later one is refused, and the earlier ones wait
 * until it is gone.
 *
 * The server may lag some blocks, so recently confirmed payments count until its block contains them. A block older than
 * the payment never refuses it: the wallet may have received money since.
 */
export class BalanceCheck {
  readonly #deps: BalanceCheckDeps;

  constructor(deps: BalanceCheckDeps) {
    this.#deps = deps;
  }

  /**
   * Compares a payer's balance with all of its signed payments that aren't on chain yet.
   * @param leadSeconds how far the chain's clock is ahead of ours
   * @throws ProofRefusedError `insufficient_balance` if the balance doesn't cover this one too, ChainUnavailableError if no
   * block is recent enough to decide
   */
  async requireFunds(claim: SignedClaim, signal: AbortSignal, leadSeconds = 0): Promise<void> {
    const { claims, network, chain, timings } = this.#deps;
    const reads = chain.until(signal);
    const end = performance.now() + timings.x402PatienceMs;
    for (let looks = 0; ; looks += 1) {
      // The claims first: a payment that settles in between is in the balance, and its authorisation is used.
      const others = await claims.findOtherOpenPayments(claim);
      const holding = await reads.holding(claim.token as Address, claim.payer as Address);
      if (holding.units >= sumOf([claim, ...others])) return;
      const open = await outstanding(reads, others, holding);
      if (holding.units >= sumOf([claim, ...open])) return;
      const isLate = signal.aborted || performance.now() > end;
      if (isYounger(holding.blockTimestamp, claim.startedAt, leadSeconds)) {
        const earlier = open.filter((other) => isEarlier(other, claim));
        if (isLate || holding.units < sumOf([claim, ...earlier])) throw new ProofRefusedError("insufficient_balance");
      } else if (isLate) {
        throw tooOldError(network);
      }
      await sleep(pauseAfter(looks, PAUSE));
    }
  }
}

/** The payments that can still debit the wallet after the block of the balance. */
async function outstanding(
  reads: PaymentReads,
  others: readonly ClaimRecord[],
  { blockNumber, blockTimestamp }: Holding,
): Promise<ClaimRecord[]> {
  const valid = others.filter(({ payment }) => BigInt(payment?.validBefore ?? 0) > BigInt(blockTimestamp));
  const authorizations = valid.map(({ token, payer, nonce }) => ({
    token: token as Address,
    from: payer as Address,
    nonce: nonce as Hex,
  }));
  const areUsed = await reads.areAuthorizationsUsed(authorizations, blockNumber);
  return valid.filter((_, index) => areUsed[index] === false);
}

function sumOf(claims: readonly ClaimRecord[]): bigint {
  return claims.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
}

function isEarlier(one: ClaimRecord, other: ClaimRecord): boolean {
  const difference = one.startedAt.getTime() - other.startedAt.getTime();
  return difference === 0 ? one._id < other._id : difference < 0;
}
