import { formatUnits } from "viem";
import { z } from "zod";

import { FEE_TIERS, FEE_WINDOW_DAYS, MAINNET, USD_DECIMALS } from "../../config/constants.ts";
import { dataOf, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { computeFeeStanding, feeWindowAt } from "./tiers.ts";

/** Dependencies of the fee routes. */
export interface FeesDeps {
  fees: {
    /** The mainnet's subgraph: only mainnet settlements count. */
    indexer: Pick<Indexer, "head" | "agentDays">;
    clock: Clock;
  };
}

const tierFields = {
  tier: z.enum(FEE_TIERS.map(({ tier }) => tier)),
  effectiveRate: z.enum(FEE_TIERS.map(({ effectiveRate }) => effectiveRate)),
  effectiveRateBps: z.int().meta({ description: "The same rate in basis points" }),
};

const readFeeTier = defineRoute({
  name: "fees.readTier",
  scope: "read",
  method: "GET",
  path: "/api/v1/agents/fee-tier",
  tag: "Agents",
  summary: "The caller's volume tier",
  description:
    "The fee on chain is always 2%; a tier decides the monthly rebate. `settledVolumeUsd` is the value of the deposits " +
    "whose settlement on `base` paid the caller as seller, each by the paid share, over the 30 UTC days that end with today. " +
    "`rebateAccruedUsd` is the rebate on this month's fees so far if the tier stays.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  responses: {
    200: dataOf(
      z
        .object({
          ...tierFields,
          windowDays: z.literal(FEE_WINDOW_DAYS),
          windowStart: timestampOutput,
          windowEnd: timestampOutput.meta({ description: "Exclusive: the next midnight UTC" }),
          settledVolumeUsd: usdOutput,
          nextTier: z
            .object({ ...tierFields, fromUsd: z.int(), remainingUsd: usdOutput })
            .nullable()
            .meta({ description: "The tier above and the volume that it takes; null at the top" }),
          rebateAccruedUsd: usdOutput,
          network: z.literal(MAINNET),
          indexedBlock: z.int(),
        })
        .meta({ id: "FeeTier" }),
    ),
  },
  errors: ["indexer_unavailable"],
}).handle(async ({ caller }, { fees: { indexer, clock } }: FeesDeps) => {
  // A local chain's clock may be ahead of ours, and settlements have the chain's time.
  const { timestamp } = await indexer.head();
  const window = feeWindowAt(Math.max(toUnixSeconds(clock.now()), timestamp ?? 0));
  const firstDay = Math.min(window.firstDay, window.monthFirstDay);
  const { block, days } = await indexer.agentDays(caller.walletAddress, firstDay);
  const { tier, next, settledVolumeUsd, rebateAccruedUsd } = computeFeeStanding(days, window);
  const remainingUsd = next === undefined ? 0n : BigInt(next.fromUsd) * 10n ** BigInt(USD_DECIMALS) - settledVolumeUsd;
  return {
    status: 200,
    body: {
      success: true,
      data: {
        tier: tier.tier,
        effectiveRate: tier.effectiveRate,
        effectiveRateBps: tier.effectiveRateBps,
        windowDays: FEE_WINDOW_DAYS,
        windowStart: window.start.toISOString(),
        windowEnd: window.end.toISOString(),
        settledVolumeUsd: inUsd(settledVolumeUsd),
        nextTier: next === undefined ? null : { ...next, remainingUsd: inUsd(remainingUsd) },
        rebateAccruedUsd: inUsd(rebateAccruedUsd),
        network: MAINNET,
        indexedBlock: block.number,
      },
    },
  };
});

function inUsd(value: bigint): string {
  return formatUnits(value, USD_DECIMALS);
}

export const feeRoutes = [readFeeTier];
