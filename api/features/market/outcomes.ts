import type { Listing } from "../listings/listing.ts";
import type { TransactionModel } from "../transactions/model.ts";

/** Ended deals from which on a listing's outcomes are counted: fewer would tell of single deals. */
export const LEAST_OUTCOMES = 5;
/** So far the deals of each outcome are counted, so that a page of a busy listing costs no more than another. */
export const MOST_COUNTED = 10_000;

const OUTCOMES = ["released", "resolved", "refunded", "abandoned"] as const;
type Outcome = (typeof OUTCOMES)[number];

/** How a listing's deals ended. */
export type Outcomes = Readonly<Record<Outcome, number>>;

/** Counts how the deals of a listing ended, from an index alone; null while they are too few. */
export async function countOutcomes(
  transactions: TransactionModel,
  { id, sellerAgentId, network }: Pick<Listing, "id" | "sellerAgentId" | "network">,
): Promise<Outcomes | null> {
  const counts = await Promise.all(
    OUTCOMES.map((status) =>
      transactions.countDocuments({ sellerAgentId, serviceId: id, network, status }, { limit: MOST_COUNTED }),
    ),
  );
  const [released = 0, resolved = 0, refunded = 0, abandoned = 0] = counts;
  if (released + resolved + refunded + abandoned < LEAST_OUTCOMES) return null;
  return { released, resolved, refunded, abandoned };
}
