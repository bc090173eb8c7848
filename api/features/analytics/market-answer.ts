import { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { dataOf, networkSchema, timestampOutput, usdOutput } from "../../http/common-schemas.ts";
import { LEAST_DEALS } from "./market-figures.ts";
import { MARKET_WINDOWS, marketIdOf } from "./market-model.ts";
import type { MarketModel, MarketRecord, MarketWindow } from "./market-model.ts";

const FEW = `null for fewer than ${LEAST_DEALS} of them`;

const count = z.int().min(0);
const seconds = z.int().min(0).nullable();

const figures = z
  .object({
    deals: count.meta({ description: "Escrows that ended as released, or as resolved after a dispute" }),
    released: count,
    resolved: count,
    refunded: count.meta({ description: "Jobs that the seller declined; no deals" }),
    abandoned: count.meta({ description: "Jobs that were never delivered; no deals" }),
    volumeUsd: usdOutput.meta({ description: "Value of the deals, each by the share that its seller was paid" }),
    disputed: count.meta({ description: "Deals whose buyer opened a dispute" }),
    disputeRate: z
      .number()
      .min(0)
      .max(1)
      .nullable()
      .meta({ description: `Share of the deals that were disputed; ${FEW}` }),
    medianDealUsd: usdOutput.nullable().meta({ description: `Median deposit of the deals; ${FEW}` }),
    medianUnitPriceUsd: usdOutput
      .nullable()
      .meta({ description: `Median price of the deals: deposit by quantity; ${FEW}` }),
    medianSecondsToDeliver: seconds.meta({ description: `From the funding to the delivery of the deals; ${FEW}` }),
    medianSecondsToRelease: seconds.meta({
      description: `From the delivery to the release of the released escrows; ${FEW}`,
    }),
    excluded: z
      .object({ deals: count, volumeUsd: usdOutput })
      .meta({ description: "Deals that are in none of the other figures" }),
  })
  .meta({ id: "MarketFigures" });

const categoryOutput = figures
  .and(
    z.object({
      category: z.string().nullable().meta({ description: "At checkout; null for escrows without a checkout" }),
    }),
  )
  .meta({ id: "MarketCategory" });

const networkOutput = z
  .object({
    network: networkSchema,
    start: timestampOutput.nullable().meta({ description: "Null for all time" }),
    end: timestampOutput.meta({ description: "Exclusive; by the chain's time" }),
    computedAt: timestampOutput,
    indexedBlock: count.meta({ description: "The figures have the chain's moves up to this block" }),
    total: figures,
    categories: z.array(categoryOutput).meta({ description: "Those in which escrows ended, the largest volume first" }),
  })
  .meta({ id: "NetworkMarket" });

/** The body of an answer with the market's figures. */
export const marketAnswer = dataOf(
  z
    .object({
      window: z.enum(MARKET_WINDOWS),
      networks: z
        .array(networkOutput)
        .meta({ description: "A network is missing until its figures are computed for the first time" }),
    })
    .meta({ id: "Market" }),
);

/** Reads the figures of a window as they were last computed, of one network or of all. */
export async function readMarketFigures(
  figures: MarketModel,
  { window, network }: { window: MarketWindow; network?: Network | undefined },
): Promise<z.input<typeof marketAnswer>> {
  const ids = (network === undefined ? NETWORKS : [network]).map((name) => marketIdOf(name, window));
  const records = await figures.find({ _id: { $in: ids } }).lean();
  const byId = new Map(records.map((record) => [record._id, record]));
  const found = ids.flatMap((id) => byId.get(id) ?? []);
  return { success: true, data: { window, networks: found.map(presentNetwork) } };
}

function presentNetwork(record: MarketRecord): z.input<typeof networkOutput> {
  const { network, start, end, computedAt, indexedBlock, total, categories } = record;
  const times = { start: start?.toISOString() ?? null, end: end.toISOString(), computedAt: computedAt.toISOString() };
  return { network, ...times, indexedBlock, total, categories };
}
