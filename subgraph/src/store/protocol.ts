import { BigInt, ethereum } from "@graphprotocol/graph-ts";

import { Escrow, Protocol } from "../../generated/schema";
import { protocolId } from "../ids";
import { feeUsdOf, settledUsdOf } from "./shares";

/** Creates the row, so that it can be read before the first escrow. */
export function startProtocol(block: ethereum.Block): void {
  loadOrCreate(block).save();
}

/** Counts a new escrow. */
export function countNewEscrow(escrow: Escrow, block: ethereum.Block): void {
  const protocol = loadOrCreate(block);
  protocol.created += 1;
  protocol.funded += 1;
  protocol.depositedUsd = protocol.depositedUsd.plus(escrow.valueUsd);
  protocol.feeUsd = protocol.feeUsd.plus(feeUsdOf(escrow));
  protocol.save();
}

/** Counts an escrow in the state it has moved to, and no longer in the one it has left. */
export function countMove(from: string, escrow: Escrow, block: ethereum.Block): void {
  const protocol = loadOrCreate(block);
  add(protocol, from, -1);
  add(protocol, escrow.state, 1);
  protocol.settledUsd = protocol.settledUsd.plus(settledUsdOf(escrow));
  protocol.save();
}

/** Counts a wallet that is new here. */
export function countNewAgent(block: ethereum.Block): void {
  const protocol = loadOrCreate(block);
  protocol.agents += 1;
  protocol.save();
}

function add(protocol: Protocol, state: string, count: i32): void {
  if (state == "Funded") protocol.funded += count;
  else if (state == "Delivered") protocol.delivered += count;
  else if (state == "Disputed") protocol.disputed += count;
  else if (state == "Released") protocol.released += count;
  else if (state == "Refunded") protocol.refunded += count;
  else if (state == "Resolved") protocol.resolved += count;
  else if (state == "Abandoned") protocol.abandoned += count;
}

function loadOrCreate(block: ethereum.Block): Protocol {
  let protocol = Protocol.load(protocolId());
  if (protocol == null) {
    protocol = new Protocol(protocolId());
    protocol.created = 0;
    protocol.funded = 0;
    protocol.delivered = 0;
    protocol.disputed = 0;
    protocol.released = 0;
    protocol.refunded = 0;
    protocol.resolved = 0;
    protocol.abandoned = 0;
    protocol.agents = 0;
    protocol.depositedUsd = BigInt.zero();
    protocol.feeUsd = BigInt.zero();
    protocol.settledUsd = BigInt.zero();
  }
  protocol.updatedBlock = block.number;
  return protocol;
}
