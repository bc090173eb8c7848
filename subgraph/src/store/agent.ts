import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";

import { Agent, Counterparty, Escrow } from "../../generated/schema";
import { counterpartyId } from "../ids";
import { countNewAgent } from "./protocol";

/** Counts a new escrow for both parties. */
export function countCreated(buyer: Address, seller: Address, block: ethereum.Block): void {
  const buying = loadOrCreate(buyer, block);
  buying.escrowsAsBuyer += 1;
  buying.save();
  const selling = loadOrCreate(seller, block);
  selling.escrowsAsSeller += 1;
  selling.save();
}

/** Counts a released escrow for both parties, and how often these two settle with each other. */
export function countReleased(escrow: Escrow, block: ethereum.Block): void {
  const buyer = Address.fromBytes(escrow.buyer);
  const seller = Address.fromBytes(escrow.seller);
  const selling = loadOrCreate(seller, block);
  selling.released += 1;
  selling.settledVolumeUsd = selling.settledVolumeUsd.plus(escrow.valueUsd);
  countSettledWith(selling, buyer);
  selling.save();
  const buying = loadOrCreate(buyer, block);
  countSettledWith(buying, seller);
  buying.save();
}

/** Counts a job that the seller declined. */
export function countDeclined(escrow: Escrow, block: ethereum.Block): void {
  const seller = loadOrCreate(Address.fromBytes(escrow.seller), block);
  seller.declined += 1;
  if (block.timestamp.gt(escrow.deadline)) seller.lateDeclines += 1;
  seller.save();
}

/** Counts a job that the seller never delivered. */
export function countAbandoned(escrow: Escrow, block: ethereum.Block): void {
  const seller = loadOrCreate(Address.fromBytes(escrow.seller), block);
  seller.abandoned += 1;
  seller.save();
}

/** Counts a dispute for both parties by its outcome. */
export function countResolved(escrow: Escrow, outcome: string, block: ethereum.Block): void {
  countDispute(loadOrCreate(Address.fromBytes(escrow.buyer), block), outcome, "BuyerRefund");
  countDispute(loadOrCreate(Address.fromBytes(escrow.seller), block), outcome, "SellerPaid");
}

/** Takes over the score that the score contract has stored, and returns by how much it has changed. */
export function setScore(address: Address, score: BigInt, block: ethereum.Block): BigInt {
  const agent = loadOrCreate(address, block);
  const delta = score.minus(agent.score);
  agent.score = score;
  agent.save();
  return delta;
}

function countDispute(agent: Agent, outcome: string, winning: string): void {
  if (outcome == "Split") agent.disputesSplit += 1;
  else if (outcome == winning) agent.disputesWon += 1;
  else agent.disputesLost += 1;
  agent.save();
}

function countSettledWith(agent: Agent, other: Address): void {
  const id = counterpartyId(Address.fromBytes(agent.id), other);
  let pair = Counterparty.load(id);
  if (pair == null) {
    pair = new Counterparty(id);
    pair.agent = agent.id;
    pair.other = other;
    pair.released = 0;
    agent.distinctCounterparties += 1;
  }
  pair.released += 1;
  pair.save();
  agent.settledCount += 1;
  if (pair.released > agent.topCounterpartyCount) agent.topCounterpartyCount = pair.released;
}

function loadOrCreate(address: Address, block: ethereum.Block): Agent {
  let agent = Agent.load(address);
  if (agent == null) {
    agent = new Agent(address);
    agent.score = BigInt.zero();
    agent.escrowsAsBuyer = 0;
    agent.escrowsAsSeller = 0;
    agent.released = 0;
    agent.distinctCounterparties = 0;
    agent.topCounterpartyCount = 0;
    agent.settledCount = 0;
    agent.disputesWon = 0;
    agent.disputesLost = 0;
    agent.disputesSplit = 0;
    agent.abandoned = 0;
    agent.declined = 0;
    agent.lateDeclines = 0;
    agent.settledVolumeUsd = BigInt.zero();
    countNewAgent(block);
  }
  agent.updatedBlock = block.number;
  return agent;
}
