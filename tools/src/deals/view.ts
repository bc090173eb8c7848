import type { Transaction, TransactionStatus, TransactionWithActions } from "../../../sdk/src/index.ts";
import { money, price } from "../money.ts";
import { untrusted } from "../untrusted.ts";

/** The caller's side of a deal. */
export type Role = "buyer" | "seller";

/** Something that the caller may do next. */
export type NextStep = {
  tool: string;
  /** Last moment, ISO 8601; null if it stays open. */
  until: string | null;
};

/** The tools that make the moves which the service names. */
const TOOL_OF: Readonly<Record<string, string>> = {
  createEscrow: "hire",
  checkout: "hire",
  deliver: "deliver",
  submitDelivery: "deliver",
  accept: "accept",
  openDispute: "dispute",
  refund: "decline",
  claimAbandoned: "reclaim",
  finalize: "reclaim",
  resolveExpired: "reclaim",
};

/** The caller's side. */
export function roleOf(deal: Pick<Transaction, "buyerAgentId">, agentId: string): Role {
  return deal.buyerAgentId === agentId ? "buyer" : "seller";
}

/** A deal in a list. Titles are wrapped, because sellers write them. */
export function presentDeal(deal: Transaction, agentId: string) {
  const role = roleOf(deal, agentId);
  const { transactionId: dealId, status, amount, platformFee, lockedAmount, currency, deadlineAt } = deal;
  const seller = deal.sellerAgentId ?? deal.sellerAddress;
  return {
    dealId,
    role,
    state: status,
    serviceId: deal.serviceId,
    title: untrusted(deal.serviceTitle ?? "", { from: seller, reference: `deal://${dealId}#serviceTitle` }),
    with: role === "buyer" ? seller : (deal.buyerAgentId ?? deal.buyerAddress),
    network: deal.network,
    price: price({ amount, fee: platformFee, symbol: currency }),
    sellerGets: money(lockedAmount, currency),
    deliverBy: deadlineAt,
  };
}

/** What the caller may do now. One tool may make several of the moves, so each is named once. */
export function nextSteps({ actions }: TransactionWithActions): NextStep[] {
  const steps = actions.flatMap(({ action, availableUntil }) => {
    const tool = TOOL_OF[action];
    return tool === undefined ? [] : [{ tool, until: availableUntil }];
  });
  return steps.filter(({ tool }, index) => steps.findIndex((step) => step.tool === tool) === index);
}

const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString();

/** What happens if the caller does nothing. */
export function otherwise(deal: Transaction, role: Role): string {
  const { status, deadline, abandonmentGrace, deliveredAt, disputeWindow, currency, lockedAmount } = deal;
  const held = money(lockedAmount, currency).text;
  switch (status satisfies TransactionStatus) {
    case "pending_funding":
      return `Without a payment the quote ends at ${deal.quoteExpiresAt ?? "its time"}, and nobody pays anything.`;
    case "funded": {
      const reclaimFrom = isoOf(deadline + abandonmentGrace);
      return role === "buyer"
        ? `If nothing is delivered, reclaim gives you back ${held} from ${reclaimFrom}. The fee stays.`
        : `If you don't deliver by ${isoOf(deadline)}, the buyer can take the money back from ${reclaimFrom}.`;
    }
    case "delivered": {
      const end = deliveredAt === null ? undefined : isoOf(Date.parse(deliveredAt) / 1_000 + disputeWindow);
      const when = end === undefined ? "After the dispute window" : `From ${end}`;
      return `${when}, without an accept or a dispute, anyone can have ${held} paid to the seller.`;
    }
    case "disputed":
      return "The dispute is ruled by the criteria. If nobody rules it for 30 days, each party gets half.";
    case "expired":
      return "The quote has ended. Nothing more happens.";
    default:
      return "The deal has ended. Nothing more happens.";
  }
}
