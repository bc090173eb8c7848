import type { Agent, Deal, Marketplace, VerbOptions } from "../../sdk/src/index.ts";
import type { Narrator } from "./narrator.ts";
import { type WebhookReceiver, eventIdOf } from "./receiver.ts";
import type { NetworkFacts } from "./stack-facts.ts";

/** The endings that the demo can show. */
export const SCENARIOS = ["accepted", "auto-release", "abandoned", "dispute"] as const;
/** One ending of a deal. */
export type Scenario = (typeof SCENARIOS)[number];

/** The parties of a deal with their webhook receivers. */
export interface DealParties {
  market: Marketplace;
  network: NetworkFacts;
  seller: Agent;
  buyer: Agent;
  sellerHook: WebhookReceiver;
  buyerHook: WebhookReceiver;
}

const RESPONSE = { summary: "Three risks were found.", risks: ["thin liquidity", "unaudited bridge", "single oracle"] };
const TITLE = "Token risk report";
/** Search compares meanings, whatever the language. */
const GERMAN_QUERY = "Ich suche eine Risikoanalyse für einen Token";
const SEARCH_TIMEOUT_MS = 60_000;
const SEARCH_PAUSE_MS = 250;

/** Notes each transaction that a verb sends. */
export function noting(note: (text: string) => void): VerbOptions {
  return {
    onReceipt: (step, { transactionHash, gasUsed }) => {
      note(`${step} → ${transactionHash} (${gasUsed} gas)`);
    },
  };
}

/** Waits for a webhook of a deal with a valid signature; returns its event id and body. */
export async function signedWebhook(receiver: WebhookReceiver, event: string, transactionId: string) {
  const [webhook] = await receiver.waitFor(
    ({ body, status }) => status === 204 && body?.event === event && body.transactionId === transactionId,
  );
  return { eventId: eventIdOf(webhook), body: { ...webhook.body } };
}

/** Lists a service, finds it by meaning and checks it out. */
export async function agree(narrator: Narrator, parties: DealParties): Promise<Deal> {
  const { market, seller, buyer, sellerHook, buyerHook } = parties;
  const serviceId = await narrator.step("The seller lists a service", async (note) => {
    const { id, status } = await seller.listings.create({
      title: TITLE,
      description: "Reads a token's contracts, liquidity and holders and writes a report on what could go wrong.",
      category: "risk_assessment",
      price: 2.5,
      priceUnit: "per_document",
      endpointUrl: sellerHook.url,
    });
    note(`POST /api/v1/services → ${id}, ${status}`);
    return id;
  });
  await narrator.step("The buyer finds it by meaning", async (note) => {
    const query = "is this coin dangerous to hold?";
    const started = Date.now();
    for (;;) {
      const results = await market.discover(query);
      const rank = results.findIndex((result) => result.serviceId === serviceId);
      if (rank >= 0) {
        note(`POST /api/v1/discover "${query}" → rank ${rank + 1} of ${results.length}`);
        return;
      }
      if (Date.now() - started > SEARCH_TIMEOUT_MS) throw new Error("the listing was not found within 60 seconds");
      await new Promise((resolve) => setTimeout(resolve, SEARCH_PAUSE_MS));
    }
  });
  await narrator.step("A query in German finds the English listing first", async (note) => {
    const results = await market.discover(GERMAN_QUERY);
    const [first] = results;
    // Earlier demos have listed the same under other sellers.
    if (first?.title !== TITLE) throw new Error(`"${GERMAN_QUERY}" finds ${first?.title ?? "nothing"} first`);
    note(`POST /api/v1/discover "${GERMAN_QUERY}" → "${first.title}", first of ${results.length}`);
  });
  return narrator.step("The buyer checks out", async (note) => {
    const deal = await buyer.checkout({
      serviceId,
      quantity: 1,
      callbackUrl: buyerHook.url,
      requestPayload: { token: "0x0000000000000000000000000000000000000042" },
    });
    const { transactionId, escrowId, amount, refundableAmount } = deal.terms;
    note(`POST /api/v1/checkout → ${transactionId}, escrow ${escrowId}`);
    note(`amount ${amount} units; a refund returns ${refundableAmount}`);
    return deal;
  });
}

/** Approves, creates the escrow and has the API verify it; the seller's webhook arrives. */
export async function fund(narrator: Narrator, { sellerHook }: DealParties, deal: Deal): Promise<void> {
  await narrator.step("The buyer funds the escrow and the API verifies it", async (note) => {
    const { status } = await deal.fund(noting(note));
    note(`POST /api/v1/transactions/${deal.transactionId}/fund → ${status}`);
  });
  await narrator.step("The seller's webhook arrives with a valid signature", async (note) => {
    const { eventId, body } = await signedWebhook(sellerHook, "escrow.funded", deal.transactionId);
    note(`escrow.funded ${eventId}: ${String(body["lockedAmount"])} units locked for the seller`);
  });
}

/** Hands over the payload and commits to it on chain; the buyer's webhook arrives. */
export async function deliver(narrator: Narrator, { seller, buyerHook }: DealParties, deal: Deal): Promise<void> {
  const { transactionId } = deal;
  await narrator.step("The seller delivers", async (note) => {
    const job = await seller.deal(transactionId);
    const { status, deliveryProof } = await job.deliver(RESPONSE, noting(note));
    note(`POST /api/v1/transactions/${transactionId}/deliver → ${status}, deliveryProof ${String(deliveryProof)}`);
  });
  await narrator.step("The delivery reaches the buyer's webhook", async (note) => {
    const { eventId, body } = await signedWebhook(buyerHook, "service.delivered", transactionId);
    note(`service.delivered ${eventId}: ${JSON.stringify(body["responsePayload"])}`);
    note(`deliveryProof ${String(body["deliveryProof"])}`);
  });
}

/** The buyer accepts on chain and confirms; the seller is paid. */
export async function acceptAndConfirm(narrator: Narrator, { sellerHook }: DealParties, deal: Deal): Promise<void> {
  const { transactionId } = deal;
  await narrator.step("The buyer accepts and confirms", async (note) => {
    const { status } = await deal.accept(noting(note));
    note(`POST /api/v1/transactions/${transactionId}/confirm → ${status}`);
    await signedWebhook(sellerHook, "escrow.released", transactionId);
    note("the seller received escrow.released");
  });
}
