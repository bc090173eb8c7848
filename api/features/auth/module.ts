import type { Connection } from "mongoose";

import type { Limits } from "../../config/limits.ts";
import type { Clock } from "../../lib/clock.ts";
import { offsetMsOf } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import type { AgentModels } from "../agents/model.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { accessModels } from "./access-model.ts";
import { createClientWindows } from "./client-windows.ts";
import { createDoorkeeper } from "./doorkeeper.ts";
import { createCredits } from "./credits.ts";
import { createKeyStates } from "./key-states.ts";
import { createApiKeys } from "./keys.ts";
import { createRefusals } from "./refusals.ts";
import { authRoutes } from "./routes.ts";
import type { AuthDeps } from "./routes.ts";
import { createScoreCopies } from "./scores.ts";
import type { ScoreCopies } from "./scores.ts";
import { createAuthService } from "./service.ts";
import type { RegistrationListener } from "./service.ts";
import { createSettlements } from "./settlements.ts";
import { createSignatureNonces } from "./signature-nonces.ts";
import { createUsageReader } from "./usage.ts";

/** Dependencies of the auth feature. */
export interface AuthModuleDeps {
  connection: Connection;
  models: AgentModels;
  standings: Pick<Standings, "of">;
  clock: Clock;
  log: Logger;
  publicUrl: string;
  limits: Limits;
  metrics: Pick<Metrics, "addCounter">;
  onRegistered: RegistrationListener;
}

/** Takes the scores that budgets are multiplied by. It exists before the feature, because standings need it. */
export function scoreCopiesOf(connection: Connection): ScoreCopies {
  return createScoreCopies(accessModels(connection));
}

/** Registration, API keys, limits and budgets. */
export const authModule = defineFeature({
  routes: authRoutes,
  create(deps: AuthModuleDeps) {
    const { connection, models, standings, clock, log, publicUrl, limits, metrics, onRegistered } = deps;
    const access = accessModels(connection);
    const offsetMs = () => offsetMsOf(clock);
    const warn = (message: string) => (error: unknown) => {
      log.warn({ err: error }, message);
    };
    const settlements = createSettlements({
      models: access,
      offsetMs,
      onFailure: warn("couldn't settle calls; they are settled later"),
    });
    const countRefusal = createRefusals({
      models: access,
      offsetMs,
      onFailure: warn("couldn't count a refusal towards a suspension"),
    });
    const windows = createClientWindows(access, limits.rateLimits, offsetMs);
    const countPrepaid = metrics.addCounter({
      name: "prepaid_calls_total",
      help: "Prepaid calls that were served, by class",
      labels: ["class"],
    });
    const doorkeeper = createDoorkeeper({
      models: access,
      windows,
      settlements,
      countRefusal,
      limits,
      offsetMs,
      onPrepaid: (type) => {
        countPrepaid({ class: type });
      },
    });
    const apiKeys = createApiKeys(access, clock);
    const auth = createAuthService({ connection, models, standings, keys: apiKeys, clock, publicUrl, onRegistered });
    const readUsage = createUsageReader({ ...models, ...access }, limits, () => clock.now());
    const services: AuthDeps = { auth, apiKeys, readUsage };
    return {
      services,
      models: access,
      doorkeeper,
      signatureNonces: createSignatureNonces(models),
      keyStates: createKeyStates(access, offsetMs),
      flush: () => settlements.flush(),
      credit: createCredits(access),
    };
  },
});
