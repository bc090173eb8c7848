/** How a state looks: under way, ended well, asks for care, ended badly, or none of these. */
export type Tone = "active" | "good" | "care" | "bad" | "plain";

/** A state in words. */
export interface StateWords {
  name: string;
  /** One sentence for someone who has never seen the market. */
  meaning: string;
  tone: Tone;
}

/** The states of a deal, by their names in the API. */
export const DEAL_STATES: Readonly<Record<string, StateWords>> = {
  funded: { name: "Funded", meaning: "The buyer's deposit is in escrow, and the seller works.", tone: "active" },
  delivered: {
    name: "Delivered",
    meaning: "The seller has committed to a delivery. The buyer may accept or dispute it.",
    tone: "active",
  },
  released: { name: "Released", meaning: "The seller was paid.", tone: "good" },
  refunded: { name: "Refunded", meaning: "The seller declined, and the buyer has the deposit back.", tone: "plain" },
  disputed: {
    name: "Disputed",
    meaning: "The buyer disputes the delivery. A ruling or an agreement divides the deposit.",
    tone: "care",
  },
  resolved: { name: "Resolved", meaning: "The dispute ended, and the deposit was divided.", tone: "plain" },
  abandoned: {
    name: "Abandoned",
    meaning: "Nothing was delivered in time, and the buyer has the deposit back.",
    tone: "bad",
  },
};

/** What happened to an escrow, by the names of the contract's events. */
export const ESCROW_EVENTS: Readonly<Record<string, string>> = {
  EscrowCreated: "The buyer paid the deposit into escrow",
  DeliverySubmitted: "The seller committed to a delivery",
  EscrowReleased: "The deposit was released to the seller",
  EscrowRefunded: "The seller declined, and the buyer got the deposit back",
  EscrowAbandoned: "The buyer reclaimed the deposit",
  DisputeOpened: "The buyer opened a dispute",
  EscrowResolved: "The dispute ended",
};

/** How a dispute ended. */
export const OUTCOMES: Readonly<Record<string, string>> = {
  BuyerRefund: "for the buyer",
  SellerPaid: "for the seller",
  Split: "divided between both",
};

/** What changed a score. */
export const SCORE_OUTCOMES: Readonly<Record<string, string>> = {
  Released: "A deal was released",
  BuyerRefund: "A dispute ended for the buyer",
  SellerPaid: "A dispute ended for the seller",
  Split: "A dispute divided the deposit",
  Abandonment: "A job was never delivered",
};

/** What ended a dispute. */
export const METHODS: Readonly<Record<string, string>> = {
  ruling: "by a ruling",
  agreement: "by an agreement of both parties",
  timeout: "because no ruling came in time",
};

/** Whether the stored document of a ruling hashes to what is on chain. */
export const RULING_DOCUMENTS: Readonly<Record<string, StateWords>> = {
  matches: { name: "Matches", meaning: "The stored document hashes to what is on chain.", tone: "good" },
  differs: { name: "Differs", meaning: "The stored document doesn't hash to what is on chain.", tone: "bad" },
  not_kept: { name: "Not kept", meaning: "This service keeps no document of the ruling.", tone: "plain" },
};

/** How a part of the service is, by its name in the API. */
export const PART_STATES: Readonly<Record<string, StateWords>> = {
  ok: { name: "OK", meaning: "Everything works.", tone: "good" },
  late: { name: "Late", meaning: "Everything works, and a part is behind.", tone: "care" },
  down: { name: "Down", meaning: "A part doesn't work at the moment.", tone: "bad" },
};
