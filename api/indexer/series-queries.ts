/** Hourly sums of the subgraph's series (subgraph/schema/series.graphql). */

/** The quantity that an hourly sum counts. */
export type HourlyMetric = "volume" | "escrows" | "score";

const HOURS = `interval: hour, first: 1000, orderBy: timestamp, orderDirection: asc`;
const SPAN = `timestamp_gte: $from, timestamp_lt: $to`;
const META = `_meta { block { number hash timestamp parentHash } hasIndexingErrors }`;

const FIELD: Readonly<Record<"volume" | "escrows", string>> = { volume: "settledUsd", escrows: "created" };

const OF_ALL = `query HourlyOfAll($from: Timestamp!, $to: Timestamp!)`;
const OF_WALLET = `query HourlyOfWallet($from: Timestamp!, $to: Timestamp!, $wallet: String!)`;

/** The query for the sums of all agents, or of one wallet in both roles (`$wallet`). */
export function hourlyQuery(metric: HourlyMetric, isOfWallet: boolean): string {
  if (metric === "score") {
    return isOfWallet
      ? `${OF_WALLET} { ${META} one: agentScores(${HOURS}, where: {${SPAN}, agent: $wallet}) { timestamp value: delta } }`
      : `${OF_ALL} { ${META} one: networkScores(${HOURS}, where: {${SPAN}}) { timestamp value: delta } }`;
  }
  const fields = `{ timestamp value: ${FIELD[metric]} }`;
  return isOfWallet
    ? `${OF_WALLET} {
        ${META}
        one: sellerVolumes(${HOURS}, where: {${SPAN}, seller: $wallet}) ${fields}
        other: buyerVolumes(${HOURS}, where: {${SPAN}, buyer: $wallet}) ${fields}
      }`
    : `${OF_ALL} { ${META} one: networkVolumes(${HOURS}, where: {${SPAN}}) ${fields} }`;
}
