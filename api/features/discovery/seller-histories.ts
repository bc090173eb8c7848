import { NETWORKS } from "../../config/constants.ts";
import type { TradingHistory } from "../agents/score.ts";
import { NEW_STANDING } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import type { Listing } from "../listings/listing.ts";

type Offered = Pick<Listing, "network" | "sellerAddress">;

/** Reads the history of each listing's seller on the listing's own network. */
export async function readSellerHistories(
  standings: Pick<Standings, "of">,
  listings: readonly Offered[],
): Promise<(listing: Offered) => TradingHistory> {
  const found = await Promise.all(
    NETWORKS.map(async (network) => {
      const ofNetwork = listings.filter((listing) => listing.network === network);
      const wallets = [...new Set(ofNetwork.map(({ sellerAddress }) => sellerAddress))];
      return [network, await standings.of(network, wallets)] as const;
    }),
  );
  const byNetwork = new Map(found);
  return ({ network, sellerAddress }) => byNetwork.get(network)?.get(sellerAddress.toLowerCase()) ?? NEW_STANDING;
}
