import { z } from "zod";

/** States of an escrow that exists. */
export const ESCROW_STATES = [
  "Funded",
  "Delivered",
  "Released",
  "Refunded",
  "Disputed",
  "Resolved",
  "Abandoned",
] as const;
export type EscrowState = (typeof ESCROW_STATES)[number];

/** Kinds of escrow events (subgraph/schema/escrows.graphql). */
export const ESCROW_EVENT_TYPES = [
  "EscrowCreated",
  "DeliverySubmitted",
  "EscrowReleased",
  "EscrowRefunded",
  "EscrowAbandoned",
  "DisputeOpened",
  "EscrowResolved",
] as const;
export type EscrowEventType = (typeof ESCROW_EVENT_TYPES)[number];

/** Outcomes of a dispute. */
export const DISPUTE_OUTCOMES = ["BuyerRefund", "SellerPaid", "Split"] as const;
export type DisputeOutcome = (typeof DISPUTE_OUTCOMES)[number];

/** Who resolved a dispute, and how. */
export const RESOLVED_BY = ["system", "admin"] as const;
export type ResolvedBy = (typeof RESOLVED_BY)[number];
export const RESOLUTION_METHODS = ["ruling", "agreement", "timeout"] as const;

const hex = z
  .string()
  .regex(/^0x[0-9a-f]*$/i)
  .transform((text) => text.toLowerCase() as `0x${string}`);
const bigInt = z
  .string()
  .regex(/^-?\d+$/)
  .transform((text) => BigInt(text));
/** Unix seconds, durations in seconds and block numbers: BigInt in the subgraph, safe integers here. */
const integer = z.string().regex(/^\d+$/).transform(Number).pipe(z.int());
/** Solidity and GraphQL capitalize the values of these enums; the API and its records don't. */
const lowerCase = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(values));

export const metaSchema = z.object({
  block: z.object({
    number: z.int(),
    hash: hex.nullish(),
    timestamp: z.int().nullish(),
    parentHash: hex.nullish(),
  }),
  hasIndexingErrors: z.boolean(),
});

const eventFields = z.object({
  id: hex,
  ordinal: bigInt,
  type: z.enum(ESCROW_EVENT_TYPES),
  escrowId: hex,
  buyer: hex,
  seller: hex,
  token: hex,
  blockNumber: integer,
  blockHash: hex,
  logIndex: integer,
  txHash: hex,
  timestamp: integer,
  amount: bigInt.nullable(),
  fee: bigInt.nullable(),
  proofHash: hex.nullable(),
  automatic: z.boolean().nullable(),
  buyerAmount: bigInt.nullable(),
  sellerAmount: bigInt.nullable(),
  outcome: z.enum(DISPUTE_OUTCOMES).nullable(),
  buyerPercent: z.int().nullable(),
});

const escrowFields = z.object({
  id: hex,
  state: z.enum(ESCROW_STATES),
  buyer: z.object({ id: hex }).transform((agent) => agent.id),
  seller: z.object({ id: hex }).transform((agent) => agent.id),
  token: z.object({ id: hex, symbol: z.string(), decimals: z.int() }),
  amount: bigInt,
  fee: bigInt,
  locked: bigInt,
  valueUsd: bigInt,
  deadline: integer,
  disputeWindow: integer,
  abandonmentGrace: integer,
  criteriaHash: hex,
  proofHash: hex.nullable(),
  createdAt: integer,
  createdBlock: integer,
  createdTxHash: hex,
  deliveredAt: integer.nullable(),
  disputedAt: integer.nullable(),
  settledAt: integer.nullable(),
  automatic: z.boolean().nullable(),
  outcome: z.enum(DISPUTE_OUTCOMES).nullable(),
  buyerPercent: z.int().nullable(),
  resolvedBy: lowerCase(RESOLVED_BY).nullable(),
  resolutionMethod: lowerCase(RESOLUTION_METHODS).nullable(),
  rationaleHash: hex.nullable(),
  buyerAmount: bigInt,
  sellerAmount: bigInt,
  updatedBlock: integer,
});

/**
 * An escrow at the indexed block, with its moves in chain order. Amounts are in token units, times in unix seconds,
 * addresses in lower case.
 */
export type IndexedEscrow = z.infer<typeof escrowFields> & { events: IndexedEvent[] };
/** One move of an escrow. */
export type IndexedEvent = z.infer<typeof eventFields>;
/** A move with its escrow as of the block of the read, which may be later than the move. */
export type IndexedEventWithEscrow = IndexedEvent & { escrow: IndexedEscrow };

/** A move that this version can't read. Only its position is known. */
export interface UnreadableEvent {
  ordinal: bigint;
  escrowId: `0x${string}`;
  blockNumber: number;
  blockHash: `0x${string}`;
  /** Why it can't be read. */
  problem: string;
}

/** A move in a page, readable or not. */
export type ReadEvent = IndexedEventWithEscrow | UnreadableEvent;

