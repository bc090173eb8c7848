import type { Connection } from "mongoose";

import { PageSessions } from "../../http/page-session.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentModels } from "../agents/model.ts";
import { defineFeature } from "../feature.ts";
import type { ApiKeys } from "../identity/keys.ts";
import type { RequireStackWallet } from "../identity/service.ts";
import type { VerifySignIn } from "../identity/verify-sign-in.ts";
import { accessModels } from "../limits/access-model.ts";
import { createKeyManagement } from "./key-management.ts";
import { sessionRoutes } from "./routes.ts";
import type { SessionDeps } from "./routes.ts";
import { createSessions } from "./sessions.ts";
import { createSignedTexts } from "./signed-texts.ts";

/** Dependencies of the sessions feature. */
export interface SessionsModuleDeps {
  connection: Connection;
  models: AgentModels;
  clock: Clock;
  publicUrl: string;
  verifySignIn: VerifySignIn;
  apiKeys: ApiKeys;
  requireStackWallet: RequireStackWallet;
}

/** The sessions with which pages act for an agent. */
export const sessionsModule = defineFeature({
  routes: sessionRoutes,
  create(deps: SessionsModuleDeps) {
    const { connection, models, clock, publicUrl, verifySignIn, apiKeys, requireStackWallet } = deps;
    const { access } = accessModels(connection);
    const sessions = createSessions({ connection, models, access, verifySignIn, requireStackWallet, clock });
    const useSignedText = createSignedTexts({ models, verifySignIn });
    const services: SessionDeps = {
      sessions,
      keyManagement: createKeyManagement({ apiKeys, useSignedText }),
      useSignedText,
      pageSessions: new PageSessions(publicUrl),
      publicUrl,
      now: () => clock.now(),
    };
    return { services };
  },
});
