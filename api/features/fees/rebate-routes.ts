import { formatUnits, getAddress } from "viem";
import { z } from "zod";

import { FEE_TIERS, MAINNET, USD_DECIMALS } from "../../config/constants.ts";
import { addressOutput, listOf, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor, pageCursor, pageLimit } from "../../http/query-params.ts";
import type { StatementLineRecord } from "./model.ts";
import { paymentStateOf } from "./payments.ts";
import type { StatementReader, StatementWithPayment } from "./statement-reader.ts";

/** Dependencies of the rebate routes. */
export interface RebateDeps {
  rebates: StatementReader;
}

const bytes32 = z.templateLiteral(["0x", z.string()]).meta({
  override: { type: "string", pattern: "^0x[0-9a-f]{64}$" },
});
const units = z.string().regex(/^\d+$/).meta({ description: "Token units" });
const usdUnits = z.string().regex(/^\d+$/).meta({ description: "US dollars times 1,000,000" });
const monthText = z.string().regex(/^\d{4}-\d{2}$/);

const payment = z
  .object({
    state: z.enum(["none", "due", "sending", "paid"]).meta({
      description: "`none`: the rebate is 0. `sending`: a transfer is signed and may be mined. `paid`: it is final",
    }),
    txHash: bytes32.nullable().meta({ description: "The transfer that paid" }),
    blockNumber: z.int().nullable(),
  })
  .meta({ id: "RebatePayment" });

const statement = z
  .object({
    id: z.string(),
    statementId: z.string(),
    month: monthText,
    network: z.literal(MAINNET),
    wallet: addressOutput,
    token: z.object({ address: addressOutput, symbol: z.string(), decimals: z.int() }),
    tier: z.enum(FEE_TIERS.map(({ tier }) => tier)),
    effectiveRateBps: z.int(),
    windowStart: timestampOutput,
    windowEnd: timestampOutput.meta({ description: "Exclusive: the end of the month" }),
    settledVolumeUsd: usdOutput.meta({ description: "Volume of the window in all tokens, which decides the tier" }),
    fee: units.meta({ description: "Sum of the settlements' `countedFee`, in token units" }),
    rebate: units.meta({ description: "`floor(fee * (200 - effectiveRateBps) / 200)`, in token units" }),
    settlementCount: z.int(),
    settlementsHash: bytes32,
    hash: bytes32.meta({ description: "docs/operating/rebates.md says how to compute it" }),
    block: z
      .object({ number: z.int(), hash: bytes32 })
      .meta({ description: "Where the settlements were read from the subgraph" }),
    payment,
    createdAt: timestampOutput,
  })
  .meta({ id: "RebateStatement" });

const settlement = z
  .object({
    escrowId: bytes32,
    settledAt: timestampOutput,
    amount: units,
    fee: units,
    locked: units,
    sellerAmount: units,
    valueUsdUnits: usdUnits,
    volumeUsdUnits: usdUnits.meta({ description: "What counts towards the tier; 0 before the window" }),
    countedFee: units.meta({ description: "`floor(fee * paid share)`; 0 for a settlement before the month" }),
  })
  .meta({ id: "RebateSettlement" });

const MAX_ID_LENGTH = 36;

const readRebates = defineRoute({
  name: "rebates.list",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/rebates",
  tag: "Agents",
  summary: "Lists the caller's rebate statements, newest first",
  description:
    "A worker writes them after the end of each UTC month: one for each token in which settlements on `base` paid the " +
    "caller as seller. The rebate is a part of that month's fees, in the same token, by the tier of the 30 days before the " +
    "month's end.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  query: z.strictObject({
    limit: pageLimit,
    cursor: pageCursor(z.strictObject({ month: monthText, id: z.string().max(MAX_ID_LENGTH) })).optional(),
  }),
  responses: { 200: listOf(statement) },
}).handle(async ({ query, caller }, { rebates }: RebateDeps) => {
  const { statements, next } = await rebates.list(caller.walletAddress, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: statements.map(presentStatement), nextCursor } };
});

const readRebateSettlements = defineRoute({
  name: "rebates.listSettlements",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/rebates/{statementId}/settlements",
  tag: "Agents",
  summary: "Lists the settlements that a rebate statement counts, oldest first",
  description:
    "Those of the month and of the 30 days before its end, in the statement's token. `settlementsHash` covers them.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  params: z.strictObject({ statementId: z.string() }),
  query: z.strictObject({ limit: pageLimit, cursor: pageCursor(z.int()).optional() }),
  responses: { 200: listOf(settlement) },
  errors: ["not_found"],
}).handle(async ({ params, query, caller }, { rebates }: RebateDeps) => {
  const { lines, next } = await rebates.lines(caller.walletAddress, params.statementId, query);
  const nextCursor = next === null ? null : encodeCursor(next);
  return { status: 200, body: { success: true, data: lines.map(presentLine), nextCursor } };
});

function presentStatement({ statement: record, payment: paid }: StatementWithPayment): z.input<typeof statement> {
  const { tier, effectiveRateBps, windowStart, windowEnd, fee, rebate, settlementCount, settlementsHash } = record;
  return {
    id: record._id,
    statementId: record._id,
    month: record.month,
    network: MAINNET,
    wallet: getAddress(record.wallet),
    token: { address: getAddress(record.token), symbol: record.tokenSymbol, decimals: record.tokenDecimals },
    tier,
    effectiveRateBps,
    windowStart,
    windowEnd,
    settledVolumeUsd: formatUnits(BigInt(record.settledVolumeUsdUnits), USD_DECIMALS),
    fee,
    rebate,
    settlementCount,
    settlementsHash,
    hash: record.hash,
    block: { number: record.block.number, hash: record.block.hash },
    payment: {
      state: stateOf({ statement: record, payment: paid }),
      txHash: paid?.txHash ?? null,
      blockNumber: paid?.blockNumber ?? null,
    },
    createdAt: record.createdAt.toISOString(),
  };
}

function stateOf({ statement: record, payment: paid }: StatementWithPayment): z.input<typeof payment>["state"] {
  return record.isPayable ? paymentStateOf(paid) : "none";
}

function presentLine(record: StatementLineRecord): z.input<typeof settlement> {
  const { escrowId, settledAt, amount, fee, locked, sellerAmount, valueUsdUnits, volumeUsdUnits, countedFee } = record;
  return { escrowId, settledAt, amount, fee, locked, sellerAmount, valueUsdUnits, volumeUsdUnits, countedFee };
}

export const rebateRoutes = [readRebates, readRebateSettlements];
