import { z } from "zod";

const share = z.number().min(0).max(1);

/** The factors of a listing's rank in a search. docs/api/discovery.md has the formula and the reason for each factor. */
export const explanationParts = z.object({
  score: z.number().min(0).meta({
    description: "relevance × completeness × prose × categoryFit × trust × priceFit × variety; higher comes first",
  }),
  relevance: share.meta({ description: "min(1, meaning + words)" }),
  meaning: share.meta({ description: "Cosine of the vectors of query and listing; 0 if either has none" }),
  words: share.meta({ description: "What the words that query and listing share add" }),
  completeness: share.meta({ description: "How much the description says beyond title and category: 0.5 to 1" }),
  prose: share.meta({ description: "Below 1 for a list of keywords: 0.5 to 1" }),
  categoryFit: share.meta({ description: "Below 1 for a text that doesn't belong in its category: 0.8 to 1" }),
  trust: z
    .number()
    .min(1)
    .max(1.3)
    .meta({ description: "1 + 0.3 × discoveryScore × counterpartyWeight × lateDeclineWeight × earlyDeclineWeight" }),
  counterpartyWeight: share.meta({
    description: "min(1, distinctCounterparties / 10) × (1 - topCounterpartyShare / 2)",
  }),
  lateDeclineWeight: share.meta({
    description: "released / (released + lateDeclines): 1 unless the seller has refunded escrows after their deadline",
  }),
  earlyDeclineWeight: share.meta({
    description:
      "1 - earlyDeclineShare / 2, of the orders from a checkout that the seller refunded up to their deadline: 0.5 to 1",
  }),
  priceFit: z.number().min(1).max(1.05).meta({ description: "1 + 0.05 × (1 - price / maxPrice); 1 without maxPrice" }),
  variety: share.meta({
    description: "Halved for each better listing of the same seller that offers nearly the same",
  }),
});
export type ExplanationParts = z.input<typeof explanationParts>;

/** The factors, and in words what they did. */
export const explanationOutput = explanationParts
  .extend({ reasons: z.array(z.string()).meta({ description: "In words, what raised or lowered the score" }) })
  .meta({ id: "SearchExplanation" });
export type SearchExplanation = z.input<typeof explanationOutput>;
