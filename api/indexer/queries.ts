/** The API's subgraph queries (schema: subgraph/schema/). */

const BLOCK = `block { number hash timestamp parentHash } hasIndexingErrors`;
const META_AT_LEAST = `_meta(block: {number_gte: $minBlock}) { ${BLOCK} }`;

const ESCROW_FIELDS = `
  id state buyer { id } seller { id } token { id symbol decimals }
  amount fee locked valueUsd deadline disputeWindow abandonmentGrace criteriaHash proofHash
  createdAt createdBlock createdTxHash deliveredAt disputedAt settledAt
  automatic outcome buyerPercent resolvedBy resolutionMethod rationaleHash buyerAmount sellerAmount updatedBlock`;

const EVENT_FIELDS = `
  id ordinal type escrowId buyer seller token blockNumber blockHash logIndex txHash timestamp
  amount fee proofHash automatic buyerAmount sellerAmount outcome buyerPercent`;

// No escrow makes more than five moves.
const MOVES = `events(first: 20, orderBy: ordinal, orderDirection: asc) { ${EVENT_FIELDS} }`;

/** The latest indexed block, at or after a block. */
export const META_QUERY = `query Meta($minBlock: Int!) { ${META_AT_LEAST} }`;

/** Escrows by id with their events, all read at one block that is at or after `minBlock`. */
export const ESCROWS_QUERY = `query Escrows($ids: [Bytes!]!, $minBlock: Int!, $first: Int!) {
  ${META_AT_LEAST}
  escrows(first: $first, where: {id_in: $ids}, block: {number_gte: $minBlock}) {
    ${ESCROW_FIELDS}
    ${MOVES}
  }
}`;

/** Events in chain order starting at an ordinal, each with its escrow as of the block of the read. */
export const EVENTS_QUERY = `query Events($from: BigInt!, $first: Int!) {
  _meta { ${BLOCK} }
  escrowEvents(first: $first, where: {ordinal_gte: $from}, orderBy: ordinal, orderDirection: asc) {
    ${EVENT_FIELDS}
    escrow {
      ${ESCROW_FIELDS}
      ${MOVES}
    }
  }
}`;

/** Disputes that were opened before a time and haven't ended, by escrow id. */
export const DISPUTED_BEFORE_QUERY = `query DisputedBefore($before: BigInt!, $after: Bytes!, $first: Int!) {
  _meta { ${BLOCK} }
  escrows(first: $first, where: {state: Disputed, disputedAt_lt: $before, id_gt: $after}, orderBy: id, orderDirection: asc) {
    id
  }
}`;

const AGENT_FIELDS = `
  id score escrowsAsBuyer escrowsAsSeller released distinctCounterparties topCounterpartyCount settledCount
  disputesWon disputesLost disputesSplit abandoned declined lateDeclines settledVolumeUsd updatedBlock`;

/** Scores and settlement counts of wallets. */
export const AGENTS_QUERY = `query Agents($ids: [Bytes!]!, $minBlock: Int!, $first: Int!) {
  ${META_AT_LEAST}
  agents(first: $first, where: {id_in: $ids}, block: {number_gte: $minBlock}) {
    ${AGENT_FIELDS}
  }
}`;

/** Agents after a position in the order of their last change. */
export const CHANGED_AGENTS_QUERY = `query ChangedAgents($block: BigInt!, $id: Bytes!, $first: Int!) {
  _meta { ${BLOCK} }
  agents(
    first: $first
    where: {or: [{updatedBlock_gt: $block}, {updatedBlock: $block, id_gt: $id}]}
    orderBy: updatedBlock
    orderDirection: asc
  ) {
    ${AGENT_FIELDS}
  }
}`;

/** An agent's days with settlements, from a UTC day on. */
export const AGENT_DAYS_QUERY = `query AgentDays($agent: String!, $from: Int!, $first: Int!) {
  _meta { ${BLOCK} }
  agentDays(first: $first, where: {agent: $agent, day_gte: $from}, orderBy: day, orderDirection: asc) {
    day soldCount soldUsd soldFeeUsd
  }
}`;

/** Days on which agents were paid as sellers, at one block, in the order of their ids. */
export const SELLER_VOLUMES_QUERY = `query SellerVolumes($from: Int!, $to: Int!, $id: Bytes!, $first: Int!, $hash: Bytes!) {
  agentDays(
    first: $first
    where: {day_gte: $from, day_lt: $to, soldCount_gt: 0, id_gt: $id}
    orderBy: id
    orderDirection: asc
    block: {hash: $hash}
  ) {
    id agent { id } day soldUsd
  }
}`;

const SETTLEMENT_FIELDS = `id token { id symbol decimals } amount fee locked valueUsd sellerAmount settledAt`;

/** Escrows that paid a seller, after a position in the order of their settlement, at one block. */
export const PAID_SETTLEMENTS_QUERY = `query PaidSettlements(
  $seller: String!, $at: BigInt!, $id: Bytes!, $to: BigInt!, $first: Int!, $hash: Bytes!
) {
  escrows(
    first: $first
    where: {or: [
      {seller: $seller, sellerAmount_gt: "0", settledAt_gt: $at, settledAt_lt: $to}
      {seller: $seller, sellerAmount_gt: "0", settledAt: $at, id_gt: $id}
    ]}
    orderBy: settledAt
    orderDirection: asc
    block: {hash: $hash}
  ) {
    ${SETTLEMENT_FIELDS}
  }
}`;

/** When an escrow first paid a seller. */
export const FIRST_PAID_QUERY = `query FirstPaid($hash: Bytes!) {
  escrows(first: 1, where: {sellerAmount_gt: "0"}, orderBy: settledAt, orderDirection: asc, block: {hash: $hash}) {
    settledAt
  }
}`;

const LATEST_DEALS = `first: $deals, orderBy: settledAt, orderDirection: desc`;

/** An agent's record, read at one block: its counts, a page of its score changes and its latest deals. */
export const AGENT_RECORD_QUERY = `query AgentRecord(
  $id: ID!, $agent: String!, $before: BigInt!, $first: Int!, $deals: Int!
) {
  _meta { ${BLOCK} }
  agent(id: $id) { ${AGENT_FIELDS} }
  scoreChanges(first: $first, where: {agent: $agent, ordinal_lt: $before}, orderBy: ordinal, orderDirection: desc) {
    ordinal escrowId outcome delta score blockNumber timestamp txHash
  }
  sold: escrows(${LATEST_DEALS}, where: {seller: $agent, state: Released}) { settledAt valueUsd }
  bought: escrows(${LATEST_DEALS}, where: {buyer: $agent, state: Released}) { settledAt valueUsd }
}`;
