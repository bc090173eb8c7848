import { formatUnits } from "viem";
import type { Address } from "viem";
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from "@x402/core/http";

import { caip2Of, USDC_DECIMALS } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import { PAYMENT_IDENTIFIER_EXTENSION } from "./payment-identifier.ts";

/** A token that payments are made in. `name` and `version` are those of its EIP-712 domain. */
export interface PaymentToken {
  address: Address;
  name: string;
  version: string;
}

/** The payment terms of one charge. */
export interface Terms {
  network: Network;
  token: PaymentToken;
  payTo: Address;
  /** Units of the token. */
  amount: bigint;
  /** Absolute URL of the paid resource. */
  resource: string;
  description: string;
  /** How far the chain's clock is ahead of ours, in seconds, if that is far enough to matter. 0 by default. */
  leadSeconds?: number;
}

/** How long a signed payment is valid, in seconds. */
export const PAYMENT_VALIDITY_SECONDS = 300;

const MIME_TYPE = "application/json";

/** Price in US dollars with a dollar sign: one unit of USDC is $0.000001. */
export function dollars(units: bigint): string {
  return `$${formatUnits(units, USDC_DECIMALS)}`;
}

/** Official clients sign by their own clocks, but the token checks expiry by the chain's clock, which may be ahead. */
const timeoutOf = ({ leadSeconds = 0 }: Terms): number => PAYMENT_VALIDITY_SECONDS + leadSeconds;

const domainOf = ({ name, version }: PaymentToken) => ({ name, version });

/** The terms as an official v1 client reads them from the body. */
export function requirementsV1(terms: Terms) {
  return {
    scheme: "exact",
    network: terms.network,
    maxAmountRequired: String(terms.amount),
    resource: terms.resource,
    description: terms.description,
    mimeType: MIME_TYPE,
    payTo: terms.payTo,
    maxTimeoutSeconds: timeoutOf(terms),
    asset: terms.token.address,
    extra: domainOf(terms.token),
  } as const;
}

/** The terms as an official v2 client reads them from the header. */
export function requirementsV2(terms: Terms) {
  return {
    scheme: "exact",
    network: caip2Of(terms.network) as `${string}:${string}`,
    amount: String(terms.amount),
    asset: terms.token.address,
    payTo: terms.payTo,
    maxTimeoutSeconds: timeoutOf(terms),
    extra: domainOf(terms.token),
  };
}

/** Value of `PAYMENT-REQUIRED`. */
export function paymentRequiredHeader(terms: Terms, error: string): string {
  return encodePaymentRequiredHeader({
    x402Version: 2,
    error,
    resource: { url: terms.resource, description: terms.description, mimeType: MIME_TYPE },
    accepts: [requirementsV2(terms)],
    extensions: PAYMENT_IDENTIFIER_EXTENSION,
  });
}

/** A settled payment. */
export interface Receipt {
  network: Network;
  payer: Address;
  txHash: string;
}

/** Value of `X-PAYMENT-RESPONSE` (version 1, network by name) or `PAYMENT-RESPONSE` (version 2, CAIP-2). */
export function paymentResponseHeader(version: 1 | 2, { network, payer, txHash }: Receipt): string {
  // The package types the names of version 2; it encodes any.
  const name = (version === 1 ? network : caip2Of(network)) as `${string}:${string}`;
  return encodePaymentResponseHeader({ success: true, transaction: txHash, network: name, payer });
}
