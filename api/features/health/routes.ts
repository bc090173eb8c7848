import { z } from "zod";

import { defineRoute } from "../../http/define-route.ts";
import { checkDependencies } from "./service.ts";
import type { Dependency } from "./service.ts";

/** What the health routes need. */
export interface HealthDeps {
  dependencies: readonly Dependency[];
}

const shared = { method: "GET", tag: "Health", auth: "none", limitClass: "unlimited", budget: "none" } as const;

const health = defineRoute({
  ...shared,
  path: "/health",
  summary: "Says that the process is alive",
  responses: { 200: z.object({ status: z.literal("ok"), uptimeSeconds: z.number() }) },
}).handle(() => ({ status: 200, body: { status: "ok", uptimeSeconds: Math.floor(process.uptime()) } }));

const readiness = z.object({
  status: z.enum(["ready", "not_ready"]),
  dependencies: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      latencyMs: z.number(),
      facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).optional(),
      error: z.string().optional(),
    }),
  ),
});

const ready = defineRoute({
  ...shared,
  path: "/ready",
  summary: "Says whether every dependency answers, and how far each subgraph is behind its chain",
  responses: { 200: readiness, 503: readiness },
}).handle(async ({ log }, { dependencies }: HealthDeps) => {
  const states = await checkDependencies(dependencies, log);
  if (states.every(({ ok }) => ok)) return { status: 200, body: { status: "ready", dependencies: states } };
  return { status: 503, body: { status: "not_ready", dependencies: states } };
});

export const healthRoutes = [health, ready];
