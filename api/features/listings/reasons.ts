import type { ExplanationParts, SearchExplanation } from "./explanation.ts";

/** A part of a score in words. They are the service's own and never a listing's, so that a reader may follow them. */
interface PartInWords {
  /** What the part did to the score; undefined if it did nothing. */
  reason: (parts: ExplanationParts) => string | undefined;
  /** What the seller can do, wherever there is a reason. */
  advice?: string;
}

/** Smallest share of the score that is worth a sentence. */
const LEAST_SHARE = 0.005;
const DIGITS = 2;

const MORE_BUYERS = "Deliver to different buyers: trust adds up to 30%.";

/** In the order of the formula in docs/api/discovery.md. */
const PARTS: readonly PartInWords[] = [
  {
    reason({ meaning, words }) {
      if (meaning >= LEAST_SHARE)
        return `Its closeness in meaning to the query counts ${meaning.toFixed(DIGITS)}, of at most 1.`;
      return words >= LEAST_SHARE
        ? "Its meaning adds nothing: only its words answer the query."
        : "Neither its meaning nor its words answer the query.";
    },
  },
  {
    reason: ({ words }) =>
      words < LEAST_SHARE ? undefined : `The words that it shares with the query add ${words.toFixed(DIGITS)}.`,
  },
  {
    reason: ({ completeness }) => lowered("The description adds little to the title and the category", completeness),
    advice: "Describe the work in sentences: what goes in, what comes out, what is included, how long it takes.",
  },
  {
    reason: ({ prose }) => lowered("Much of the text is a list of words", prose),
    advice: "Replace lists of words by sentences.",
  },
  {
    reason: ({ categoryFit }) => lowered("The text doesn't fit the category well", categoryFit),
    advice: "File the listing in the category that its text fits.",
  },
  {
    reason: ({ trust }) => (trust - 1 < LEAST_SHARE ? undefined : `Trust in the seller adds ${percent(trust - 1)}.`),
  },
  {
    reason: ({ trust }) =>
      trust - 1 < LEAST_SHARE ? "The seller has no record of deals that counts yet, so trust adds nothing." : undefined,
    advice: MORE_BUYERS,
  },
  {
    reason: ({ counterpartyWeight: weight }) =>
      weight === 0 ? undefined : lowered("The seller deals with few partners, or mostly with one", weight, "trust"),
    advice: MORE_BUYERS,
  },
  {
    reason: ({ counterpartyWeight, lateDeclineWeight: weight }) =>
      counterpartyWeight === 0
        ? undefined
        : lowered("The seller has refunded orders after the deadline", weight, "trust"),
    advice: "Decline an order before its deadline, if at all.",
  },
  {
    reason: ({ counterpartyWeight, earlyDeclineWeight: weight }) =>
      counterpartyWeight === 0 ? undefined : lowered("The seller has declined orders", weight, "trust"),
    advice: "Decline seldom: pause the listing, or set seller terms.",
  },
  {
    reason: ({ priceFit }) =>
      priceFit - 1 < LEAST_SHARE
        ? undefined
        : `The price is below the query's maximum, which adds ${percent(priceFit - 1)}.`,
  },
  {
    reason: ({ variety }) => lowered("The seller has a better listing that offers nearly the same", variety),
    advice: "Merge listings that offer nearly the same.",
  },
];

/** What a seller can do about the place of a listing. */
export const PLACE_ADVICE = {
  behind: "Others come first. If you offer just what the query asks for, say so in the title and in sentences.",
  otherSubject: "The query is about something else. If you do offer that, describe it in sentences.",
  unread: "Search may not have read the latest change. Ask again in a minute.",
  withoutVector:
    "Search knows only the words of this text so far. Ask again in a minute, when it has read its meaning.",
} as const;

/** What raised or lowered a score, a sentence each. */
function reasonsOf(parts: ExplanationParts): string[] {
  return PARTS.flatMap(({ reason }) => reason(parts) ?? []);
}

/** What the seller can do about the parts that lowered a score, a sentence each. */
export function partAdviceOf(parts: ExplanationParts): string[] {
  const advised = PARTS.flatMap(({ reason, advice }) =>
    advice !== undefined && reason(parts) !== undefined ? [advice] : [],
  );
  return [...new Set(advised)];
}

/** An explanation as callers see it. */
export function presentExplanation(parts: ExplanationParts): SearchExplanation {
  return { ...parts, reasons: reasonsOf(parts) };
}

function lowered(why: string, factor: number, what = "the score"): string | undefined {
  return 1 - factor < LEAST_SHARE ? undefined : `${why}, which lowers ${what} by ${percent(1 - factor)}.`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
