import { encodeFunctionData } from "viem";
import type { Hex } from "viem";

import { AGREEMENT_TYPES, resolverAbi, sendCall } from "../../sdk/src/index.ts";
import type { Wallet } from "../../sdk/src/index.ts";
import { chainNow, moveClockTo } from "../demo/chain.ts";
import type { BareDeal } from "./deal.ts";

/** A way in which a deal ends. */
export interface Ending {
  name: string;
  /** Who does what. */
  title: string;
  /** The state that it ends in. */
  state: "Released" | "Refunded" | "Abandoned" | "Resolved";
  /** The buyer's share of what was locked, in percent. */
  buyerPercent: number;
  settle: (deal: BareDeal) => Promise<void>;
}

/** After this, a dispute without a ruling may be divided in half. */
const RULING_SECONDS = 30n * 86_400n;
const AGREED_PERCENT = 40;
const AGREEMENT_SECONDS = 3_600n;

async function openDispute(deal: BareDeal): Promise<void> {
  await deal.deliver();
  await deal.contractOf(deal.parties.buyer).move("openDispute", deal.escrowId);
  await deal.untilIndexed("Disputed");
}

async function signAgreement({ escrowId, parties }: BareDeal, wallet: Wallet, deadline: bigint): Promise<Hex> {
  const { account, chain } = wallet;
  const verifyingContract = parties.network.resolver;
  return wallet.signTypedData({
    account,
    domain: { name: "AgentMarketplaceResolver", version: "2", chainId: chain.id, verifyingContract },
    types: AGREEMENT_TYPES,
    primaryType: "ResolutionAgreement",
    message: { escrowId, buyerPercent: BigInt(AGREED_PERCENT), deadline },
  });
}

/** Every ending that needs no role of the service. */
export const ENDINGS: readonly Ending[] = [
  {
    name: "accepted",
    state: "Released",
    buyerPercent: 0,
    title: "the buyer accepts the delivery",
    async settle(deal) {
      await deal.deliver();
      await deal.contractOf(deal.parties.buyer).move("accept", deal.escrowId);
    },
  },
  {
    name: "finalized",
    state: "Released",
    buyerPercent: 0,
    title: "the buyer is silent, and a stranger finalizes after the dispute window",
    async settle(deal) {
      await deal.deliver();
      await moveClockTo(deal.parties.network, (await deal.windowEnd()) + 1n);
      await deal.contractOf(deal.parties.stranger).move("finalize", deal.escrowId);
    },
  },
  {
    name: "refunded",
    state: "Refunded",
    buyerPercent: 100,
    title: "the seller declines",
    async settle(deal) {
      await deal.contractOf(deal.parties.seller).move("refund", deal.escrowId);
    },
  },
  {
    name: "abandoned",
    state: "Abandoned",
    buyerPercent: 100,
    title: "the seller never delivers, and the buyer reclaims after deadline and grace",
    async settle(deal) {
      await moveClockTo(deal.parties.network, deal.graceEnd + 1n);
      await deal.contractOf(deal.parties.buyer).move("claimAbandoned", deal.escrowId);
    },
  },
  {
    name: "agreed",
    state: "Resolved",
    buyerPercent: AGREED_PERCENT,
    title: "the buyer disputes, both sign a division, and a stranger submits it",
    async settle(deal) {
      await openDispute(deal);
      const { network, buyer, seller, stranger } = deal.parties;
      const deadline = (await chainNow(network)) + AGREEMENT_SECONDS;
      const signatures = [
        await signAgreement(deal, buyer, deadline),
        await signAgreement(deal, seller, deadline),
      ] as const;
      const data = encodeFunctionData({
        abi: resolverAbi,
        functionName: "resolveByAgreement",
        args: [deal.escrowId, BigInt(AGREED_PERCENT), deadline, signatures],
      });
      await sendCall(stranger, { to: network.resolver, data });
    },
  },
  {
    name: "expired",
    state: "Resolved",
    buyerPercent: 50,
    title: "the buyer disputes, nobody rules for 30 days, and a stranger divides it in half",
    async settle(deal) {
      await openDispute(deal);
      const { network, stranger } = deal.parties;
      await moveClockTo(network, (await chainNow(network)) + RULING_SECONDS + 1n);
      await deal.contractOf(stranger).move("resolveExpired", deal.escrowId);
    },
  },
];
