import type { Account } from "viem";

import type { Marketplace } from "./marketplace.ts";

/** An Escrow entity as queried below. */
export interface EscrowRecord {
  readonly state: string;
  readonly buyer: { readonly id: string };
  readonly seller: { readonly id: string };
  readonly token: { readonly id: string; readonly symbol: string };
  readonly amount: string;
  readonly fee: string;
  readonly locked: string;
  readonly valueUsd: string;
  readonly deadline: string;
  readonly disputeWindow: string;
  readonly abandonmentGrace: string;
  readonly criteriaHash: string;
  readonly proofHash: string | null;
  readonly createdAt: string;
  readonly createdBlock: string;
  readonly createdTxHash: string;
  readonly deliveredAt: string | null;
  readonly disputedAt: string | null;
  readonly settledAt: string | null;
  readonly automatic: boolean | null;
  readonly outcome: string | null;
  readonly buyerPercent: number | null;
  readonly resolvedBy: string | null;
  readonly resolutionMethod: string | null;
  readonly rationaleHash: string | null;
  readonly resolutionSubmitter: string | null;
  readonly buyerAmount: string;
  readonly sellerAmount: string;
  readonly updatedBlock: string;
  readonly events: readonly EventRecord[];
}

/** An EscrowEvent entity. */
export interface EventRecord {
  readonly id: string;
  readonly type: string;
  readonly ordinal: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly logIndex: string;
  readonly txHash: string;
  readonly timestamp: string;
  readonly amount: string | null;
  readonly fee: string | null;
  readonly proofHash: string | null;
  readonly automatic: boolean | null;
  readonly buyerAmount: string | null;
  readonly sellerAmount: string | null;
  readonly outcome: string | null;
  readonly buyerPercent: number | null;
  readonly resolvedBy: string | null;
  readonly resolutionMethod: string | null;
  readonly rationaleHash: string | null;
}

/** An Agent entity. */
export interface AgentRecord {
  readonly score: string;
  readonly escrowsAsBuyer: number;
  readonly escrowsAsSeller: number;
  readonly released: number;
  readonly distinctCounterparties: number;
  readonly topCounterpartyCount: number;
  readonly settledCount: number;
  readonly disputesWon: number;
  readonly disputesLost: number;
  readonly disputesSplit: number;
  readonly abandoned: number;
  readonly declined: number;
  readonly lateDeclines: number;
  readonly settledVolumeUsd: string;
  readonly scoreChanges: readonly { readonly outcome: string; readonly delta: string; readonly score: string }[];
}

/** An AgentDay entity with its tokens. */
export interface AgentDayRecord {
  readonly id: string;
  readonly day: number;
  readonly soldCount: number;
  readonly soldUsd: string;
  readonly soldFeeUsd: string;
  readonly boughtCount: number;
  readonly boughtUsd: string;
  readonly tokens: readonly AgentDayTokenRecord[];
}

/** An AgentDayToken entity. */
export interface AgentDayTokenRecord {
  readonly id: string;
  readonly token: { readonly id: string };
  readonly day: number;
  readonly sold: string;
  readonly soldFee: string;
  readonly bought: string;
}

const ESCROW = `query ($id: ID!) { escrow(id: $id) {
  state buyer { id } seller { id } token { id symbol } amount fee locked valueUsd deadline disputeWindow abandonmentGrace
  criteriaHash proofHash createdAt createdBlock createdTxHash deliveredAt disputedAt settledAt automatic outcome
  buyerPercent resolvedBy resolutionMethod rationaleHash resolutionSubmitter buyerAmount sellerAmount updatedBlock
  events(orderBy: ordinal) { id type ordinal blockNumber blockHash logIndex txHash timestamp amount fee proofHash
    automatic buyerAmount sellerAmount outcome buyerPercent resolvedBy resolutionMethod rationaleHash } } }`;

const AGENT = `query ($id: ID!) { agent(id: $id) {
  score escrowsAsBuyer escrowsAsSeller released distinctCounterparties topCounterpartyCount settledCount disputesWon
  disputesLost disputesSplit abandoned declined lateDeclines settledVolumeUsd
  scoreChanges(orderBy: ordinal) { outcome delta score } } }`;

const DAYS = `query ($id: String!) { agentDays(where: { agent: $id }, orderBy: day) {
  id day soldCount soldUsd soldFeeUsd boughtCount boughtUsd
  tokens { id token { id } day sold soldFee bought } } }`;

/** Reads the escrow once the block is indexed; null when there is none. */
export async function findEscrow(market: Marketplace, id: string, block: bigint): Promise<EscrowRecord | null> {
  return (await market.query<{ escrow: EscrowRecord | null }>(ESCROW, { id }, block)).escrow;
}

/** Reads an escrow that must exist, once the block is indexed. */
export async function readEscrow(market: Marketplace, id: string, block: bigint): Promise<EscrowRecord> {
  const escrow = await findEscrow(market, id, block);
  if (escrow === null) throw new Error(`the subgraph has no escrow ${id}`);
  return escrow;
}

/** Reads the agent once the block is indexed. */
export async function readAgent(market: Marketplace, party: Account, block: bigint): Promise<AgentRecord> {
  const id = party.address.toLowerCase();
  const { agent } = await market.query<{ agent: AgentRecord | null }>(AGENT, { id }, block);
  if (agent === null) throw new Error(`the subgraph has no agent ${id}`);
  return agent;
}

/** Reads an agent's days once the block is indexed, oldest first. */
export async function readDays(market: Marketplace, party: Account, block: bigint): Promise<readonly AgentDayRecord[]> {
  const id = party.address.toLowerCase();
  return (await market.query<{ agentDays: readonly AgentDayRecord[] }>(DAYS, { id }, block)).agentDays;
}
