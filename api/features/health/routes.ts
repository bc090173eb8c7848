import { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { VERSION } from "../../config/version.ts";
import { networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import type { NetworkState, Readiness } from "./readiness.ts";

/** Dependencies of the health routes. */
export interface HealthDeps {
  readiness: () => Promise<Readiness>;
}

const shared = { method: "GET", tag: "Health", auth: "none", limitClass: "unlimited", budget: "none" } as const;

const health = defineRoute({
  name: "health.read",
  scope: "none",
  ...shared,
  path: "/health",
  summary: "Reports that the process is alive",
  responses: {
    200: z.object({ status: z.literal("ok"), version: z.string(), uptimeSeconds: z.number() }).meta({ id: "Health" }),
  },
}).handle(() => ({
  status: 200,
  body: { status: "ok", version: VERSION, uptimeSeconds: Math.floor(process.uptime()) },
}));

const count = z.number().int();
const probed = z.object({
  ok: z.boolean(),
  latencyMs: count,
  error: z.string().optional().meta({ description: "Name of the failure; the log has the details" }),
});

const networkState = z.object({
  ok: z.boolean().meta({ description: "Whether its chain and its subgraph can be read" }),
  rpc: probed.extend({ headBlock: count.optional(), headTimestamp: timestampOutput.optional() }),
  subgraph: probed.extend({
    indexedBlock: count.optional(),
    blocksBehind: count.nullable().optional().meta({ description: "How far the subgraph is behind the chain" }),
  }),
  follower: z
    .object({
      block: count.nullable().meta({ description: "Last block whose events have been applied" }),
      lagBlocks: count.nullable(),
      lagSeconds: count.nullable(),
      quarantined: count.nullable().meta({
        description: "Escrows whose moves wait because one of them couldn't be applied, counted up to 1,000",
      }),
    })
    .meta({ description: "How far events, webhooks and lists are behind the chain; null where that isn't known" }),
  disputes: z
    .object({
      overdue: count.meta({
        description: "Rulings that should have been on chain ten minutes ago, counted up to 1,000",
      }),
      oldestSeconds: count.nullable().meta({ description: "How long ago the evidence period of the oldest one ended" }),
      held: z
        .record(z.string(), count)
        .meta({ description: "Rulings that can't be put on chain now, by problem (docs/operating/sending.md)" }),
    })
    .nullable(),
  keeper: z
    .object({
      enabled: z.boolean().meta({ description: "Whether the service has a key for these transactions" }),
      waiting: count.meta({ description: "Moves that aren't on chain" }),
      oldestSeconds: count.nullable().meta({ description: "How long ago the oldest of them was found" }),
      held: z
        .record(z.string(), count)
        .meta({ description: "Those that can't be put on chain now, by problem (docs/operating/sending.md)" }),
      spentTodayWei: z
        .string()
        .meta({ description: "What this UTC day's transactions have cost and may still cost, in wei" }),
      dailyCapWei: z.string(),
    })
    .nullable()
    .meta({ description: "Escrows that the service itself ends; null where that isn't known" }),
});

const readinessOutput = z
  .object({
    status: z.enum(["ready", "not_ready"]),
    database: probed,
    search: probed.extend({ listings: count.optional() }),
    encoder: z
      .object({
        model: z.string().meta({ description: "What turns texts into vectors" }),
        server: z
          .object({
            answers: z
              .boolean()
              .meta({ description: "False from a failed request of this process until its next answer" }),
            tokensToday: count.meta({ description: "What this UTC day's requests have cost and may still cost" }),
            dailyTokens: count,
          })
          .nullable()
          .meta({ description: "Null for the embedded encoder" }),
      })
      .nullable()
      .meta({
        description: "How texts are embedded (docs/operating/embeddings.md); null while the database is unavailable",
      }),
    networks: z.object({ "base-sepolia": networkState, base: networkState }),
    outbox: z
      .object({
        waiting: count.meta({ description: "Webhooks and other dispatches that are due, counted up to 10,000" }),
        oldestSeconds: count.nullable().meta({ description: "How long the oldest of them has been due" }),
      })
      .nullable()
      .meta({ description: "Null while the database is unavailable" }),
  })
  .meta({ id: "Readiness" });

const ready = defineRoute({
  name: "health.readReadiness",
  scope: "none",
  ...shared,
  audience: "operators",
  path: "/ready",
  summary: "Reports whether the process can serve, and the state of each network",
  description:
    "200 while the database and at least one network work, so an outage of one network doesn't take a process " +
    "out of a load balancer. With `network`, 200 only while that network works. A process checks at most once a second.",
  query: z.strictObject({ network: networkSchema.optional() }),
  responses: { 200: readinessOutput, 503: readinessOutput },
}).handle(async ({ query }, deps: HealthDeps) => {
  const readiness = await deps.readiness();
  const { database, search, encoder, networks, outbox } = readiness;
  const body = {
    database: withoutFacts(database),
    search: { ...withoutFacts(search), ...search.facts },
    encoder,
    networks: { "base-sepolia": present(networks["base-sepolia"]), base: present(networks.base) },
    outbox,
  };
  if (isReady(readiness, query.network)) return { status: 200, body: { status: "ready", ...body } };
  return { status: 503, body: { status: "not_ready", ...body } };
});

/** Whether a load balancer may send requests: those for one network, or for any. */
function isReady({ database, networks }: Readiness, network: Network | undefined): boolean {
  const needed = network === undefined ? NETWORKS : [network];
  return database.ok && needed.some((name) => networks[name].ok);
}

function withoutFacts({ ok, latencyMs, error }: { ok: boolean; latencyMs: number; error?: string }) {
  return { ok, latencyMs, ...(error === undefined ? {} : { error }) };
}

function present({ ok, rpc, subgraph, follower, disputes, keeper }: NetworkState): z.input<typeof networkState> {
  const { facts: head } = rpc;
  const chain = head && {
    headBlock: head.headBlock,
    headTimestamp: new Date(head.headTimestamp * 1_000).toISOString(),
  };
  return {
    ok,
    rpc: { ...withoutFacts(rpc), ...chain },
    subgraph: { ...withoutFacts(subgraph), ...subgraph.facts },
    follower,
    disputes,
    keeper,
  };
}

export const healthRoutes = [health, ready];
