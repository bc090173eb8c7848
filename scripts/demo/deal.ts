import type { Hex } from "viem";

import { type DemoAgent, call } from "./agent.ts";
import type { PreparedCall } from "./chain.ts";
import type { Narrator } from "./narrator.ts";
import type { WebhookReceiver } from "./receiver.ts";

/** The endings that the demo can show. */
export const SCENARIOS = ["accepted", "auto-release", "abandoned"] as const;
/** One ending of a deal. */
export type Scenario = (typeof SCENARIOS)[number];

/** The parties of a deal and what they deal over. */
export interface DealParties {
  api: string;
  seller: DemoAgent;
  buyer: DemoAgent;
  sellerHook: WebhookReceiver;
  buyerHook: WebhookReceiver;
}

/** What checkout answers, as far as a buyer needs it. */
export interface Checkout {
  transactionId: string;
  paymentInstructions: {
    escrowId: Hex;
    amount: string;
    refundableAmount: string;
    deadline: number;
    disputeWindow: number;
    abandonmentGrace: number;
    criteriaHash: Hex;
    fundEndpoint: string;
    calls: PreparedCall[];
  };
}

interface TransactionAnswer {
  data: { status: string; actions?: (PreparedCall & { action: string })[] };
}

const RESPONSE = { summary: "Three risks were found.", risks: ["thin liquidity", "unaudited bridge", "single oracle"] };

/** Lists a service, finds it by meaning and checks it out. */
export async function agree(narrator: Narrator, parties: DealParties): Promise<Checkout> {
  const { api, seller, buyer, sellerHook, buyerHook } = parties;
  const serviceId = await narrator.step("The seller lists a service", async (note) => {
    const { data } = await seller.call<{ data: { id: string; status: string } }>("POST", "/api/v1/services", {
      title: "Token risk report",
      description: "Reads a token's contracts, liquidity and holders and writes a report on what could go wrong.",
      category: "risk_assessment",
      price: 2.5,
      priceUnit: "per_document",
      endpointUrl: sellerHook.url,
    });
    note(`POST /api/v1/services → ${data.id}, ${data.status}`);
    return data.id;
  });
  await narrator.step("The buyer finds it by meaning", async (note) => {
    const query = "is this coin dangerous to hold?";
    const started = Date.now();
    for (;;) {
      const results = await call<{ serviceId: string; title: string; relevance: number }[]>(
        api,
        "POST",
        "/api/v1/discover",
        { query },
      );
      const rank = results.findIndex((result) => result.serviceId === serviceId);
      if (rank >= 0) {
        note(`POST /api/v1/discover "${query}" → rank ${rank + 1} of ${results.length}`);
        return;
      }
      if (Date.now() - started > 60_000) throw new Error("the listing was not found within 60 seconds");
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  });
  return narrator.step("The buyer checks out", async (note) => {
    const { data } = await buyer.call<{ data: Checkout }>("POST", "/api/v1/checkout", {
      serviceId,
      quantity: 1,
      paymentMethod: "usdc",
      callbackUrl: buyerHook.url,
      requestPayload: { token: "0x0000000000000000000000000000000000000042" },
    });
    const terms = data.paymentInstructions;
    note(`POST /api/v1/checkout → ${data.transactionId}, escrow ${terms.escrowId}`);
    note(`amount ${terms.amount} units, of which ${terms.refundableAmount} would come back on a refund`);
    return data;
  });
}

/** Approves, creates the escrow and tells the API; the seller's webhook arrives. */
export async function fund(narrator: Narrator, parties: DealParties, checkout: Checkout): Promise<void> {
  const { buyer, sellerHook } = parties;
  const { transactionId, paymentInstructions: terms } = checkout;
  const sent = await narrator.step("The buyer approves the token and creates the escrow", async (note) => {
    let last: { hash: Hex; gasUsed: bigint } | undefined;
    for (const prepared of terms.calls) {
      last = await buyer.wallet.send(prepared);
      note(`${prepared.description ?? "call"} → ${last.hash} (${last.gasUsed} gas)`);
    }
    if (last === undefined) throw new Error("checkout prepared no calls");
    return last;
  });
  await narrator.step("The API verifies the funding", async (note) => {
    const answer = await buyer.call<TransactionAnswer>("POST", terms.fundEndpoint, { txHash: sent.hash });
    note(`POST ${terms.fundEndpoint} → ${answer.data.status}`);
  });
  await narrator.step("The seller's webhook arrives and its signature holds", async (note) => {
    const hook = await sellerHook.waitFor("escrow.funded", transactionId);
    note(`${hook.body.event} ${hook.eventId}: ${String(hook.body["lockedAmount"])} units locked for the seller`);
  });
}

/** Commits to the delivery on chain and hands over the payload; the buyer's webhook arrives. */
export async function deliver(narrator: Narrator, parties: DealParties, checkout: Checkout): Promise<void> {
  const { seller, buyerHook } = parties;
  const { transactionId } = checkout;
  await narrator.step("The seller submits the delivery on chain", async (note) => {
    const path = `/api/v1/transactions/${transactionId}/deliver`;
    const before = await seller.call<{ data: { submitDelivery?: PreparedCall; deliveryProof: string } }>("POST", path, {
      responsePayload: RESPONSE,
    });
    note(`POST ${path} → deliveryProof ${before.data.deliveryProof}`);
    const sent = await seller.wallet.send(await action(seller, transactionId, "submitDelivery"));
    note(`submitDelivery → ${sent.hash} (${sent.gasUsed} gas)`);
  });
  await narrator.step("The buyer's webhook brings the delivery", async (note) => {
    const hook = await buyerHook.waitFor("service.delivered", transactionId);
    note(`${hook.body.event} ${hook.eventId}: ${JSON.stringify(hook.body["responsePayload"])}`);
    note(`deliveryProof ${String(hook.body["deliveryProof"])}`);
  });
}

/** The buyer accepts on chain and confirms; the seller is paid. */
export async function acceptAndConfirm(narrator: Narrator, parties: DealParties, checkout: Checkout): Promise<void> {
  const { buyer, sellerHook } = parties;
  const { transactionId } = checkout;
  await narrator.step("The buyer accepts on chain", async (note) => {
    const sent = await buyer.wallet.send(await action(buyer, transactionId, "accept"));
    note(`accept → ${sent.hash} (${sent.gasUsed} gas)`);
  });
  await narrator.step("The buyer confirms", async (note) => {
    const path = `/api/v1/transactions/${transactionId}/confirm`;
    const answer = await buyer.call<TransactionAnswer>("POST", path);
    note(`POST ${path} → ${answer.data.status}`);
    await sellerHook.waitFor("escrow.released", transactionId);
    note("the seller received escrow.released");
  });
}

/** A call that the API prepared for an agent, waiting until the API has seen the state that opens it. */
export async function action(agent: DemoAgent, transactionId: string, name: string): Promise<PreparedCall> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const { data } = await agent.call<TransactionAnswer>("GET", `/api/v1/transactions/${transactionId}`);
    const found = data.actions?.find((candidate) => candidate.action === name);
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`${agent.name} may not ${name} while the transaction is ${data.status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
