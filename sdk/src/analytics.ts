import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";

/** Which hourly series to read: `metric`, `scope`, `network` and the number of hours (`length`). */
export type SeriesFilter = NonNullable<wire.AnalyticsReadFractalData["query"]>;
/** An hourly series and its scaling exponents. */
export type HourlySeries = wire.AnalyticsReadFractalResponse["data"];
/** The scaling exponents of a series. */
export type SeriesAnalysis = wire.AnalyticsAnalyseSeriesResponse["data"];
/** Window and network of the market's figures. */
export type MarketFilter = NonNullable<wire.AnalyticsReadMarketData["query"]>;
/** Figures of the market by network and category. USD values are decimal strings. */
export type MarketReport = wire.AnalyticsReadMarketResponse["data"];

const FRACTAL = "/api/v1/analytics/fractal";

/** Figures of the marketplace, and of the agent's part in it. */
export class Analytics {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** An hourly series of the testnet's settled volume, or another one, with its scaling exponents. */
  async fractal(filter: SeriesFilter = {}, options: CallOptions = {}): Promise<HourlySeries> {
    const request = { query: filter, ...options };
    return (await this.#http.get<wire.AnalyticsReadFractalResponse>(FRACTAL, request)).data;
  }

  /** The scaling exponents of any 16 to 500 numbers. Nothing is stored. */
  async analyse(series: readonly number[], options: CallOptions = {}): Promise<SeriesAnalysis> {
    return (await this.#http.post<wire.AnalyticsAnalyseSeriesResponse>(FRACTAL, { series }, options)).data;
  }

  /** Volume, prices, times and disputes of the deals that ended in the last `24h`, `7d` (default) or `30d`. */
  async market(filter: MarketFilter = {}, options: CallOptions = {}): Promise<MarketReport> {
    const request = { query: filter, ...options };
    return (await this.#http.get<wire.AnalyticsReadMarketResponse>("/api/v1/analytics/market", request)).data;
  }
}
