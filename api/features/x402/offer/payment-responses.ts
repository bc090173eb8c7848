import { zeroAddress } from "viem";
import type { Address } from "viem";

import { leadOf } from "../../../chain/chain-time.ts";
import type { Clocks } from "../../../chain/chain-time.ts";
import { caip2Of, USDC_DOMAINS, X402_FAILED_MESSAGE } from "../../../config/constants.ts";
import type { X402Settings } from "../../../config/x402.ts";
import { paymentRequiredBody } from "../../../http/payment-required.ts";
import type { BudgetState, PaymentCode, PaymentOffer } from "../../../http/payment-required.ts";
import type { Answer } from "../../../http/pipeline.ts";
import type { ClaimRecord } from "../model.ts";
import type { Refusal } from "./proof.ts";
import { dollars, paymentRequiredHeader, paymentResponseHeader, requirementsV1 } from "./terms.ts";
import type { Terms } from "./terms.ts";

/** The price and subject of a payment. */
export interface Charge {
  /** Units of USDC. */
  amount: bigint;
  description: string;
  /** The exhausted budget; undefined for a pack. */
  budget: BudgetState | undefined;
  pack: ClaimRecord["pack"];
}

/** Settings of the payment responses. */
export interface PaymentResponsesOptions {
  settings: X402Settings;
  /** Address of USDC on the payments' network; undefined if the deployment lists none. */
  token: Address | undefined;
  /** URL at which clients reach the API. */
  publicUrl: string;
  /** Whether signed payments can be settled. */
  settlesSigned: boolean;
}

export type PaymentResponses = ReturnType<typeof createPaymentResponses>;

const PAYMENT_REQUIRED = 402;
const RETRY_SECONDS = 2;
const PENDING_MESSAGE = "x402 payment settlement is not confirmed yet";
const REPEAT_INSTRUCTIONS = "Repeat the request, with the same payment or without one. Don't pay again.";

/** Instructions for refused payments that have already paid for a call, or are about to. */
const INSTEAD_OF_PAYING: Partial<Record<Refusal, Pick<HoldOff, "instructions" | "retrySeconds">>> = {
  proof_already_used: {
    instructions:
      "This payment has paid for a call. Make another call without it, and you are told how to pay for that.",
  },
  proof_in_use: {
    instructions: "A request with this payment is running. Repeat this one with the same payment. Don't pay again.",
    retrySeconds: 1,
  },
};

/** Content of a 402 that asks for no payment. */
interface HoldOff {
  code: PaymentCode;
  message: string;
  details: unknown;
  instructions: string;
  retrySeconds?: number;
}

