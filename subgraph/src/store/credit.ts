import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

import { Credit, CreditEvent } from "../../generated/schema";
import { accountTokenId, logId, ordinalOf } from "../ids";
import { changeCredited } from "./token";

/** Credits a transfer that failed, in token units. */
export function creditPayout(
  account: Address,
  token: Address,
  amount: BigInt,
  escrowId: Bytes,
  event: ethereum.Event,
): void {
  const credit = loadOrCreate(account, token, event.block);
  credit.balance = credit.balance.plus(amount);
  credit.credited = credit.credited.plus(amount);
  credit.save();
  changeCredited(token, amount);
  const entry = newEntry("PayoutCredited", credit, amount, event);
  entry.escrowId = escrowId;
  entry.save();
}

/** Takes what an account withdrew off its credit, in token units. */
export function withdrawCredit(
  account: Address,
  token: Address,
  amount: BigInt,
  recipient: Address,
  event: ethereum.Event,
): void {
  const credit = loadOrCreate(account, token, event.block);
  credit.balance = credit.balance.minus(amount);
  credit.withdrawn = credit.withdrawn.plus(amount);
  credit.save();
  changeCredited(token, amount.neg());
  const entry = newEntry("CreditWithdrawn", credit, amount, event);
  entry.recipient = recipient;
  entry.save();
}

function loadOrCreate(account: Address, token: Address, block: ethereum.Block): Credit {
  const id = accountTokenId(account, token);
  let credit = Credit.load(id);
  if (credit == null) {
    credit = new Credit(id);
    credit.account = account;
    credit.token = token;
    credit.balance = BigInt.zero();
    credit.credited = BigInt.zero();
    credit.withdrawn = BigInt.zero();
  }
  credit.updatedBlock = block.number;
  return credit;
}

function newEntry(type: string, credit: Credit, amount: BigInt, event: ethereum.Event): CreditEvent {
  const entry = new CreditEvent(logId(event));
  entry.ordinal = ordinalOf(event);
  entry.type = type;
  entry.credit = credit.id;
  entry.amount = amount;
  entry.blockNumber = event.block.number;
  entry.timestamp = event.block.timestamp;
  entry.txHash = event.transaction.hash;
  return entry;
}
