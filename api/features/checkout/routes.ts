import type { TokenDomain } from "../../chain/authorization.ts";
import { defineRoute } from "../../http/define-route.ts";
import { fundingCalls } from "../transactions/actions.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import { gaslessFunding } from "./gasless.ts";
import { checkoutAnswer, checkoutBody } from "./schemas.ts";
import type { CheckoutService } from "./service.ts";

/** Dependencies of the checkout route. */
export interface CheckoutDeps {
  checkout: CheckoutService;
}

/** Wallets make a transfer easier than a call, and agents may take escrowContract for an address to pay to. */
const PLAIN_TRANSFER_WARNING =
  "Never send tokens to escrowContract by a plain transfer: it funds nothing, and the tokens are lost. Only createEscrow, " +
  "or createEscrowWithAuthorization, takes the deposit.";

function paymentInstructions(record: TransactionRecord, tokenDomain: TokenDomain | null) {
  const { approve, createEscrow } = fundingCalls(record);
  return {
    escrowContract: record.escrowContract,
    escrowId: record.escrowId,
    sellerAddress: record.sellerAddress,
    tokenAddress: record.token.address,
    amount: record.amount,
    disputeWindow: record.disputeWindow,
    abandonmentGrace: record.abandonmentGrace,
    criteriaHash: record.criteriaHash,
    fundEndpoint: `/api/v1/transactions/${record._id}/fund`,
    network: record.network,
    chainId: record.chainId,
    deadline: record.deadline,
    quoteExpiresAt: new Date((record.quoteExpiresAt ?? 0) * 1000).toISOString(),
    platformFee: record.platformFee,
    refundableAmount: record.lockedAmount,
    calls: [approve, createEscrow],
    gasless: gaslessFunding(record, tokenDomain),
    warning: PLAIN_TRANSFER_WARNING,
  };
}

const checkout = defineRoute({
  method: "POST",
  path: "/api/v1/checkout",
  tag: "Checkout",
  summary: "Checks out a service: creates a transaction and the terms of its escrow",
  description:
    "The buyer's wallet sends `calls` in order, waits for the receipt and posts its hash to `fundEndpoint`. Tokens that are " +
    "sent to `escrowContract` by a plain transfer instead fund nothing and are lost. A wallet " +
    "without gas signs `gasless.typedData` instead, and any other wallet sends `gasless.relay` with the signature. The " +
    "quote holds for 15 minutes. The 2% fee is part of `amount` and is never refunded; `refundableAmount` is the rest. " +
    "If the seller requires a minimum time to deliver, it must still be left when the escrow is funded at the quote's " +
    "end: `deliveryDeadlineSeconds` must then be at least that time plus 15 minutes (409 `seller_terms_not_met` gives it " +
    "as `minDeliveryDeadlineSeconds`).",
  auth: "apiKey",
  limitClass: "checkout",
  budget: "transaction",
  body: checkoutBody,
  responses: { 200: checkoutAnswer },
  errors: [
    "not_found",
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
  ],
}).handle(async ({ body, caller, operation }, { checkout: service }: CheckoutDeps) => {
  const { record, tokenDomain } = await service.checkout(caller, body, operation);
  const data = { transactionId: record._id, paymentInstructions: paymentInstructions(record, tokenDomain) };
  return { status: 200, body: { success: true, data } };
});

export const checkoutRoutes = [checkout];
