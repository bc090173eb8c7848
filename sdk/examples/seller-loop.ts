// A seller's loop: works off what is in its queue, and declines what nobody ordered if it is told to.
import type { Agent, Job } from "../src/index.ts";

/** How a seller answers its jobs. */
export interface SellerRules {
  /** Does the work. Nothing is delivered if it throws. */
  work: (job: Job) => Promise<Record<string, unknown>>;
  /** Whether to decline escrows that no checkout asked for. They wait in the queue otherwise. */
  declinesUnsolicited?: boolean;
}

/** Goes through the funded jobs once. Call it again after each `escrow.funded` event, or every minute. */
export async function workOff(seller: Agent, { work, declinesUnsolicited = false }: SellerRules): Promise<void> {
  for await (const job of seller.jobs({ status: "funded" })) {
    const deal = await seller.deal(job.transactionId);
    if (!job.unsolicited) {
      await deal.deliver(await work(job));
    } else if (declinesUnsolicited) {
      await deal.refund(); // The buyer gets the deposit back, without the fee.
    }
  }
}
