import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { maxUint256 } from "viem";

import { DISPUTE_WINDOW_SECONDS, NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { deliveryProofOf, Marketplace } from "../../../sdk/src/index.ts";
import type { Agent, Deal } from "../../../sdk/src/index.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { listing } from "../../fixtures/full-stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

/** How a deal is to end. `finalize` is left to the keeper, `overdue` lacks its payload, `abandon` its delivery. */
const ENDINGS = ["accept", "finalize", "refund", "dispute", "abandon", "overdue", "unfunded"] as const;
export type Ending = (typeof ENDINGS)[number];

/** A deal as its parties see it, and how they want it to end. */
export interface RandomDeal {
  network: Network;
  ending: Ending;
  deal: Deal;
  seller: Agent;
}

/** A buyer and a seller who deal with each other on both networks. */
export interface Pair {
  buyer: Record<Network, Agent>;
  seller: Record<Network, Agent>;
  serviceId: Record<Network, string>;
  deals: RandomDeal[];
}

/** The states in which a deal waits for nobody but the clock. */
const RESTING: Readonly<Record<Ending, string>> = {
  accept: "Released",
  finalize: "Delivered",
  refund: "Refunded",
  dispute: "Disputed",
  abandon: "Funded",
  overdue: "Delivered",
  unfunded: "None",
};

const PAYLOAD = { summary: "Three risks were found." };
/** Limit of one transaction: a reorganisation or a kill may have lost it. */
const TRANSACTION_MS = 8_000;
/** Enough releases for deals on the mainnet (specification 3.4). */
const GRADUATED = 10;
const PURSE = 100_000n * ONE_USDC;

const byNetwork = async <T>(make: (network: Network) => Promise<T>): Promise<Record<Network, T>> => {
  const entries = await Promise.all(NETWORKS.map(async (network) => [network, await make(network)] as const));
  return Object.fromEntries(entries) as Record<Network, T>;
};

/** Registers a pair, with money and allowances that no reorganisation takes away from it. */
export async function newPair(url: string, chains: Readonly<Record<Network, TestChain>>): Promise<Pair> {
  const market = new Marketplace({ url });
  const party = async (usdc: bigint): Promise<Record<Network, Agent>> => {
    const account = privateKeyToAccount(generatePrivateKey());
    await Promise.all(NETWORKS.map((network) => chains[network].endow(account, { usdc })));
    if (usdc > 0n) await chains["base-sepolia"].raiseScore(account.address, GRADUATED);
    const wallet = chains["base-sepolia"].walletOf(account);
    const { apiKey } = await market.register({ agentName: "Random party", wallet });
    return byNetwork((network) => Promise.resolve(market.agent({ apiKey, wallet: chains[network].walletOf(account) })));
  };
  const buyer = await party(PURSE);
  const seller = await party(0n);
  const serviceId = await byNetwork(async (network) => {
    const { id } = await seller[network].listings.create(listing({ network }));
    const { terms, escrow } = await buyer[network].checkout({ serviceId: id, network });
    await escrow.approve(terms.token, maxUint256);
    return id;
  });
  return { buyer, seller, serviceId, deals: [] };
}

/** Checks out a deal with a random ending on a random network. */
export async function beginDeal(pair: Pair, random: () => number): Promise<RandomDeal> {
  const pick = <T>(all: readonly T[]): T => {
    const picked = all[Math.floor(random() * all.length)];
    assert.ok(picked !== undefined);
    return picked;
  };
  const network = pick(NETWORKS);
  const ending = pick(ENDINGS);
  const deal = await pair.buyer[network].checkout({
    serviceId: pair.serviceId[network],
    network,
    // A reorganisation may remove a dispute, and the parties may come back after minutes: the keeper must not end it by then.
    disputeWindow: ending === "dispute" ? DISPUTE_WINDOW_SECONDS.max : DISPUTE_WINDOW_SECONDS.min,
  });
  const begun = { network, ending, deal, seller: pair.seller[network] };
  pair.deals.push(begun);
  return begun;
}

/**
 * Makes the next move of a deal. What has been done is read from the chain each time, so a move that a reorganisation
 * has removed is made again.
 * @returns whether the deal is where its parties leave it
 */
export async function moveOn({ ending, deal, seller }: RandomDeal): Promise<boolean> {
  const { escrowId } = deal.terms;
  const { state } = await deal.escrow.get(escrowId);
  if (state === RESTING[ending]) return true;
  const options = { timeoutMs: TRANSACTION_MS };
  if (state === "None") await deal.escrow.createEscrow(deal.terms, options);
  else if (state === "Funded") {
    // A seller knows a deal once it is funded.
    const job = await seller.deal(deal.transactionId);
    if (ending === "refund") {
      await job.escrow.move("refund", escrowId, options);
      return false;
    }
    if (ending !== "overdue") await job.handOver(PAYLOAD);
    await job.escrow.submitDelivery(escrowId, deliveryProofOf(PAYLOAD), options);
  } else if (state === "Delivered" && ending === "accept") await deal.escrow.move("accept", escrowId, options);
  else if (state === "Delivered" && ending === "dispute") await deal.escrow.move("openDispute", escrowId, options);
  // Somebody else, such as the keeper, has ended it.
  else return true;
  return false;
}
