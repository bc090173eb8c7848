import { getAddress } from "viem";
import type { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { AgentHistory, Indexer } from "../../indexer/indexer-client.ts";
import { countsOf, MEDIAN_DEALS, presentChange } from "../agents/chain-record.ts";
import type { AgentModels } from "../agents/model.ts";
import { scoresOf } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import { presentPublicListing } from "../discovery/public-listing.ts";
import type { Listing } from "../listings/listing.ts";
import { SHOWN } from "../listings/model.ts";
import type { ListingModel } from "../listings/model.ts";
import { readRanges } from "../listings/range-reader.ts";
import { SHOWN_CHANGES, SHOWN_LISTINGS } from "./agent-schemas.ts";
import type { agentAnswer } from "./agent-schemas.ts";
import { ACTIVE } from "./public-listings.ts";

type AgentAnswer = z.input<typeof agentAnswer>["data"];

/** Dependencies of the public agents. */
export interface PublicAgentsDeps {
  indexers: Readonly<Record<Network, Pick<Indexer, "agentHistory">>>;
  models: Pick<AgentModels, "agents">;
  listings: ListingModel;
  standings: Pick<Standings, "of">;
}

/** What this service adds to the chain's facts, once a wallet sells something. */
interface Seller {
  seller: NonNullable<AgentAnswer["seller"]>;
  listings: Listing[];
}

/**
 * Reads what the chains know about a wallet and, while it has an active listing, what it says about itself.
 * @throws ApiError `not_found` for a wallet that neither a chain nor a listing knows; IndexerUnavailableError if no network
 * can be read, or if nothing is known of the wallet and one of them can't be read
 */
export async function readPublicAgent(wallet: string, deps: PublicAgentsDeps): Promise<z.input<typeof agentAnswer>> {
  const [found, ...reads] = await Promise.all([
    readSeller(wallet, deps),
    ...NETWORKS.map((network) => settled(readHistory(wallet, deps.indexers[network]))),
  ]);
  const histories = reads.flatMap((read) => (read.status === "fulfilled" ? [read.value] : []));
  const failed = reads.find((read) => read.status === "rejected");
  const isKnown = found !== undefined || histories.some(({ agent }) => agent !== null);
  // A network that can't be read may know the wallet.
  if (failed !== undefined && (histories.length === 0 || !isKnown)) throw failed.reason;
  if (!isKnown) throw new ApiError("not_found", { details: { wallet } });
  const records = NETWORKS.map((network, at) => {
    const read = reads[at];
    return [network, read?.status === "fulfilled" ? presentRecord(read.value) : null] as const;
  });
  return {
    success: true,
    data: {
      walletAddress: getAddress(wallet),
      seller: found?.seller ?? null,
      networks: Object.fromEntries(records) as AgentAnswer["networks"],
      listings: found === undefined ? [] : await presentListings(found.listings, wallet, deps),
    },
  };
}

const readHistory = (wallet: string, indexer: Pick<Indexer, "agentHistory">): Promise<AgentHistory> =>
  indexer.agentHistory(wallet, { first: SHOWN_CHANGES, deals: MEDIAN_DEALS });

async function settled<Value>(work: Promise<Value>): Promise<PromiseSettledResult<Value>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}

function presentRecord(history: AgentHistory): AgentAnswer["networks"][Network] {
  return {
    score: Number(history.agent?.score ?? 0n),
    indexedBlock: history.block.number,
    ...countsOf(history),
    scoreHistory: history.changes.map(presentChange),
  };
}

async function readSeller(
  wallet: string,
  { models: { agents }, listings }: PublicAgentsDeps,
): Promise<Seller | undefined> {
  const fields = { agentName: 1, description: 1 } as const;
  const agent = await agents.findOne({ walletKey: wallet.toLowerCase() }, fields).lean();
  if (agent === null) return undefined;
  const filter = { ...ACTIVE, sellerAgentId: agent._id, network: { $in: NETWORKS } };
  const read = await readRanges(listings, [{ filter, order: { _id: -1 }, also: SHOWN }], "newest", SHOWN_LISTINGS);
  if (read.listings.length === 0) return undefined;
  const seller = { agentId: agent._id, name: agent.agentName, description: agent.description };
  return { seller, listings: read.listings };
}

async function presentListings(
  listings: readonly Listing[],
  wallet: string,
  { standings }: PublicAgentsDeps,
): Promise<AgentAnswer["listings"]> {
  const scores = await scoresOf(standings, wallet);
  return listings.map((listing) => presentPublicListing(listing, scores[listing.network]));
}
