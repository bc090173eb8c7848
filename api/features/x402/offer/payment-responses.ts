import { zeroAddress } from "viem";
import type { Address } from "viem";

import { leadOf } from "../../../chain/chain-time.ts";
import type { Clocks } from "../../../chain/chain-time.ts";
import { caip2Of, USDC_DOMAINS, X402_FAILED_MESSAGE } from "../../../config/constants.ts";
import type { X402Settings } from "../../../config/x402.ts";
import { paymentRequiredBody } from "../../../http/payment-required.ts";
import type { PaymentDetails, BudgetState, PaymentCode, PaymentOffer } from "../../../http/payment-required.ts";
import type { RouteResponse } from "../../../http/pipeline.ts";
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
  details: PaymentDetails;
  instructions: string;
  retrySeconds?: number;
}

/** Content of a 402 that asks for a payment. */
interface Demand {
  code: PaymentCode;
  message: string;
  reason?: Refusal;
  details?: PaymentDetails;
}

/** Settings of the payment responses. */
interface PaymentResponsesOptions {
  settings: X402Settings;
  /** Address of USDC on the payments' network; undefined if the deployment lists none. */
  token: Address | undefined;
  /** URL at which clients reach the API. */
  publicUrl: string;
  /** Whether signed payments can be settled. */
  settlesSigned: boolean;
}

/** Builds the 402 responses and the receipts. One 402 serves transfer proofs and both official versions. */
export class PaymentResponses {
  /** Address of USDC on the payments' network; undefined if the deployment lists none. */
  readonly token: Address | undefined;
  readonly #settings: X402Settings;
  readonly #publicUrl: string;
  readonly #settlesSigned: boolean;

  constructor({ settings, token, publicUrl, settlesSigned }: PaymentResponsesOptions) {
    this.token = token;
    this.#settings = settings;
    this.#publicUrl = publicUrl;
    this.#settlesSigned = settlesSigned;
  }

  /** The terms of a charge; undefined if payments aren't configured. */
  termsFor(charge: Pick<Charge, "amount" | "description">, path: string, clocks: Clocks): Terms | undefined {
    const { token } = this;
    const { network, payTo } = this.#settings;
    if (payTo === undefined || token === undefined) return undefined;
    return {
      network,
      payTo,
      amount: charge.amount,
      description: charge.description,
      token: { address: token, ...USDC_DOMAINS[network] },
      resource: this.#publicUrl + path,
      leadSeconds: leadOf(clocks),
    };
  }

  /** Asks for a payment. */
  paymentRequired(charge: Charge, terms: Terms | undefined): RouteResponse {
    return this.#demand(charge, terms, { code: "payment_required", message: messageOf(charge) });
  }

  /** Reports that a proof was rejected. */
  refuse(charge: Charge, terms: Terms | undefined, reason: Refusal, clocks: Clocks): RouteResponse {
    const [code, message] = ["payment_verification_failed", X402_FAILED_MESSAGE] as const;
    const instead = INSTEAD_OF_PAYING[reason];
    if (instead !== undefined) return this.#holdOff(charge, terms, { code, message, details: { reason }, ...instead });
    const isClockAhead = reason === "expired" && leadOf(clocks) > 0;
    const { chainTime, wallTime } = clocks;
    const details = isClockAhead ? { reason, chainTime, wallTime } : { reason };
    return this.#demand(charge, terms, { code, message, reason, details });
  }

  /** Reports that the outcome of a settlement is unknown. Asks for no other payment, because this one may still settle. */
  pending(charge: Charge, terms: Terms | undefined, txHash: string | undefined): RouteResponse {
    return this.#holdOff(charge, terms, {
      code: "settlement_pending",
      message: PENDING_MESSAGE,
      instructions: REPEAT_INSTRUCTIONS,
      details: txHash === undefined ? {} : { txHash },
      retrySeconds: RETRY_SECONDS,
    });
  }

  /** Adds the receipt of a payment to the answer that it paid for. */
  addReceipt(answer: RouteResponse, claim: ClaimRecord, txHash = claim.txHash ?? ""): RouteResponse {
    const receipt = { network: claim.network, payer: claim.payer as Address, txHash };
    const version = claim.payment?.version ?? 1;
    const name = version === 2 ? "PAYMENT-RESPONSE" : "X-PAYMENT-RESPONSE";
    return { ...answer, headers: { ...answer.headers, [name]: paymentResponseHeader(version, receipt) } };
  }

  /** A 402 that asks for a payment. Official clients pay the terms in `accepts` or in the header. */
  #demand(charge: Charge, terms: Terms | undefined, { code, message, reason, details }: Demand): RouteResponse {
    const signable = terms !== undefined && this.#settlesSigned ? terms : undefined;
    const body = paymentRequiredBody({
      code,
      message,
      budget: charge.budget,
      details,
      payment: this.#buildOffer(charge, terms, this.#buildInstructions(charge, terms)),
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
  #holdOff(charge: Charge, terms: Terms | undefined, { retrySeconds, instructions, ...says }: HoldOff): RouteResponse {
    const payment = this.#buildOffer(charge, terms, instructions);
    const body = paymentRequiredBody({ ...says, budget: charge.budget, payment });
    return {
      status: PAYMENT_REQUIRED,
      code: says.code,
      type: "application/json",
      body: JSON.stringify(body),
      headers: retrySeconds === undefined ? {} : { "Retry-After": String(retrySeconds) },
    };
  }

  #buildOffer(charge: Charge, terms: Terms | undefined, instructions: string): PaymentOffer {
    const { network, facilitatorUrl } = this.#settings;
    return {
      price: dollars(charge.amount),
      network: caip2Of(network),
      payTo: terms?.payTo ?? zeroAddress,
      available: terms !== undefined,
      facilitatorUrl,
      instructions,
    };
  }

  #buildInstructions(charge: Charge, terms: Terms | undefined): string {
    if (terms === undefined) {
      const until =
        charge.budget === undefined ? "" : ` Wait for the reset at ${charge.budget.resetsAt.toISOString()}.`;
      return `No payment is possible.${until}`;
    }
    const { network, amount, token: asset, payTo: recipient } = terms;
    const proof = `{"x402Version":1,"scheme":"exact","network":"${network}","payload":{"txHash":"0x…","from":"0x…"}}`;
    const signed = this.#settlesSigned ? " Official x402 clients (versions 1 and 2) pay by themselves." : "";
    return (
      `Send exactly ${dollars(amount)} in USDC (${String(amount)} units of ${asset.address}) on ${network} from your ` +
      `registered wallet to ${recipient}. Once that is confirmed, repeat the request with the header X-PAYMENT: ` +
      `${proof}.${signed}`
    );
  }
}

function messageOf({ budget, pack }: Charge): string {
  if (budget !== undefined) return `Daily ${budget.type} budget exhausted`;
  return pack === undefined ? "Payment required" : `A pack of ${pack.calls} ${pack.class} calls is to be paid for`;
}

/** Destroys the body stream of an answer that isn't sent. */
export function discard({ body }: RouteResponse): void {
  if (typeof body !== "string" && !Buffer.isBuffer(body)) body.destroy();
}
