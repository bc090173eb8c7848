import type { Connection } from "mongoose";

import type { Network } from "../../config/constants.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import { defineFeature } from "../feature.ts";
import { createKyaLevels } from "./levels.ts";
import { createKyaModels } from "./model.ts";
import { createLinkPaymentMethod } from "./payment-method.ts";
import type { PaymentMethodChain } from "./payment-method.ts";
import { kyaRoutes } from "./routes.ts";
import type { KyaDeps } from "./routes.ts";

/** Dependencies of the KYA feature. */
export interface KyaModuleDeps {
  connection: Connection;
  agents: Pick<AgentModels, "agents" | "nonces">;
  chains: Readonly<Record<Network, PaymentMethodChain>>;
  clock: Clock;
}

/** Know Your Agent levels: by mail, by payment method, by an admin. */
export const kyaModule = defineFeature({
  routes: kyaRoutes,
  create({ connection, agents: { agents, nonces }, chains, clock }: KyaModuleDeps) {
    const models = createKyaModels(connection);
    const levels = createKyaLevels({ connection, agents, changes: models.changes, clock });
    const services: KyaDeps = {
      kyaLevels: levels,
      linkPaymentMethod: createLinkPaymentMethod({ connection, chains, levels, nonces, clock }),
    };
    return { services, models, levels };
  },
});
