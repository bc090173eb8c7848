// Sellers with a score, some of them trusted as much as a seller can be.
import type { Connection } from "mongoose";

import { FULL_DISCOVERY_SCORE, FULL_WEIGHT_COUNTERPARTIES } from "../../../api/config/constants.ts";
import type { AgentRecord, StandingRecord } from "../../../api/features/agents/model.ts";
import type { ListingRecord } from "../../../api/features/listings/model.ts";

type Seller = Pick<ListingRecord, "sellerAgentId" | "sellerAddress" | "network">;

const SELLER_ID = /^agt_(\d+)$/;
const numberOf = (sellerAgentId: string) => Number(SELLER_ID.exec(sellerAgentId)?.[1]);

/** The wallet of a generated seller. */
export function walletOf(sellerAgentId: string): `0x${string}` {
  return `0x${numberOf(sellerAgentId).toString(16).padStart(40, "0")}`;
}

/** Whether a generated seller gets a score, if one in so many does. */
export function isTrusted(sellerAgentId: string, oneIn: number): boolean {
  return numberOf(sellerAgentId) % oneIn === 0;
}

/** Registers sellers, with scores from 1 to 100 of deals with many others, so that the ranking trusts them by that. */
export async function trustSellers(connection: Connection, sellers: readonly Seller[]): Promise<void> {
  const now = new Date();
  const keyOf = ({ sellerAddress }: Seller) => sellerAddress.toLowerCase();
  await connection
    .collection<Pick<AgentRecord, "_id" | "walletKey">>("agents")
    .insertMany(sellers.map((seller) => ({ _id: seller.sellerAgentId, walletKey: keyOf(seller) })));
  await connection.collection<StandingRecord>("standings").insertMany(
    sellers.map((seller, index): StandingRecord => {
      const score = 1 + (index % FULL_DISCOVERY_SCORE);
      return {
        _id: `${seller.network}:${keyOf(seller)}`,
        network: seller.network,
        walletKey: keyOf(seller),
        score,
        distinctCounterparties: FULL_WEIGHT_COUNTERPARTIES,
        topCounterpartyCount: 1,
        settledCount: score,
        released: score,
        lateDeclines: 0,
        earlyDeclineShare: 0,
        trust: score / FULL_DISCOVERY_SCORE,
        indexedBlock: 1,
        syncedAt: now,
      };
    }),
  );
}
