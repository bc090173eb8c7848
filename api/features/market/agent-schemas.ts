import { z } from "zod";

import { addressOutput, addressSchema, dataOf } from "../../http/common-schemas.ts";
import { chainOutcomes, chainTrade, escrowCounts, scoreChangeOutput } from "../agents/chain-record.ts";
import { publicListing } from "../discovery/public-listing.ts";

/** Changes of a score in an answer, for each network. */
export const SHOWN_CHANGES = 100;
/** Listings in an answer. */
export const SHOWN_LISTINGS = 10;

export const agentParams = z.strictObject({ wallet: addressSchema });

const chainRecord = z
  .object({
    score: z.int(),
    indexedBlock: z.int().min(0).meta({ description: "Subgraph block at which it was read" }),
    escrows: escrowCounts,
    outcomes: z.object(chainOutcomes),
    ...chainTrade,
    scoreHistory: z.array(scoreChangeOutput).meta({ description: `The latest ${SHOWN_CHANGES}, newest first` }),
  })
  .meta({ id: "ChainRecord" });
const recordOrNull = chainRecord.nullable().meta({ description: "Null while the network's subgraph can't be read" });

export const agentAnswer = dataOf(
  z
    .object({
      walletAddress: addressOutput,
      seller: z
        .object({ agentId: z.string(), name: z.string(), description: z.string().nullable() })
        .nullable()
        .meta({ description: "Null without an active service" }),
      networks: z.object({ "base-sepolia": recordOrNull, base: recordOrNull }),
      listings: z.array(publicListing).meta({ description: `The newest ${SHOWN_LISTINGS} active services` }),
    })
    .meta({ id: "PublicAgent" }),
);
