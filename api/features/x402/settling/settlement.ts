import { setTimeout as sleep } from "node:timers/promises";

import { isAddressEqual } from "viem";
import type { Address, Hash, Hex } from "viem";

import { ChainUnavailableError } from "../../../chain/errors.ts";
import { transfersOf } from "../../../chain/payment-chain.ts";
import type { PaymentChain, PaymentReads } from "../../../chain/payment-chain.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Facilitator, SettleAttempt } from "./facilitator.ts";
import type { ClaimRecord, StoredPayment } from "../model.ts";
import type { Refusal, SignedProof } from "../offer/proof.ts";
import type { Terms } from "../offer/terms.ts";

/** The outcome of a settlement, as the chain shows it. */
export type Settlement =
  | { kind: "settled"; txHash: Hash; position: number }
  /** The payment may still settle. */
  | { kind: "pending"; txHash: Hash | undefined }
  /** The payment can no longer settle, or the facilitator refused it before sending anything. */
  | { kind: "failed"; reason: Refusal };

/** A claim for a signed payment. */
export type SignedClaim = ClaimRecord & { payment: StoredPayment; nonce: string };

/** Whether a claim is for a signed payment. */
export function isSigned(claim: ClaimRecord): claim is SignedClaim {
  return claim.payment !== undefined && claim.nonce !== undefined;
}

/** Dependencies of settlements. */
interface SettlementDeps {
  chain: PaymentChain;
  facilitator: Facilitator;
  log: Logger;
  noteTransaction: (claim: ClaimRecord, txHash: Hash) => Promise<void>;
  /** Called with the outcome of every attempt. */
  onOutcome: (settlement: Settlement) => void;
}

const POLL_MS = 200;
/** Time for a last check of the chain after the payment's own time is over, in milliseconds. */
const LAST_LOOK_MS = 500;

/** Settles payments. The facilitator's answer is a hint; only the chain shows whether tokens have moved. */
export class Settlements {
  readonly #deps: SettlementDeps;

  constructor(deps: SettlementDeps) {
    this.#deps = deps;
  }

  /**
   * Settles a claim's payment, or finds that it has already settled.
   * @param isFirst true if nothing can have been sent for this claim before
   * @param signal aborts when the payment's time is over; the outcome is known, or pending, soon afterwards
   */
  async settle(claim: SignedClaim, terms: Terms, isFirst: boolean, signal: AbortSignal): Promise<Settlement> {
    const settlement = await this.#trySettling(claim, terms, isFirst, signal);
    this.#deps.onOutcome(settlement);
    return settlement;
  }

  async #trySettling(claim: SignedClaim, terms: Terms, isFirst: boolean, signal: AbortSignal): Promise<Settlement> {
    const { chain, facilitator, log, noteTransaction } = this.#deps;
    try {
      if (!isFirst) {
        const shown = await this.#onChain(claim, signal);
        if (shown.kind === "unseen") return { kind: "pending", txHash: lastOf(claim) };
        if (shown.kind !== "unused") return shown;
        if (BigInt(shown.blockTimestamp) >= BigInt(claim.payment.validBefore)) {
          return { kind: "failed", reason: "expired" };
        }
        // While a transaction is pending, a second one would only revert.
        if (await isUnderWay(chain.until(signal), claim)) return { kind: "pending", txHash: lastOf(claim) };
      }
      const attempt = await facilitator.settle(toProof(claim), terms, signal, async (txHash) => {
        await noteTransaction(claim, txHash);
        claim.payment.txHashes.push(txHash);
      });
      if (attempt.kind !== "sent") log.warn({ attempt, claim: claim._id }, "x402 settlement without a clear outcome");
      if (attempt.kind !== "refused" && attempt.txHash !== undefined) await noteTransaction(claim, attempt.txHash);
      return await this.#confirmed(claim, attempt, isFirst, signal);
    } catch (error) {
      if (!(error instanceof ChainUnavailableError)) throw error;
      log.warn({ err: error, claim: claim._id }, "the chain is unavailable during an x402 settlement");
      return { kind: "pending", txHash: lastOf(claim) };
    }
  }

  /** The payment's state on chain. `unused`: no transaction has used the authorisation. `unseen`: one has, but isn't visible yet. */
  async #onChain(
    claim: SignedClaim,
    signal: AbortSignal,
  ): Promise<Settlement | { kind: "unused"; blockTimestamp: number } | { kind: "unseen" }> {
    const authorization = {
      token: claim.token as Address,
      from: claim.payer as Address,
      nonce: claim.nonce as Hex,
    };
    const use = await this.#deps.chain.until(signal).authorizationUse(authorization, claim.payment.fromBlock);
    if (use.status === "unused") return { kind: "unused", blockTimestamp: use.blockTimestamp };
    if (use.status === "unseen") return { kind: "unseen" };
    if (use.status === "void") return { kind: "failed", reason: "authorization_used" };
    const transfer = transfersOf(use.receipt).find(
      ({ token, from, to, value, nonce }) =>
        isAddressEqual(token, authorization.token) &&
        isAddressEqual(from, authorization.from) &&
        isAddressEqual(to, claim.payTo as Address) &&
        value === BigInt(claim.amount) &&
        nonce?.toLowerCase() === claim.nonce,
    );
    if (transfer === undefined) return { kind: "failed", reason: "settlement_failed" };
    return { kind: "settled", txHash: use.txHash, position: transfer.position };
  }

  /**
   * Waits until the chain shows the transaction that the facilitator reports as sent. Only a refusal of the first attempt is
   * certain: a later one may be refused because an earlier one was sent, which the service's node may not show yet.
   */
  async #confirmed(
    claim: SignedClaim,
    attempt: SettleAttempt,
    isFirst: boolean,
    signal: AbortSignal,
  ): Promise<Settlement> {
    const txHash = attempt.kind === "refused" ? lastOf(claim) : (attempt.txHash ?? lastOf(claim));
    for (;;) {
      const isLate = signal.aborted;
      const shown = await this.#onChain(claim, isLate ? AbortSignal.timeout(LAST_LOOK_MS) : signal);
      if (shown.kind === "unused") {
        if (BigInt(shown.blockTimestamp) >= BigInt(claim.payment.validBefore))
          return { kind: "failed", reason: "expired" };
        if (attempt.kind === "refused" && isFirst) return { kind: "failed", reason: "settlement_failed" };
        if (attempt.kind !== "sent") return { kind: "pending", txHash };
      } else if (shown.kind !== "unseen") return shown;
      if (isLate) return { kind: "pending", txHash };
      await sleep(POLL_MS);
    }
  }
}

async function isUnderWay(chain: PaymentReads, claim: SignedClaim): Promise<boolean> {
  const txHash = lastOf(claim);
  return txHash !== undefined && (await chain.lookupReceipt(txHash)).status === "pending";
}

function lastOf({ payment }: SignedClaim): Hash | undefined {
  return payment.txHashes.at(-1);
}

function toProof({ payment, payer, payTo, amount, nonce }: SignedClaim): SignedProof {
  return {
    kind: "signed",
    version: payment.version,
    signature: payment.signature,
    authorization: {
      from: payer as Address,
      to: payTo as Address,
      value: BigInt(amount),
      validAfter: BigInt(payment.validAfter),
      validBefore: BigInt(payment.validBefore),
      nonce: nonce as Hex,
    },
  };
}
