import type { Network } from "../../config/constants.ts";
import type { Indexer } from "../../indexer/indexer-client.ts";

/** Metrics that have an hourly series. */
export const SERIES_METRICS = ["volume", "escrows", "score"] as const;
export type SeriesMetric = (typeof SERIES_METRICS)[number];

/** Whose series: the caller's or the network's. */
export const SERIES_SCOPES = ["me", "all"] as const;

/** Which series to read. */
export interface SeriesQuery {
  metric: SeriesMetric;
  /** Undefined for all agents. */
  wallet: string | undefined;
  /** Number of hours. */
  length: number;
}

/** An hourly series: `volume` in US dollars, `escrows` created, `score` by how much it changed. */
export interface HourlySeries {
  network: Network;
  /** Start of the first hour, and end of the last one (exclusive). */
  start: Date;
  end: Date;
  values: number[];
  indexedBlock: number;
}

const HOUR_SECONDS = 3_600;
const USD = 1e6;

/** Reads a series of the latest hours that have ended on the chain. An hour in which nothing happened counts 0. */
export async function readSeries(
  indexer: Pick<Indexer, "network" | "head" | "hourlySums">,
  { metric, wallet, length }: SeriesQuery,
): Promise<HourlySeries> {
  const { timestamp } = await indexer.head();
  const end = Math.floor((timestamp ?? 0) / HOUR_SECONDS) * HOUR_SECONDS;
  const start = end - length * HOUR_SECONDS;
  const { block, rows } = await indexer.hourlySums(metric, wallet, { from: start, to: end });
  const values = Array.from({ length }, () => 0);
  for (const { hour, value } of rows) {
    const index = (hour - start) / HOUR_SECONDS;
    values[index] = (values[index] ?? 0) + (metric === "volume" ? Number(value) / USD : Number(value));
  }
  const dateOf = (seconds: number) => new Date(seconds * 1_000);
  return { network: indexer.network, start: dateOf(start), end: dateOf(end), values, indexedBlock: block.number };
}
