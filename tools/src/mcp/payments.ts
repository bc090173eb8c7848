import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/server";
import type { ServerContext } from "@modelcontextprotocol/server";

import { bothForms } from "./results.ts";

/** How a call can be paid for, as x402 version 2 writes it. */
export interface PaymentRequired extends Record<string, unknown> {
  x402Version: number;
  error: string;
}

/** The extension by which clients say that they understand `payment_required`. */
export const PAYMENT_EXTENSION = "org.x402/payment";
/** Where requests carry a payment, and answers its receipt. */
export const PAYMENT_META = "x402/payment";
export const RECEIPT_META = "x402/payment-response";

/** Whether a request, of a revision with capabilities in each request, announces the extension. */
export function announcesPayments({ mcpReq }: ServerContext): boolean {
  const envelope = mcpReq.envelope as Record<string, { extensions?: Record<string, unknown> }> | undefined;
  return envelope?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[PAYMENT_EXTENSION] !== undefined;
}

/** Asks for a payment: as a result type of the extension, or as a tool's error for every other client. */
export function paymentAsked(payment: PaymentRequired, isAnnounced: boolean): Record<string, unknown> {
  if (isAnnounced) return { resultType: "payment_required", paymentRequired: payment };
  return { ...bothForms(payment), isError: true };
}
