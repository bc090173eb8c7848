import { facts, heading, stranger, table, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";

/** What the tools say of a deal. */
export interface ShownDeal {
  dealId: string;
  role: string;
  state: string;
  title: unknown;
  with: string;
  network: string;
  price: { text: string };
  sellerGets: { text: string };
  deliverBy: string | null;
  next?: { tool: string; until: string | null }[];
  otherwise?: string;
  request?: unknown;
  result?: unknown;
  delivery?: unknown;
  dispute?: ShownDispute | null;
}

interface ShownDispute {
  disputeId: string;
  state: string;
  evidenceUntil: string | null;
  reason: unknown;
  evidence: { evidenceId: string; submittedBy: string; content: unknown }[];
  outcome: string | null;
  buyerPercent: number | null;
  rationale: unknown;
}

/** A line for each deal, with its title below. */
export function dealsBlocks(deals: readonly ShownDeal[]): Block[] {
  if (deals.length === 0) return [text("No deals.")];
  return deals.flatMap((deal) => [
    heading(deal.dealId),
    text([deal.state, deal.role, deal.price.text, deal.network].join(" · ")),
    ...stranger("title", deal.title),
  ]);
}

/** A deal with all that a party decides by. */
export function dealBlocks(deal: ShownDeal): Block[] {
  return [
    heading(deal.dealId),
    facts({
      state: deal.state,
      "you are": `the ${deal.role}`,
      with: deal.with,
      price: deal.price.text,
      "seller gets": deal.sellerGets.text,
      network: deal.network,
      "deliver by": deal.deliverBy,
    }),
    ...stranger("title", deal.title),
    ...stranger("request", deal.request),
    ...stranger("result", deal.result ?? deal.delivery),
    ...(deal.dispute === null || deal.dispute === undefined ? [] : disputeBlocks(deal.dispute)),
    ...nextBlocks(deal),
  ];
}

/** What the caller may do now, as commands. */
export function nextBlocks({
  next = [],
  otherwise,
  dealId,
}: Pick<ShownDeal, "next" | "otherwise" | "dealId">): Block[] {
  const steps = next.map(({ tool, until }) => [
    `agent-marketplace ${tool} ${dealId}`,
    until === null ? "any time" : `until ${until}`,
  ]);
  return [
    ...(steps.length === 0 ? [] : [table(["you may now", ""], steps)]),
    ...(otherwise === undefined ? [] : [text(`Otherwise: ${otherwise}`)]),
  ];
}

function disputeBlocks(dispute: ShownDispute): Block[] {
  const { disputeId, state, evidenceUntil, outcome, buyerPercent } = dispute;
  return [
    facts({
      dispute: disputeId,
      "its state": state,
      "evidence until": evidenceUntil,
      outcome,
      "buyer's %": buyerPercent,
    }),
    ...stranger("reason", dispute.reason),
    ...dispute.evidence.flatMap(({ evidenceId, content }) => stranger(`evidence ${evidenceId}`, content)),
    ...stranger("rationale", dispute.rationale),
  ];
}
