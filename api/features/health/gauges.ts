import { NETWORKS } from "../../config/constants.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { NetworkState, Readiness } from "./readiness.ts";

/** Adds gauges of the state in `/ready`. Scrapes share its checks, at most one a second. */
export function addReadinessGauges(metrics: Pick<Metrics, "addGauge">, readiness: () => Promise<Readiness>): void {
  const perNetwork = (name: string, help: string, valueOf: (state: NetworkState) => number | null) => {
    metrics.addGauge({
      name,
      help,
      labels: ["network"],
      read: async () => {
        const { networks } = await readiness();
        return NETWORKS.map((network) => ({ labels: { network }, value: valueOf(networks[network]) }));
      },
    });
  };
  const ofOutbox = (name: string, help: string, valueOf: (outbox: NonNullable<Readiness["outbox"]>) => number) => {
    metrics.addGauge({
      name,
      help,
      labels: [],
      read: async () => {
        const { outbox } = await readiness();
        return outbox === null ? [] : [{ labels: {}, value: valueOf(outbox) }];
      },
    });
  };
  perNetwork(
    "follower_lag_blocks",
    "Blocks from the last applied one to the chain's head",
    (state) => state.follower.lagBlocks,
  );
  perNetwork(
    "follower_lag_seconds",
    "Seconds from the last applied block to the chain's head",
    (state) => state.follower.lagSeconds,
  );
  perNetwork(
    "subgraph_lag_blocks",
    "Blocks from the subgraph's head to the chain's",
    (state) => state.subgraph.facts?.blocksBehind ?? null,
  );
  perNetwork(
    "quarantined_escrows",
    "Escrows whose moves wait for an operator, up to 1,000",
    (state) => state.follower.quarantined,
  );
  perNetwork(
    "disputes_overdue",
    "Disputes whose ruling isn't on chain ten minutes after the evidence period, up to 1,000",
    (state) => state.disputes?.overdue ?? null,
  );
  perNetwork("rulings_held", "Rulings that can't be put on chain now", ({ disputes }) =>
    disputes === null ? null : Object.values(disputes.held).reduce((sum, count) => sum + count, 0),
  );
  perNetwork("keeper_waiting", "Moves of the keeper that aren't on chain", (state) => state.keeper?.waiting ?? null);
  perNetwork("keeper_held", "Moves of the keeper that can't be put on chain now", ({ keeper }) =>
    keeper === null ? null : Object.values(keeper.held).reduce((sum, count) => sum + count, 0),
  );
  perNetwork("keeper_spent_today_wei", "What this UTC day's moves have cost and may still cost", ({ keeper }) =>
    keeper === null ? null : Number(keeper.spentTodayWei),
  );
  ofOutbox("outbox_backlog", "Dispatches that are due and not being attempted, up to 10,000", ({ waiting }) => waiting);
  ofOutbox("outbox_age_seconds", "How long the oldest of them has been due", ({ oldestSeconds }) => oldestSeconds ?? 0);
}
