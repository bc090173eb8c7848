import { BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { AgentDay, AgentDayToken, Escrow } from "../../generated/schema";
import { agentDayId, agentDayTokenId, dayOf } from "../ids";
import { paidFeeUsdOf, paidShareOf, settledUsdOf } from "./shares";

/** Adds a settlement that paid the seller to the day of both parties. One that paid the seller nothing adds nothing. */
export function addSettlement(escrow: Escrow, block: ethereum.Block): void {
  const paid = escrow.sellerAmount;
  if (paid.isZero()) return;
  const day = dayOf(block);
  const valueUsd = settledUsdOf(escrow);

  const sold = loadOrCreateDay(escrow.seller, day);
  sold.soldCount += 1;
  sold.soldUsd = sold.soldUsd.plus(valueUsd);
  sold.soldFeeUsd = sold.soldFeeUsd.plus(paidFeeUsdOf(escrow));
  sold.save();
  const soldToken = loadOrCreateToken(escrow.seller, day, escrow.token);
  soldToken.sold = soldToken.sold.plus(paid);
  soldToken.soldFee = soldToken.soldFee.plus(paidShareOf(escrow.fee, escrow));
  soldToken.save();

  const bought = loadOrCreateDay(escrow.buyer, day);
  bought.boughtCount += 1;
  bought.boughtUsd = bought.boughtUsd.plus(valueUsd);
  bought.save();
  const boughtToken = loadOrCreateToken(escrow.buyer, day, escrow.token);
  boughtToken.bought = boughtToken.bought.plus(paid);
  boughtToken.save();
}

function loadOrCreateDay(agent: Bytes, day: i32): AgentDay {
  const id = agentDayId(agent, day);
  let stored = AgentDay.load(id);
  if (stored == null) {
    stored = new AgentDay(id);
    stored.agent = agent;
    stored.day = day;
    stored.soldCount = 0;
    stored.soldUsd = BigInt.zero();
    stored.soldFeeUsd = BigInt.zero();
    stored.boughtCount = 0;
    stored.boughtUsd = BigInt.zero();
  }
  return stored;
}

function loadOrCreateToken(agent: Bytes, day: i32, token: Bytes): AgentDayToken {
  const id = agentDayTokenId(agent, day, token);
  let stored = AgentDayToken.load(id);
  if (stored == null) {
    stored = new AgentDayToken(id);
    stored.agentDay = agentDayId(agent, day);
    stored.agent = agent;
    stored.day = day;
    stored.token = token;
    stored.sold = BigInt.zero();
    stored.soldFee = BigInt.zero();
    stored.bought = BigInt.zero();
  }
  return stored;
}
