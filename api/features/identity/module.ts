import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import { offsetMsOf } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import type { Standings } from "../agents/standings.ts";
import { defineFeature } from "../feature.ts";
import { accessModels } from "../limits/access-model.ts";
import { createKeyStates } from "./key-states.ts";
import { mandateModel } from "../mandates/model.ts";
import { createApiKeys } from "./keys.ts";
import { createMandatedKeys } from "./mandated-keys.ts";
import { identityRoutes } from "./routes.ts";
import type { IdentityDeps } from "./routes.ts";
import { createIdentityService } from "./service.ts";
import type { RegistrationListener, RequireStackWallet } from "./service.ts";
import { createSignatureNonces } from "./signature-nonces.ts";
import { createSignInVerifier } from "./verify-sign-in.ts";

/** Dependencies of the identity feature. */
export interface IdentityModuleDeps {
  connection: Connection;
  models: AgentModels;
  standings: Pick<Standings, "of">;
  clock: Clock;
  publicUrl: string;
  onRegistered: RegistrationListener;
  requireStackWallet: RequireStackWallet;
}

/** Registration, API keys and sign-in. */
export const identityModule = defineFeature({
  routes: identityRoutes,
  create({ connection, models, standings, clock, publicUrl, onRegistered, requireStackWallet }: IdentityModuleDeps) {
    const access = accessModels(connection);
    const mandates = mandateModel(connection);
    const apiKeys = createApiKeys({ ...access, mandates, connection }, clock);
    const verifySignIn = createSignInVerifier({ publicUrl, clock });
    const identity = createIdentityService({
      connection,
      models,
      standings,
      keys: apiKeys,
      clock,
      verify: verifySignIn,
      onRegistered,
      requireStackWallet,
    });
    const issueMandatedKey = createMandatedKeys({ connection, models, mandates, keys: apiKeys, clock, publicUrl });
    const services: IdentityDeps = { identity, apiKeys, issueMandatedKey, now: () => clock.now() };
    return {
      services,
      verifySignIn,
      signatureNonces: createSignatureNonces(models),
      keyStates: createKeyStates(access, () => offsetMsOf(clock)),
    };
  },
});
