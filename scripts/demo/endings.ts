import type { DemoAgent } from "./agent.ts";
import type { PreparedCall } from "./chain.ts";
import { type Checkout, type DealParties, action } from "./deal.ts";
import type { Narrator } from "./narrator.ts";

/** The buyer says nothing: past the dispute window anyone releases, and the seller is paid. */
export async function finalizeAfterWindow(narrator: Narrator, parties: DealParties, checkout: Checkout): Promise<void> {
  const { seller, sellerHook } = parties;
  const { transactionId, paymentInstructions: terms } = checkout;
  await narrator.step("The dispute window passes without a word", async (note) => {
    const now = await seller.wallet.chain.now();
    await seller.wallet.chain.moveClockTo(now + BigInt(terms.disputeWindow) + 1n);
    note(`the chain's clock is moved ${terms.disputeWindow + 1} s ahead`);
  });
  await narrator.step("The seller releases the funds", async (note) => {
    const sent = await seller.wallet.send(await action(seller, transactionId, "finalize"));
    note(`finalize → ${sent.hash} (${sent.gasUsed} gas)`);
    await sellerHook.waitFor("escrow.finalized", transactionId);
    note("the seller received escrow.finalized");
  });
}

/** The seller never delivers: past deadline and grace the buyer reclaims the deposit less the fee. */
export async function claimWhenAbandoned(narrator: Narrator, parties: DealParties, checkout: Checkout): Promise<void> {
  const { buyer } = parties;
  const { transactionId, paymentInstructions: terms } = checkout;
  await narrator.step("Deadline and grace pass without a delivery", async (note) => {
    const graceEnd = BigInt(terms.deadline) + BigInt(terms.abandonmentGrace);
    await buyer.wallet.chain.moveClockTo(graceEnd + 1n);
    note(`the chain's clock is moved to ${new Date(Number(graceEnd + 1n) * 1000).toISOString()}`);
  });
  await narrator.step("The buyer reclaims the funds", async (note) => {
    const path = `/api/v1/transactions/${transactionId}/claimAbandoned`;
    const { data } = await buyer.call<{ data: PreparedCall & { claimable: boolean } }>("GET", path);
    note(`GET ${path} → claimable ${data.claimable}`);
    const sent = await buyer.wallet.send(data);
    note(`claimAbandoned → ${sent.hash} (${sent.gasUsed} gas), ${terms.refundableAmount} units came back`);
    await untilStatus(buyer, transactionId, "abandoned");
    note("the API shows abandoned");
  });
}

async function untilStatus(agent: DemoAgent, transactionId: string, status: string): Promise<void> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    const { data } = await agent.call<{ data: { status: string } }>("GET", `/api/v1/transactions/${transactionId}`);
    if (data.status === status) return;
    if (Date.now() > deadline) throw new Error(`transaction ${transactionId} is ${data.status}, not ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
