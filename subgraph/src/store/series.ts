import { Address, BigInt } from "@graphprotocol/graph-ts";

import { Escrow, EscrowFlow, ScorePoint } from "../../generated/schema";
import { protocolId } from "../ids";
import { feeUsdOf, settledUsdOf } from "./shares";

/** graph-node numbers the points of a series itself. */
const NUMBERED_BY_GRAPH_NODE = 0;

/** Adds a new escrow to the series. */
export function addCreated(escrow: Escrow): void {
  const flow = newFlow(escrow);
  flow.created = 1;
  flow.depositedUsd = escrow.valueUsd;
  flow.feeUsd = feeUsdOf(escrow);
  flow.deposited = escrow.amount;
  flow.fee = escrow.fee;
  flow.save();
}

/** Adds a settled escrow to the series, however it ended. */
export function addSettled(escrow: Escrow): void {
  const flow = newFlow(escrow);
  if (escrow.state == "Released") flow.released = 1;
  else if (escrow.state == "Refunded") flow.refunded = 1;
  else if (escrow.state == "Abandoned") flow.abandoned = 1;
  else flow.resolved = 1;
  flow.settledUsd = settledUsdOf(escrow);
  flow.paid = escrow.sellerAmount;
  flow.returned = escrow.buyerAmount;
  flow.save();
}

/** Adds an opened dispute to the series. */
export function addDisputed(escrow: Escrow): void {
  const flow = newFlow(escrow);
  flow.disputed = 1;
  flow.save();
}

/** Adds a change of an agent's score to the series. */
export function addScorePoint(agent: Address, delta: BigInt, score: BigInt): void {
  const point = new ScorePoint(NUMBERED_BY_GRAPH_NODE);
  point.protocol = protocolId();
  point.agent = agent;
  point.delta = delta;
  point.score = score;
  point.save();
}

function newFlow(escrow: Escrow): EscrowFlow {
  const flow = new EscrowFlow(NUMBERED_BY_GRAPH_NODE);
  flow.protocol = protocolId();
  flow.escrowId = escrow.id;
  flow.buyer = escrow.buyer;
  flow.seller = escrow.seller;
  flow.token = escrow.token;
  flow.created = 0;
  flow.released = 0;
  flow.refunded = 0;
  flow.abandoned = 0;
  flow.disputed = 0;
  flow.resolved = 0;
  flow.depositedUsd = BigInt.zero();
  flow.feeUsd = BigInt.zero();
  flow.settledUsd = BigInt.zero();
  flow.deposited = BigInt.zero();
  flow.fee = BigInt.zero();
  flow.paid = BigInt.zero();
  flow.returned = BigInt.zero();
  return flow;
}
