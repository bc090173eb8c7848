import { DISPUTE_WINDOW_SECONDS, RECOMMENDED_DISPUTE_WINDOWS, USD_DECIMALS } from "../../config/constants.ts";
import { defineRoute } from "../../http/define-route.ts";
import { isoTime } from "../../lib/clock.ts";
import { fundingCalls } from "../transactions/actions.ts";
import { gaslessFunding } from "./gasless.ts";
import { approvalRequiredAnswer, presentRequired } from "./approval-required.ts";
import { checkoutAnswer, checkoutBody } from "./schemas.ts";
import type { CheckedOut, CheckoutService } from "./service.ts";

/** Dependencies of the checkout route. */
export interface CheckoutDeps {
  checkout: CheckoutService;
}

/** Wallets make a transfer easier than a call, and agents may take escrowContract for an address to pay to. */
const PLAIN_TRANSFER_WARNING =
  "Never send tokens to escrowContract by a plain transfer: it funds nothing, and the tokens are lost. Only createEscrow, " +
  "or createEscrowWithAuthorization, takes the deposit.";

/** @param valueUsd value of the deposit with 6 decimals */
export function recommendedDisputeWindow(valueUsd: bigint): number {
  const isWithin = (upToUsd: number) =>
    upToUsd === Infinity || valueUsd <= BigInt(upToUsd) * 10n ** BigInt(USD_DECIMALS);
  return RECOMMENDED_DISPUTE_WINDOWS.find(({ upToUsd }) => isWithin(upToUsd))?.seconds ?? DISPUTE_WINDOW_SECONDS.max;
}

function paymentInstructions({ record, signing, valueUsd, isFundable }: CheckedOut) {
  const { approve, createEscrow } = fundingCalls(record);
  return {
    escrowContract: record.escrowContract,
    escrowId: record.escrowId,
    sellerAddress: record.sellerAddress,
    tokenAddress: record.token.address,
    amount: record.amount,
    disputeWindow: record.disputeWindow,
    recommendedDisputeWindow: recommendedDisputeWindow(valueUsd),
    abandonmentGrace: record.abandonmentGrace,
    criteriaHash: record.criteriaHash,
    fundEndpoint: `/api/v1/transactions/${record._id}/fund`,
    network: record.network,
    chainId: record.chainId,
    deadline: record.deadline,
    deadlineAt: isoTime(record.deadline),
    quoteExpiresAt: isoTime(record.quoteExpiresAt ?? 0),
    platformFee: record.platformFee,
    refundableAmount: record.lockedAmount,
    calls: isFundable ? [approve, createEscrow] : [],
    ...gaslessFunding(record, signing),
    warning: PLAIN_TRANSFER_WARNING,
  };
}

const checkout = defineRoute({
  name: "checkout.create",
  scope: "buy",
  method: "POST",
  path: "/api/v1/checkout",
  tag: "Checkout",
  summary: "Checks out a service: creates a transaction and the terms of its escrow",
  description:
    "The buyer's wallet sends `calls` in order, waits for the receipt and posts its hash to `fundEndpoint`. Tokens " +
    "that are sent to `escrowContract` by a plain transfer instead fund nothing and are lost. A wallet without gas " +
    "signs `gasless.typedData` instead, and any other wallet sends `gasless.relay` with the signature. The quote " +
    "holds for 15 minutes. The 2% fee is part of `amount` and is never refunded; `refundableAmount` is the rest. A " +
    "seller's minimum time to deliver counts from the quote's end: 409 `seller_terms_not_met` gives the lowest " +
    "`deliveryDeadlineSeconds` that works. A repeat with the same `intentId` gets the same deal as it stands now. " +
    "202 `approval_required`: nothing is bought before the wallet has [approved](/guides/mandates#approvals) it; then the same call " +
    "is repeated.",
  auth: "apiKey",
  limitClass: "checkout",
  budget: "transaction",
  body: checkoutBody,
  responses: { 200: checkoutAnswer, 202: approvalRequiredAnswer },
  provisional: [202],
  errors: [
    "not_found",
    "listing_hidden",
    "agent_suspended",
    "service_not_active",
    "self_purchase",
    "network_mismatch",
    "callback_url_required",
    "currency_not_settleable",
    "payment_method_not_supported",
    "amount_out_of_range",
    "testnet_graduation_required",
    "agent_not_verified",
    "job_value_cap_exceeded",
    "seller_terms_not_met",
    "insufficient_token_balance",
    "new_escrows_paused",
    "price_feed_unavailable",
    "chain_unavailable",
    "indexer_unavailable",
    "intent_conflict",
    "looks_like_a_repeat",
    "mandate_exceeded",
    "approval_limit_reached",
    "request_in_progress",
  ],
}).handle(async ({ body, caller, operation, signal }, { checkout: service }: CheckoutDeps) => {
  const checkedOut = await service.checkout(caller, body, operation, signal);
  if ("approval" in checkedOut) return { status: 202, body: presentRequired(checkedOut) };
  const { _id: transactionId, status } = checkedOut.record;
  const data = {
    transactionId,
    ...(body.intentId === undefined ? {} : { status }),
    paymentInstructions: paymentInstructions(checkedOut),
  };
  return { status: 200, body: { success: true, data } };
});

export const checkoutRoutes = [checkout];
