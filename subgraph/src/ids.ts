import { Address, BigInt, Bytes, ethereum } from "@graphprotocol/graph-ts";

/** Most logs a block may hold for ordinals to stay in order. */
const LOGS_PER_BLOCK = BigInt.fromI32(1_000_000);

/**
 * Id of a log entity: the transaction hash followed by the log index as 4 bytes, lowest first.
 * Example: log 3 of transaction 0x5c50…bb7a is 0x5c50…bb7a03000000.
 */
export function logId(event: ethereum.Event): Bytes {
  return event.transaction.hash.concatI32(event.logIndex.toI32());
}

/**
 * Id of an agent's score change: the id of the log, which changes two scores, followed by the agent's address.
 * Example: log 3 of transaction 0x5c50…bb7a changes agent 0x1111…11 by 0x5c50…bb7a030000001111…11.
 */
export function scoreChangeId(event: ethereum.Event, agent: Address): Bytes {
  return logId(event).concat(agent);
}

/**
 * Place of a log among all logs of its network: blockNumber * 1000000 + logIndex.
 * Example: log 3 of block 120 is 120000003.
 */
export function ordinalOf(event: ethereum.Event): BigInt {
  return event.block.number.times(LOGS_PER_BLOCK).plus(event.logIndex);
}

/**
 * Id of the trading relation between an agent and another wallet: the agent's address followed by the other's.
 * Example: agent 0x1111…11 and 0x2222…22 is 0x1111…112222…22.
 */
export function counterpartyId(agent: Address, other: Address): Bytes {
  return agent.concat(other);
}
