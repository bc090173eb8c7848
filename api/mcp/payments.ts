import { PAYMENT_META, RECEIPT_META } from "../../tools/src/index.ts";
import type { PaymentRequired } from "../../tools/src/index.ts";
import type { InnerAnswer } from "./inner-fetch.ts";

type Meta = Readonly<Record<string, unknown>>;

/** The headers in which the API takes the payment of a request's `_meta`; undefined without one. */
export function paymentHeaders(meta: Meta): Record<string, string> | undefined {
  const payment = meta[PAYMENT_META];
  if (payment === undefined) return undefined;
  const isFirstVersion =
    typeof payment === "object" && payment !== null && "x402Version" in payment && payment.x402Version === 1;
  const encoded = Buffer.from(JSON.stringify(payment)).toString("base64");
  return { [isFirstVersion ? "x-payment" : "payment-signature"]: encoded };
}

/** The receipt in an answer's headers, as `_meta` has it; undefined without one. */
export function receiptMeta({ headers }: InnerAnswer): Record<string, unknown> | undefined {
  const receipt = headers.get("payment-response") ?? headers.get("x-payment-response");
  return receipt === null ? undefined : { [RECEIPT_META]: decoded(receipt) };
}

/** What an answer asks to be paid, for a tool by its name; undefined if it asks for nothing. */
export function demandOf({ status, headers }: InnerAnswer, tool: string): PaymentRequired | undefined {
  const demand = headers.get("payment-required");
  if (status !== PAYMENT_REQUIRED || demand === null) return undefined;
  const { resource, ...terms } = decoded(demand) as PaymentRequired & { resource?: object };
  return { ...terms, resource: { ...resource, url: `mcp://tool/${tool}` } };
}

const PAYMENT_REQUIRED = 402;

function decoded(header: string): unknown {
  return JSON.parse(Buffer.from(header, "base64").toString("utf8"));
}
