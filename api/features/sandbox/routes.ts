import { z } from "zod";

import { dataOf, networkSchema, timestampOutput } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { MAX_ADVANCE_SECONDS } from "./sandbox.ts";
import type { Sandbox } from "./sandbox.ts";

/** Dependencies of the sandbox's route. */
export interface SandboxRouteDeps {
  sandbox: Sandbox;
}

const advancedChain = z.object({ network: networkSchema, blockNumber: z.int(), time: timestampOutput });

const advanceClocks = defineRoute({
  name: "sandbox.advance",
  scope: "none",
  method: "POST",
  path: "/api/v1/sandbox/advance",
  tag: "Networks",
  audience: "localStack",
  summary: "Moves the clocks of the local chains forward",
  auth: "none",
  limitClass: "keyless",
  budget: "none",
  body: z
    .strictObject({ seconds: z.int().min(1).max(MAX_ADVANCE_SECONDS) })
    .meta({ id: "SandboxAdvanceRequest", examples: [{ seconds: 360 }] }),
  responses: { 200: dataOf(z.object({ seconds: z.int(), chains: z.array(advancedChain) })) },
  errors: ["not_found", "rate_limit_exceeded", "chain_unavailable"],
}).handle(
  async ({ body: { seconds }, ip }, { sandbox }: SandboxRouteDeps) => {
    const moved = await sandbox.advance({ seconds, ip });
    const chains = moved.map(({ time, ...chain }) => ({ ...chain, time: time.toISOString() }));
    return { status: 200, body: { success: true, data: { seconds, chains } } };
  },
  async (_request, { sandbox }) => {
    if (!(await sandbox.isOpen())) throw new ApiError("not_found");
  },
);

export const sandboxRoutes = [advanceClocks];
