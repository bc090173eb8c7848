import { formatUnits, getAddress } from "viem";
import type { z } from "zod";

import type { ChainClient } from "../../chain/chain-client.ts";
import { MAINNET, TESTNET, USD_DECIMALS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import type { IndexedEscrow } from "../../indexer/schemas.ts";
import { isoTime } from "../../lib/clock.ts";
import { isAhead, nextMoves, wordsOf } from "../transactions/moves.ts";
import { isoOrNull } from "../transactions/presenter.ts";
import { STATUS_OF } from "../transactions/snapshot.ts";
import type { dealAnswer } from "./schemas.ts";

/** Dependencies of the public deals. */
export interface PublicDealsDeps {
  chains: Readonly<Record<Network, Pick<ChainClient, "chainId" | "deployment">>>;
  indexers: Readonly<Record<Network, Pick<Indexer, "escrows">>>;
  /** A network's time in unix seconds. */
  chainNow: (network: Network) => Promise<number>;
}

/** An escrow in a network's subgraph. */
interface Found {
  network: Network;
  escrow: IndexedEscrow;
  indexedBlock: number;
}

/**
 * Reads a deal as the chain has it, and nothing of this service's records.
 * @param network undefined for the one that has it; the mainnet's if both have an escrow of this id
 * @throws ApiError `not_found`; IndexerUnavailableError
 */
export async function readPublicDeal(
  escrowId: `0x${string}`,
  network: Network | undefined,
  deps: PublicDealsDeps,
): Promise<z.input<typeof dealAnswer>> {
  const found = await findEscrow(escrowId, network === undefined ? [MAINNET, TESTNET] : [network], deps);
  if (found === undefined) throw new ApiError("not_found", { details: { escrowId } });
  const chainNow = await deps.chainNow(found.network);
  return { success: true, data: presentDeal(found, deps.chains[found.network], chainNow) };
}

async function findEscrow(
  escrowId: string,
  networks: readonly Network[],
  { indexers }: PublicDealsDeps,
): Promise<Found | undefined> {
  const reads = await Promise.allSettled(
    networks.map(async (network): Promise<Found | undefined> => {
      const { block, escrows } = await indexers[network].escrows([escrowId]);
      const escrow = escrows.get(escrowId);
      return escrow && { network, escrow, indexedBlock: block.number };
    }),
  );
  for (const read of reads) if (read.status === "fulfilled" && read.value !== undefined) return read.value;
  // A network that can't be read may have it.
  for (const read of reads) if (read.status === "rejected") throw read.reason;
  return undefined;
}

function presentDeal(
  { network, escrow, indexedBlock }: Found,
  { chainId, deployment }: PublicDealsDeps["chains"][Network],
  chainNow: number,
): z.input<typeof dealAnswer>["data"] {
  const status = STATUS_OF[escrow.state];
  const { deadline, disputeWindow, abandonmentGrace, settledAt, token } = escrow;
  const paid = (amount: bigint) => (settledAt === null ? null : amount.toString());
  return {
    escrowId: escrow.id,
    network,
    chainId,
    escrowContract: deployment.escrow,
    status,
    buyerAddress: getAddress(escrow.buyer),
    sellerAddress: getAddress(escrow.seller),
    token: { symbol: token.symbol, address: getAddress(token.id), decimals: token.decimals },
    amount: escrow.amount.toString(),
    platformFee: escrow.fee.toString(),
    lockedAmount: escrow.locked.toString(),
    valueUsd: formatUnits(escrow.valueUsd, USD_DECIMALS),
    buyerAmount: paid(escrow.buyerAmount),
    sellerAmount: paid(escrow.sellerAmount),
    criteriaHash: escrow.criteriaHash,
    proofHash: escrow.proofHash,
    disputeWindow,
    abandonmentGrace,
    createdAt: isoTime(escrow.createdAt),
    deadlineAt: isoTime(deadline),
    deliveredAt: isoOrNull(escrow.deliveredAt),
    disputedAt: isoOrNull(escrow.disputedAt),
    settledAt: isoOrNull(settledAt),
    automatic: escrow.automatic,
    outcome: escrow.outcome,
    buyerPercent: escrow.buyerPercent,
    resolvedBy: escrow.resolvedBy,
    resolutionMethod: escrow.resolutionMethod,
    rationaleHash: escrow.rationaleHash,
    moves: escrow.events.map(({ type, timestamp, txHash, blockNumber }) => ({
      event: type,
      at: isoTime(timestamp),
      txHash,
      blockNumber,
    })),
    next: nextMoves({ status, deadline, disputeWindow, abandonmentGrace, escrow })
      .filter((next) => isAhead(next, chainNow))
      .map((next) => ({
        move: next.move,
        by: next.by,
        text: wordsOf(next),
        opensAt: next.opensAt !== null && next.opensAt > chainNow ? isoTime(next.opensAt) : null,
        availableUntil: isoOrNull(next.availableUntil),
      })),
    chainTime: isoTime(chainNow),
    indexedBlock,
  };
}
