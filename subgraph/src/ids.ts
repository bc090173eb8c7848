import { Address, BigInt, Bytes, dataSource, ethereum } from "@graphprotocol/graph-ts";

const SECONDS_PER_DAY = BigInt.fromI32(86_400);

/** Most logs a block may hold for ordinals to stay in order. */
const LOGS_PER_BLOCK = BigInt.fromI32(1_000_000);

/** Id of the one row of the network (Protocol, Configuration): its name. Example: base-sepolia. */
export function protocolId(): string {
  return dataSource.network();
}

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

/** The UTC day of a block: whole days since 1 January 1970. Example: 22 November 2026 is 20779. */
export function dayOf(block: ethereum.Block): i32 {
  return block.timestamp.div(SECONDS_PER_DAY).toI32();
}

/**
 * Id of what settled for an agent on a day: the agent's address followed by the day as 4 bytes, lowest first.
 * Example: agent 0x1111…11 on day 20779 is 0x1111…112b510000.
 */
export function agentDayId(agent: Bytes, day: i32): Bytes {
  return agent.concatI32(day);
}

/**
 * Id of an agent's day in one token: the id of the day followed by the token's address.
 * Example: token 0x036c…7e of agent 0x1111…11 on day 20779 is 0x1111…112b510000036c…7e.
 */
export function agentDayTokenId(agent: Bytes, day: i32, token: Bytes): Bytes {
  return agentDayId(agent, day).concat(token);
}

/**
 * Id of what an account has to do with a token, such as its credit or the fees it received: the account's address followed
 * by the token's. Example: account 0x1111…11 and token 0x036c…7e is 0x1111…11036c…7e.
 */
export function accountTokenId(account: Bytes, token: Bytes): Bytes {
  return account.concat(token);
}

/**
 * Id of the time in which a wallet held a resolver role: the role's code as 4 bytes, lowest first, followed by the wallet's
 * address. Example: admin (1) 0x1111…11 is 0x010000001111…11.
 */
export function tenureId(role: i32, resolver: Address): Bytes {
  return Bytes.fromI32(role).concat(resolver);
}
