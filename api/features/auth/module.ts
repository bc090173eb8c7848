import type { Connection } from "mongoose";

import { createAuthenticator } from "../../http/authenticate.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import { defineFeature } from "../feature.ts";
import { createApiKeys } from "./keys.ts";
import { authRoutes } from "./routes.ts";
import type { AuthDeps } from "./routes.ts";
import { createAuthService } from "./service.ts";
import type { RegistrationListener } from "./service.ts";
import { createSignatureNonces } from "./signature-nonces.ts";

/** Dependencies of the auth feature. */
export interface AuthModuleDeps {
  connection: Connection;
  models: AgentModels;
  clock: Clock;
  publicUrl: string;
  onRegistered: RegistrationListener;
}

/** Registration and API keys. */
export const authModule = defineFeature({
  routes: authRoutes,
  create({ connection, models, clock, publicUrl, onRegistered }: AuthModuleDeps) {
    const apiKeys = createApiKeys(models, clock);
    const auth = createAuthService({ connection, models, keys: apiKeys, clock, publicUrl, onRegistered });
    const services: AuthDeps = { auth, apiKeys };
    return { services, authenticator: createAuthenticator(apiKeys), signatureNonces: createSignatureNonces(models) };
  },
});
