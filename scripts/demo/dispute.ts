import { keccak256 } from "viem";

import type { Agent, Deal, Ruling } from "../../sdk/src/index.ts";
import { type DealParties, noting, signedWebhook } from "./deal.ts";
import type { Narrator } from "./narrator.ts";

/** The agreed criteria: a schema and a check that code evaluates. */
const CRITERIA = {
  schema: { type: "object", required: ["summary", "risks"], properties: { risks: { type: "array", minItems: 2 } } },
  checks: ["cel: words(result.summary) >= 4"],
};
const GOOD = { summary: "Two risks were found.", risks: ["thin liquidity", "single oracle"] };
const POOR = { summary: "Looks fine to me.", risks: [] };
const BUYER_PERCENT = 70;

/** How a dispute ended. */
interface Ending {
  transactionId: string;
  disputeId: string;
  outcome: string | null;
  method: string | null;
  rationaleHash: string | null;
}

/** A win for each side and an agreement: three deals that end in a dispute. */
export async function dispute(narrator: Narrator, parties: DealParties): Promise<Ending[]> {
  const serviceId = await narrator.step("The seller lists a service", async (note) => {
    const { id } = await parties.seller.listings.create({
      title: "Token risk report",
      description: "Reads a token's contracts, liquidity and holders and writes a report on what could go wrong.",
      category: "risk_assessment",
      price: 1,
      priceUnit: "per_document",
      endpointUrl: parties.sellerHook.url,
    });
    note(`POST /api/v1/services → ${id}`);
    return id;
  });
  const ruled = async (title: string, payload: Record<string, unknown>, reason: string) => {
    const deal = await disputedDeal(narrator, parties, { serviceId, title, payload });
    return ruling(narrator, deal, reason);
  };
  const endings = [
    await ruled("A report that breaks the criteria", POOR, "The report names no risks."),
    await ruled("A report that meets them", GOOD, "I don't like it."),
  ];
  const disputed = await disputedDeal(narrator, parties, { serviceId, title: "A commitment without a report" });
  return [...endings, await agreement(narrator, parties, disputed)];
}

/** A funded and delivered deal that the buyer disputes. */
async function disputedDeal(
  narrator: Narrator,
  { buyer, seller, buyerHook }: DealParties,
  { serviceId, title, payload }: { serviceId: string; title: string; payload?: Record<string, unknown> },
): Promise<Deal> {
  return narrator.step(`${title} is delivered and disputed`, async (note) => {
    const deal = await buyer.checkout({ serviceId, callbackUrl: buyerHook.url, criteria: CRITERIA });
    note(`${deal.transactionId}: criteria ${deal.terms.criteriaHash}`);
    await deal.fund(noting(note));
    const job = await seller.deal(deal.transactionId);
    if (payload === undefined) {
      const { transactionHash } = await job.escrow.submitDelivery(deal.terms.escrowId, keccak256("0x"));
      note(`the seller only commits to one → ${transactionHash}`);
    } else {
      const { facts, checks, result } = await job.check(payload);
      note(`the seller checks it first: ${[...facts, ...checks].map(({ result: one }) => one).join(", ")} → ${result}`);
      await job.deliver(payload, noting(note));
    }
    await deal.openDispute(noting(note));
    await signedWebhook(buyerHook, "dispute.created", deal.transactionId);
    note("both parties receive dispute.created");
    return deal;
  });
}

/** Both parties have their say, and the resolver rules. */
async function ruling(narrator: Narrator, deal: Deal, reason: string): Promise<Ending> {
  return narrator.step("The resolver rules", async (note) => {
    await deal.dispute.complain({ reason });
    note(`the buyer: ${reason}`);
    const resolved = await deal.dispute.waitForResolution();
    const { document, rationaleHash } = await deal.dispute.ruling();
    for (const line of toLines(document)) note(line);
    note(`${String(resolved.outcome)} by ${String(resolved.resolvedBy)}, ruling ${rationaleHash} on chain`);
    note(`npm run verify-ruling -- ${resolved.disputeId}`);
    return toEnding(deal, resolved);
  });
}

/**
 * The seller still has a minute for its payload, so no ruling comes before the parties agree: one offers a division, the
 * other signs the same, and anyone sends it.
 */
async function agreement(narrator: Narrator, { buyer, seller }: DealParties, deal: Deal): Promise<Ending> {
  return narrator.step("The parties agree before the ruling", async (note) => {
    const bySide = async (agent: Agent) => (await agent.deal(deal.transactionId)).dispute;
    await (await bySide(seller)).offerSettlement({ buyerPercent: BUYER_PERCENT });
    note(`the seller offers ${BUYER_PERCENT}% to the buyer`);
    const ofBuyer = await bySide(buyer);
    await ofBuyer.acceptSettlement(BUYER_PERCENT);
    await ofBuyer.agree({
      onReceipt: (_, { transactionHash }) => {
        note(`the buyer signs the same and sends both signatures → ${transactionHash}`);
      },
    });
    const resolved = await ofBuyer.waitForResolution();
    note(`${String(resolved.outcome)} ${BUYER_PERCENT}/${100 - BUYER_PERCENT} by ${String(resolved.resolutionMethod)}`);
    return toEnding(deal, resolved);
  });
}

type Resolved = Awaited<ReturnType<Deal["dispute"]["waitForResolution"]>>;

function toEnding({ transactionId }: Deal, resolved: Resolved): Ending {
  const { disputeId, outcome, resolutionMethod, rationaleHash } = resolved;
  return { transactionId, disputeId, outcome, method: resolutionMethod, rationaleHash };
}

/** Facts, votes and reasons of a ruling, a line each. */
function toLines(document: Ruling["document"]): string[] {
  const { facts, checks, model, reasons } = document as {
    facts: { name: string; result: string; detail: string }[];
    checks: { text: string; result: string }[];
    model: { votes: { order: string; answers: { answer: string }[] }[] } | null;
    reasons: string[];
  };
  return [
    ...facts.map(({ name, result, detail }) => `fact ${name}: ${result}, ${detail}`),
    ...checks.map(({ text, result }) => `check "${text}": ${result}`),
    ...(model === null
      ? ["no vote was needed"]
      : model.votes.map(({ order, answers }) => `vote ${order}: ${answers.map(({ answer }) => answer).join(", ")}`)),
    ...reasons,
  ];
}
