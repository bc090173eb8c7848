import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { checkOut, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

/** A well-formed hash of no transaction. */
export const UNKNOWN_HASH = `0x${"ab".repeat(32)}`;
/** Longer than any text that a field accepts. */
export const LONG = "x".repeat(5_000);

/** Values of one field that its route must refuse. */
export type FieldFaults = [field: string, wrong: unknown[]];

/** A route with a body: a caller that may use it, a body that it accepts, and what it must refuse. */
export interface BodyCase {
  name: string;
  method: "POST" | "PATCH" | "DELETE";
  path: () => string;
  key: () => string | undefined;
  body: () => Promise<Record<string, unknown>> | Record<string, unknown>;
  required: string[];
  faults: FieldFaults[];
}

/** The records that the cases refer to. */
export interface Scene {
  chain: TestChain;
  market: Market;
  funded: CheckoutData;
  pending: CheckoutData;
  stranger: TestAgent;
  /** A webhook of the market's seller. */
  webhookId: string;
}

/** Creates the records. */
export async function openScene(api: TestApi): Promise<Scene> {
  const chain = await openChain("base-sepolia");
  const market = await openMarket(api, chain);
  const stranger = await api.registerAgent();
  const webhook = await api.request("POST", "/api/v1/webhooks", {
    key: market.seller.apiKey,
    body: { url: "https://agent.example/hook", events: ["escrow.released"] },
  });
  const { webhookId } = webhook.body.data as { webhookId: string };
  return { chain, market, stranger, webhookId, funded: await fundedDeal(market), pending: await checkOut(market) };
}

/** Path of a transaction, or of an operation on it. */
export function transactionPath(checkout: CheckoutData, operation = ""): string {
  return `/api/v1/transactions/${checkout.transactionId}${operation}`;
}

/** What a text field of at most so many characters must refuse. */
export const texts = (max: number) => [7, null, [], {}, "", "   ", "bell\u0007", "x".repeat(max + 1)];

/** A route that takes a body without fields. */
export const noBody = { body: () => ({}), required: [], faults: [] };
