import { ContractRevertedError } from "../../sdk/src/index.ts";
import type { Deal } from "../../sdk/src/index.ts";
import { chainNow, moveClockTo } from "./chain.ts";
import { type DealParties, noting, signedWebhook } from "./deal.ts";
import type { Narrator } from "./narrator.ts";

/** The buyer stays silent: after the dispute window anyone can release the funds to the seller. */
export async function finalizeAfterWindow(narrator: Narrator, parties: DealParties, deal: Deal): Promise<void> {
  const { seller, sellerHook, network } = parties;
  const { transactionId, disputeWindow } = deal.terms;
  await narrator.step("The dispute window passes", async (note) => {
    await moveClockTo(network, (await chainNow(network)) + disputeWindow + 1n);
    note(`the chain's clock moves ${disputeWindow + 1n} s ahead`);
  });
  await narrator.step("Keeper or seller release the funds", async (note) => {
    const job = await seller.deal(transactionId);
    try {
      await job.finalize(noting(note));
    } catch (error) {
      if (!(error instanceof ContractRevertedError && error.errorName === "EscrowNotInState")) throw error;
      note("the keeper was faster than the seller");
    }
    const { status } = await job.waitForStatus(["released"]);
    await signedWebhook(sellerHook, "escrow.finalized", transactionId);
    note(`the API shows ${status}, and the seller received escrow.finalized`);
  });
}

/** The seller never delivers: after deadline and grace the buyer reclaims the deposit less the fee. */
export async function claimWhenAbandoned(narrator: Narrator, { network }: DealParties, deal: Deal): Promise<void> {
  const { deadline, abandonmentGrace, refundableAmount } = deal.terms;
  await narrator.step("Deadline and grace pass without a delivery", async (note) => {
    const graceEnd = deadline + abandonmentGrace;
    await moveClockTo(network, graceEnd + 1n);
    note(`the chain's clock moves to ${new Date(Number(graceEnd + 1n) * 1000).toISOString()}`);
  });
  await narrator.step("The buyer reclaims the funds", async (note) => {
    const { status } = await deal.claimAbandoned(noting(note));
    note(`${refundableAmount} units came back, and the API shows ${status}`);
  });
}
