import { isAddressEqual } from "viem";

import type { Clocks } from "../../../chain/chain-time.ts";
import { transfersOf } from "../../../chain/payment-chain.ts";
import type { PaymentChain, TokenTransfer } from "../../../chain/payment-chain.ts";
import { untilYoungerBlock } from "./block-age.ts";
import type { Claims, NewClaim } from "./claims.ts";
import type { Facilitator } from "./facilitator.ts";
import type { ClaimRecord } from "../model.ts";
import { ProofRefusedError, requireValidity } from "../offer/proof.ts";
import type { Refusal, SignedProof, TransferProof } from "../offer/proof.ts";
import type { Terms } from "../offer/terms.ts";

/** The use that a payment is reserved for. */
export type Purpose = Pick<NewClaim, "agentId" | "keyId" | "paymentId" | "requestHash" | "operationId" | "pack"> & {
  /** The mandate of the request's key; undefined for a key without one. */
  mandateId: string | undefined;
};

/** Blocks before the current one that the search for a new authorisation's use includes. */
const SEARCH_MARGIN_BLOCKS = 20;

/** Dependencies of reservations. */
interface ReservationDeps {
  claims: Claims;
  chain: PaymentChain;
  /** Undefined if signed payments can't be settled. */
  facilitator: Facilitator | undefined;
  now: () => Date;
}

/**
 * Verifies proofs and reserves their payments. Each function throws ProofRefusedError for a rejected proof, ApiError
 * `mandate_exceeded` if the key's mandate has no room for the payment, and
 * FacilitatorUnavailableError or ChainUnavailableError if the proof can't be verified before the signal aborts.
 */
export class Reservations {
  readonly #claims: Claims;
  readonly #chain: PaymentChain;
  /** Undefined if signed payments can't be settled. */
  readonly #facilitator: Facilitator | undefined;
  readonly #now: () => Date;

  constructor({ claims, chain, facilitator, now }: ReservationDeps) {
    this.#claims = claims;
    this.#chain = chain;
    this.#facilitator = facilitator;
    this.#now = now;
  }

  /**
   * Reserves a payment that an official client has signed (EIP-3009).
   * @returns undefined if it is already claimed, or if its id belongs to another payment
   */
  async signed(
    proof: SignedProof,
    terms: Terms,
    purpose: Purpose,
    { clocks: { chainTime, wallTime }, signal }: { clocks: Clocks; signal: AbortSignal },
  ): Promise<ClaimRecord | undefined> {
    const facilitator = this.#facilitator;
    if (facilitator === undefined) throw new ProofRefusedError("payments_unavailable");
    const { authorization, version, signature } = proof;
    requireValidity(authorization, wallTime, chainTime);
    // The block first: a use of the authorisation by this call can't be much older.
    const head = await this.#chain.until(signal).head();
    const refusal = await this.#findRefusal(facilitator, proof, terms, signal);
    if (refusal !== undefined) throw new ProofRefusedError(refusal);
    const claim = {
      ...buildClaim(terms, authorization.from, purpose),
      nonce: authorization.nonce,
      payment: {
        version,
        signature,
        txHashes: [],
        validAfter: String(authorization.validAfter),
        validBefore: String(authorization.validBefore),
        fromBlock: Math.max(0, head.number - SEARCH_MARGIN_BLOCKS),
      },
    };
    return this.#claims.reserve(claim, purpose.mandateId);
  }

  /**
   * Reserves a transfer that the caller has sent. A transaction with several such transfers pays for several calls.
   * @returns undefined if each of them is already claimed
   */
  async transfer(
    { txHash, from }: TransferProof,
    terms: Terms,
    purpose: Purpose,
    signal: AbortSignal,
  ): Promise<ClaimRecord | undefined> {
    const lookup = await this.#chain.until(signal).lookupReceipt(txHash);
    if (lookup.status === "unknown") throw new ProofRefusedError("transaction_not_found");
    if (lookup.status === "pending") throw new ProofRefusedError("transaction_unconfirmed");
    if (lookup.receipt.status !== "success") throw new ProofRefusedError("transaction_reverted");
    const transfers = transfersOf(lookup.receipt);
    const paying = transfers.filter((transfer) => findMismatch(transfer, from, terms) === undefined);
    if (paying.length === 0) throw new ProofRefusedError(closestMismatch(transfers, from, terms));
    for (const { position, nonce } of paying) {
      const transferred = {
        ...buildClaim(terms, from, purpose),
        txHash,
        position,
        ...(nonce === undefined ? {} : { nonce: nonce.toLowerCase() }),
      };
      const claim = await this.#claims.reserve(transferred, purpose.mandateId);
      if (claim !== undefined) return claim;
    }
    return undefined;
  }

  /**
   * Why the facilitator rejects a payment; undefined if it doesn't. An insufficient balance is verified again after a block
   * younger than the request. A bad signature may be due to a wallet with code: the token then requires ERC-1271.
   */
  async #findRefusal(
    by: Facilitator,
    proof: SignedProof,
    terms: Terms,
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    const askedAt = this.#now();
    const refusal = await by.verify(proof, terms, signal);
    if (refusal === "invalid_signature") {
      const canSign = await this.#chain.until(signal).signsForTokens(proof.authorization.from);
      return canSign ? refusal : "wallet_has_code";
    }
    if (refusal !== "insufficient_balance") return refusal;
    const { network, leadSeconds } = terms;
    const { patienceMs } = this.#claims;
    await untilYoungerBlock({ chain: this.#chain.until(signal), network, patienceMs, signal }, askedAt, leadSeconds);
    return by.verify(proof, terms, signal);
  }
}

/** The fields that every claim has. */
function buildClaim(terms: Terms, payer: string, purpose: Purpose): Omit<NewClaim, "payment"> {
  const { agentId, keyId, paymentId, requestHash, operationId, pack } = purpose;
  return {
    network: terms.network,
    token: terms.token.address.toLowerCase(),
    payer: payer.toLowerCase(),
    payTo: terms.payTo.toLowerCase(),
    amount: String(terms.amount),
    agentId,
    keyId,
    requestHash,
    ...(paymentId === undefined ? {} : { paymentId }),
    ...(operationId === undefined ? {} : { operationId }),
    ...(pack === undefined ? {} : { pack }),
  };
}

/** Kinds of mismatches, from an unrelated transfer to one that nearly matches. */
const MISMATCHES = ["wrong_token", "wrong_recipient", "wrong_sender", "wrong_amount"] as const;

function findMismatch(
  transfer: TokenTransfer,
  from: `0x${string}`,
  terms: Terms,
): (typeof MISMATCHES)[number] | undefined {
  if (!isAddressEqual(transfer.token, terms.token.address)) return "wrong_token";
  if (!isAddressEqual(transfer.to, terms.payTo)) return "wrong_recipient";
  if (!isAddressEqual(transfer.from, from)) return "wrong_sender";
  return transfer.value === terms.amount ? undefined : "wrong_amount";
}

function closestMismatch(transfers: readonly TokenTransfer[], from: `0x${string}`, terms: Terms): Refusal {
  const found = new Set(transfers.map((transfer) => findMismatch(transfer, from, terms)));
  return MISMATCHES.findLast((mismatch) => found.has(mismatch)) ?? "no_transfer";
}