/** Builds the 402 responses and the receipts. One 402 serves transfer proofs and both official versions. */
export function createPaymentResponses({ settings, token, publicUrl, settlesSigned }: PaymentResponsesOptions) {
  const { network, payTo, facilitatorUrl } = settings;

  /** The terms of a charge; undefined if payments aren't configured. */
  function termsFor(charge: Pick<Charge, "amount" | "description">, path: string, clocks: Clocks): Terms | undefined {
    if (payTo === undefined || token === undefined) return undefined;
    return {
      network,
      payTo,
      amount: charge.amount,
      description: charge.description,
      token: { address: token, ...USDC_DOMAINS[network] },
      resource: publicUrl + path,
      leadSeconds: leadOf(clocks),
    };
  }

  function offerOf(charge: Charge, terms: Terms | undefined, instructions: string): PaymentOffer {
    return {
      price: dollars(charge.amount),
      network: caip2Of(network),
      payTo: terms?.payTo ?? zeroAddress,
      available: terms !== undefined,
      facilitatorUrl,
      instructions,
    };
  }

  function instructionsOf(charge: Charge, terms: Terms | undefined): string {
    if (terms === undefined) {
      const until =
        charge.budget === undefined ? "" : ` Wait for the reset at ${charge.budget.resetsAt.toISOString()}.`;
      return `No payment is possible.${until}`;
    }
    const { amount, token: asset, payTo: recipient } = terms;
    const proof = `{"x402Version":1,"scheme":"exact","network":"${network}","payload":{"txHash":"0x…","from":"0x…"}}`;
    const signed = settlesSigned ? " Official x402 clients (versions 1 and 2) pay by themselves." : "";
    return (
      `Send exactly ${dollars(amount)} in USDC (${String(amount)} units of ${asset.address}) on ${network} from your ` +
      `registered wallet to ${recipient}. Once that is confirmed, repeat the request with the header X-PAYMENT: ` +
      `${proof}.${signed}`
    );
  }

  interface Demand {
    code: PaymentCode;
    message: string;
    reason?: Refusal;
    details?: unknown;
  }

  /** A 402 that asks for a payment. Official clients pay the terms in `accepts` or in the header. */
  function demand(charge: Charge, terms: Terms | undefined, { code, message, reason, details }: Demand): Answer {
    const signable = terms !== undefined && settlesSigned ? terms : undefined;
    const body = paymentRequiredBody({
      code,
      message,
      budget: charge.budget,
      details,
      payment: offerOf(charge, terms, instructionsOf(charge, terms)),
      accepts: signable === undefined ? undefined : [requirementsV1(signable)],
    });
    return {
      status: PAYMENT_REQUIRED,
      code,
      type: "application/json",
      headers: signable === undefined ? {} : { "PAYMENT-REQUIRED": paymentRequiredHeader(signable, reason ?? message) },
      body: JSON.stringify(body),
    };
  }

  /** A 402 without `accepts` and without the header, so that no client pays again. */
  function holdOff(charge: Charge, terms: Terms | undefined, { retrySeconds, instructions, ...says }: HoldOff): Answer {
    const payment = offerOf(charge, terms, instructions);
    const body = paymentRequiredBody({ ...says, budget: charge.budget, payment });
    return {
      status: PAYMENT_REQUIRED,
      code: says.code,
      type: "application/json",
      body: JSON.stringify(body),
      headers: retrySeconds === undefined ? {} : { "Retry-After": String(retrySeconds) },
    };
  }

  return {
    /** Address of USDC; undefined if the deployment lists none. */
    token,
    termsFor,

    /** Asks for a payment. */
    paymentRequired: (charge: Charge, terms: Terms | undefined): Answer =>
      demand(charge, terms, { code: "payment_required", message: messageOf(charge) }),

    /** Reports that a proof was rejected. */
    refuse(charge: Charge, terms: Terms | undefined, reason: Refusal, clocks: Clocks): Answer {
      const [code, message] = ["payment_verification_failed", X402_FAILED_MESSAGE] as const;
      const instead = INSTEAD_OF_PAYING[reason];
      if (instead !== undefined) return holdOff(charge, terms, { code, message, details: { reason }, ...instead });
      const isClockAhead = reason === "expired" && leadOf(clocks) > 0;
      const { chainTime, wallTime } = clocks;
      return demand(charge, terms, {
        code,
        message,
        reason,
        details: isClockAhead ? { reason, chainTime, wallTime } : { reason },
      });
    },

    /** Reports that the outcome of a settlement is unknown. Asks for no other payment, because this one may still settle. */
    pending: (charge: Charge, terms: Terms | undefined, txHash: string | undefined): Answer =>
      holdOff(charge, terms, {
        code: "settlement_pending",
        message: PENDING_MESSAGE,
        instructions: REPEAT_INSTRUCTIONS,
        details: txHash === undefined ? {} : { txHash },
        retrySeconds: RETRY_SECONDS,
      }),

    /** Adds the receipt of a payment to the answer that it paid for. */
    addReceipt(answer: Answer, { payment, network: paidOn, payer }: ClaimRecord, txHash: string): Answer {
      const receipt = { network: paidOn, payer: payer as Address, txHash };
      const version = payment?.version ?? 1;
      const name = version === 2 ? "PAYMENT-RESPONSE" : "X-PAYMENT-RESPONSE";
      return { ...answer, headers: { ...answer.headers, [name]: paymentResponseHeader(version, receipt) } };
    },
  };
}

function messageOf({ budget, pack }: Charge): string {
  if (budget !== undefined) return `Daily ${budget.type} budget exhausted`;
  return pack === undefined ? "Payment required" : `A pack of ${pack.calls} ${pack.class} calls is to be paid for`;
}

/** Destroys the body stream of an answer that isn't sent. */
export function discard({ body }: Answer): void {
  if (typeof body !== "string" && !Buffer.isBuffer(body)) body.destroy();
}
