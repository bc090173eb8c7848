import { randomBytes } from "node:crypto";

import { keccak256, stringToHex } from "viem";
import type { Address, Hex } from "viem";

import { canonicalJson, deliveryProofOf, EscrowContract } from "../../sdk/src/index.ts";
import type { Wallet } from "../../sdk/src/index.ts";
import { chainNow } from "../demo/chain.ts";
import type { NetworkFacts } from "../demo/stack-facts.ts";
import { untilIndexed } from "./subgraph.ts";

/** Two wallets that deal with each other, and one that has nothing to do with it. */
export interface Parties {
  network: NetworkFacts;
  usdc: Address;
  buyer: Wallet;
  seller: Wallet;
  stranger: Wallet;
}

/** 1 USDC in token units. */
export const PRICE = 1_000_000n;
const DELIVERY_SECONDS = 3_600n;
/** The shortest that the contract allows. */
const DISPUTE_WINDOW_SECONDS = 300n;
const ABANDONMENT_GRACE_SECONDS = 3_600n;

/** The agreed criteria. The parties exchange it in any way they like: the chain has only its hash. */
const AGREED = {
  title: "Summary",
  description: "A summary of three words",
  requestPayload: { topic: "bridges" },
} as const;
const DELIVERED = { summary: "Bridges carry loads" } as const;

/** An escrow that the buyer has created without a checkout, and that both parties have found in the subgraph. */
export class BareDeal {
  readonly escrowId: Hex;
  /** Unix seconds until which the seller may deliver. */
  readonly deadline: bigint;
  readonly parties: Parties;

  private constructor(parties: Parties, escrowId: Hex, deadline: bigint) {
    this.parties = parties;
    this.escrowId = escrowId;
    this.deadline = deadline;
  }

  /** The buyer deposits 1 USDC, and the seller checks in the subgraph that these are the agreed terms. */
  static async fund(parties: Parties): Promise<BareDeal> {
    const { network, usdc, buyer, seller } = parties;
    const escrowId: Hex = `0x${randomBytes(32).toString("hex")}`;
    const deadline = (await chainNow(network)) + DELIVERY_SECONDS;
    const criteriaHash = keccak256(stringToHex(canonicalJson(AGREED)));
    const deal = new BareDeal(parties, escrowId, deadline);
    const contract = deal.contractOf(buyer);
    await contract.approve(usdc, PRICE);
    await contract.createEscrow({
      escrowId,
      seller: seller.account.address,
      amount: PRICE,
      token: usdc,
      deadline,
      criteriaHash,
      disputeWindow: DISPUTE_WINDOW_SECONDS,
      abandonmentGrace: ABANDONMENT_GRACE_SECONDS,
    });
    const { escrow } = await deal.untilIndexed("Funded");
    expectAgreed("criteriaHash", escrow.criteriaHash, criteriaHash);
    expectAgreed("seller", escrow.seller.id, seller.account.address.toLowerCase());
    expectAgreed("token", escrow.token.id, usdc.toLowerCase());
    return deal;
  }

  /** The seller commits to the payload and hands it over; the buyer compares it with the hash in the subgraph. */
  async deliver(): Promise<void> {
    const { seller } = this.parties;
    await this.contractOf(seller).submitDelivery(this.escrowId, deliveryProofOf(DELIVERED));
    const { escrow } = await this.untilIndexed("Delivered");
    expectAgreed("proofHash", escrow.proofHash, deliveryProofOf(DELIVERED));
  }

  /** The escrow contract as a wallet uses it. */
  contractOf(wallet: Wallet): EscrowContract {
    return new EscrowContract(wallet, this.parties.network.escrow);
  }

  /** The end of the dispute window of the delivery, in unix seconds. */
  async windowEnd(): Promise<bigint> {
    const { deliveredAt, disputeWindow } = await this.contractOf(this.parties.stranger).get(this.escrowId);
    return deliveredAt + disputeWindow;
  }

  /** The end of the seller's grace, in unix seconds. */
  get graceEnd(): bigint {
    return this.deadline + ABANDONMENT_GRACE_SECONDS;
  }

  /** Waits until the subgraph shows the escrow in a state. */
  untilIndexed(state: string) {
    const { network, buyer, seller } = this.parties;
    const ids = { escrow: this.escrowId, buyer: buyer.account.address, seller: seller.account.address };
    return untilIndexed(network.subgraphUrl, ids, state);
  }
}

function expectAgreed(name: string, found: string | null, agreed: string): void {
  if (found !== agreed) throw new Error(`the subgraph has ${name} ${found ?? "null"}, not ${agreed}`);
}
