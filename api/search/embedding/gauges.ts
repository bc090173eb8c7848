import type { Metrics } from "../../lib/metrics.ts";
import type { Encoders } from "./encoders.ts";

/** Adds gauges of the embedding server. Without one they have no value. */
export function addEmbeddingGauges(metrics: Pick<Metrics, "addGauge">, encoders: Pick<Encoders, "state">): void {
  metrics.addGauge({
    name: "embedding_tokens_today",
    help: "Tokens that this UTC day's requests to the embedding server have cost and may still cost, of all processes",
    labels: [],
    read: async () => {
      const { server } = await encoders.state();
      return [{ labels: {}, value: server?.tokensToday ?? null }];
    },
  });
  metrics.addGauge({
    name: "embedding_server_answers",
    help: "0 from a failed request of this process to the embedding server until the next answer, else 1",
    labels: [],
    read: async () => {
      const { server } = await encoders.state();
      return [{ labels: {}, value: server === null ? null : Number(server.answers) }];
    },
  });
}
