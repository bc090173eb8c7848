import { NETWORKS } from "../../config/constants.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { COMPARED_KINDS } from "./model.ts";
import type { DifferenceRecord, ReconciliationModels } from "./model.ts";

const MS_PER_SECOND = 1_000;

/** Adds gauges of the differences found. They read the database, so every process reports the same values. */
export function addReconciliationGauges(
  metrics: Pick<Metrics, "addGauge">,
  { passes, differences }: ReconciliationModels,
  now: () => Date,
): void {
  const addCount = (name: string, help: string, states: DifferenceRecord["state"][]) => {
    metrics.addGauge({
      name,
      help,
      labels: ["network", "kind"],
      read: () =>
        Promise.all(
          NETWORKS.flatMap((network) =>
            COMPARED_KINDS.map(async (kind) => ({
              labels: { network, kind },
              value: await differences.countDocuments({ network, kind, state: { $in: states } }),
            })),
          ),
        ),
    });
  };
  addCount("reconciliation_differences", "Copies that differ from their contract and aren't repaired yet", ["found"]);
  addCount("reconciliation_differences_total", "Copies that have ever differed from their contract", [
    "found",
    "repaired",
  ]);
  metrics.addGauge({
    name: "reconciliation_age_seconds",
    labels: ["network"],
    help: "Seconds since the last comparison with the contracts ended",
    read: async () => {
      const labelled = NETWORKS.map(async (network) => {
        const finished = (await passes[network].read()).value?.finished ?? null;
        const value = finished === null ? null : (now().getTime() - finished.finishedAt.getTime()) / MS_PER_SECOND;
        return { labels: { network }, value };
      });
      return Promise.all(labelled);
    },
  });
}
