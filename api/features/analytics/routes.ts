import { z } from "zod";

import { FRACTAL_MAX_LENGTH, NETWORKS, TESTNET } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { dataOf, networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { queryInteger } from "../../http/query-params.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";
import { analyseSeries, DEGENERATE_REASONS, FRACTAL_METHOD, MIN_SERIES_LENGTH } from "./fractal.ts";
import { readSeries, SERIES_METRICS, SERIES_SCOPES } from "./series.ts";

/** Dependencies of the analytics routes. */
export interface AnalyticsDeps {
  analytics: { indexers: Readonly<Record<Network, Pick<Indexer, "network" | "head" | "hourlySums">>> };
}

/** A longer query is cut to the cap, so its bound only keeps numbers exact. */
const LONGEST_QUERY = 1_000_000_000;

const exponents = {
  length: z.int(),
  series: z.array(z.number()),
  hurst: z.number().nullable().meta({
    description:
      "Detrended fluctuation analysis: 0.5 for uncorrelated values, 1 for pink noise, above 1 for a series that wanders",
  }),
  fractalDimension: z.number().nullable().meta({ description: "Of the graph, 1 (smooth) to 2 (noise)" }),
  reason: z
    .enum(DEGENERATE_REASONS)
    .nullable()
    .meta({
      description: `Why an exponent is null: fewer than ${MIN_SERIES_LENGTH} values, all of them equal, or nothing but straight lines`,
    }),
  method: z.object({ hurst: z.string(), fractalDimension: z.string() }),
};

const common = { auth: "apiKey", limitClass: "general", budget: "api", tag: "Analytics" } as const;

const readFractal = defineRoute({
  name: "analytics.readFractal",
  scope: "read",
  ...common,
  method: "GET",
  path: "/api/v1/analytics/fractal",
  summary: "Scaling exponents of an hourly series of the marketplace",
  description:
    "The latest hours that have ended on the chain; an hour in which nothing happened counts 0. `volume` is what settled in US " +
    `dollars, \`escrows\` how many were created, \`score\` by how much scores changed. A \`length\` above ${FRACTAL_MAX_LENGTH} is cut to ${FRACTAL_MAX_LENGTH}.`,
  query: z.strictObject({
    metric: z.enum(SERIES_METRICS).default("volume"),
    scope: z.enum(SERIES_SCOPES).default("all"),
    network: z.enum(NETWORKS).default(TESTNET),
    length: queryInteger({ min: 1, max: LONGEST_QUERY, description: "Hours" })
      .transform((hours) => Math.min(hours, FRACTAL_MAX_LENGTH))
      .default(FRACTAL_MAX_LENGTH),
  }),
  responses: {
    200: dataOf(
      z
        .object({
          metric: z.enum(SERIES_METRICS),
          scope: z.enum(SERIES_SCOPES),
          network: networkSchema,
          start: timestampOutput,
          end: timestampOutput.meta({ description: "Exclusive" }),
          ...exponents,
          indexedBlock: z.int(),
        })
        .meta({ id: "MarketSeries" }),
    ),
  },
  errors: ["indexer_unavailable"],
}).handle(async ({ query, caller }, { analytics }: AnalyticsDeps) => {
  const { metric, scope, network, length } = query;
  const wallet = scope === "me" ? caller.walletAddress : undefined;
  const { start, end, values, indexedBlock } = await readSeries(analytics.indexers[network], {
    metric,
    wallet,
    length,
  });
  const span = { start: start.toISOString(), end: end.toISOString() };
  const data = { metric, scope, network, ...span, ...toAnswer(values), indexedBlock };
  return { status: 200, body: { success: true, data } };
});

const analyseFractal = defineRoute({
  name: "analytics.analyseSeries",
  scope: "read",
  ...common,
  method: "POST",
  path: "/api/v1/analytics/fractal",
  summary: "Scaling exponents of a given series",
  description: "Nothing is stored.",
  readsOnly: true,
  body: z
    .strictObject({ series: z.array(z.number()).min(MIN_SERIES_LENGTH).max(FRACTAL_MAX_LENGTH) })
    .meta({ id: "SeriesRequest", examples: [{ series: [1, 3, 2, 5, 4, 6, 5, 8, 7, 9, 6, 8, 9, 7, 11, 10] }] }),
  responses: { 200: dataOf(z.object(exponents).meta({ id: "SeriesExponents" })) },
}).handle(({ body }) => ({ status: 200, body: { success: true, data: toAnswer(body.series) } }));

function toAnswer(series: number[]) {
  return { length: series.length, series, ...analyseSeries(series), method: FRACTAL_METHOD };
}

export const analyticsRoutes = [readFractal, analyseFractal];