/** Whether a move in a page could be read. */
export function isReadable(event: ReadEvent): event is IndexedEventWithEscrow {
  return !("problem" in event);
}

const agentFields = z.object({
  id: hex,
  score: bigInt,
  escrowsAsBuyer: z.int(),
  escrowsAsSeller: z.int(),
  released: z.int(),
  distinctCounterparties: z.int(),
  topCounterpartyCount: z.int(),
  settledCount: z.int(),
  disputesWon: z.int(),
  disputesLost: z.int(),
  disputesSplit: z.int(),
  abandoned: z.int(),
  declined: z.int(),
  lateDeclines: z.int(),
  settledVolumeUsd: bigInt,
  updatedBlock: integer,
});

/** Score and settlement counts of a wallet on one network. */
export type IndexedAgent = z.infer<typeof agentFields>;

const escrowWithEvents = escrowFields.extend({ events: z.array(eventFields) });

export const metaAnswer = z.object({ _meta: metaSchema });
export const escrowsAnswer = z.object({
  _meta: metaSchema,
  escrows: z.array(escrowWithEvents),
});
export const escrowIdsAnswer = z.object({ _meta: metaSchema, escrows: z.array(z.object({ id: hex })) });
const eventWithEscrow = eventFields.extend({ escrow: escrowWithEvents });
const eventPosition = eventFields.pick({ ordinal: true, escrowId: true, blockNumber: true, blockHash: true });

export const eventsAnswer = z.object({
  _meta: metaSchema,
  // One unreadable move must not block the others in its page.
  escrowEvents: z.array(
    z.unknown().transform((value, context): ReadEvent => {
      const event = eventWithEscrow.safeParse(value);
      if (event.success) return event.data;
      const position = eventPosition.safeParse(value);
      if (position.success) return { ...position.data, problem: z.prettifyError(event.error) };
      context.addIssue({ code: "custom", message: z.prettifyError(position.error) });
      return z.NEVER;
    }),
  ),
});
export const agentsAnswer = z.object({ _meta: metaSchema, agents: z.array(agentFields) });

const agentDay = z.object({ day: z.int(), soldCount: z.int(), soldUsd: bigInt, soldFeeUsd: bigInt });

/** A wallet's settlements as seller on one UTC day (days since 1970). USD values have 6 decimals. */
export type IndexedAgentDay = z.infer<typeof agentDay>;

export const agentDaysAnswer = z.object({ _meta: metaSchema, agentDays: z.array(agentDay) });

const sellerVolume = z.object({
  id: hex,
  agent: z.object({ id: hex }).transform((agent) => agent.id),
  day: z.int(),
  soldUsd: bigInt,
});

/** A wallet's paid volume as seller on one UTC day (days since 1970), in USD with 6 decimals. */
export type SellerVolume = z.infer<typeof sellerVolume>;

export const sellerVolumesAnswer = z.object({ agentDays: z.array(sellerVolume) });

const paidSettlement = escrowFields
  .pick({ id: true, token: true, amount: true, fee: true, locked: true, valueUsd: true, sellerAmount: true })
  .extend({ settledAt: integer });

/** A settlement that paid its seller. Amounts are in token units, `valueUsd` has 6 decimals, `settledAt` is in unix seconds. */
export type PaidSettlement = z.infer<typeof paidSettlement>;

export const paidSettlementsAnswer = z.object({ escrows: z.array(paidSettlement) });
export const firstPaidAnswer = z.object({ escrows: z.array(z.object({ settledAt: integer })) });

const MICROSECONDS = 1_000_000n;

const hourlySum = z
  .object({ timestamp: bigInt, value: bigInt })
  .transform(({ timestamp, value }) => ({ hour: Number(timestamp / MICROSECONDS), value }));

/** Sum of an hour, whose start is in unix seconds. USD values have 6 decimals. */
export type HourlySum = z.infer<typeof hourlySum>;

export const hourlyAnswer = z.object({
  _meta: metaSchema,
  one: z.array(hourlySum),
  other: z.array(hourlySum).default([]),
});

/** Outcomes that change scores. */
export const SCORE_OUTCOMES = ["Released", "BuyerRefund", "SellerPaid", "Split", "Abandonment"] as const;

const scoreChange = z.object({
  ordinal: bigInt,
  escrowId: hex,
  outcome: z.enum(SCORE_OUTCOMES),
  delta: bigInt,
  score: bigInt,
  blockNumber: integer,
  timestamp: integer,
  txHash: hex,
});

/** One change of a wallet's score. `timestamp` is in unix seconds. */
export type IndexedScoreChange = z.infer<typeof scoreChange>;

const settledDeal = z.object({ settledAt: integer, valueUsd: bigInt });

export const agentRecordAnswer = z.object({
  _meta: metaSchema,
  agent: agentFields.nullable(),
  scoreChanges: z.array(scoreChange),
  sold: z.array(settledDeal),
  bought: z.array(settledDeal),
});
