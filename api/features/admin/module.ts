import type { Connection } from "mongoose";

import { createAdminStep } from "../../http/admin.ts";
import type { AdminAudit } from "../../http/admin.ts";
import type { Clock } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import { defineFeature } from "../feature.ts";
import { adminUseModel } from "./model.ts";

/** Dependencies of the admin feature. */
export interface AdminModuleDeps {
  connection: Connection;
  clock: Clock;
  /** Undefined for a service without admin routes. */
  adminApiKey: string | undefined;
}

/** The operator's key and the audit of its use. The admin routes belong to the features that they change. */
export const adminModule = defineFeature({
  routes: [],
  create({ connection, clock, adminApiKey }: AdminModuleDeps) {
    const uses = adminUseModel(connection);
    const audit: AdminAudit = {
      async begin(call) {
        const at = clock.now();
        const _id = newId("adm", at);
        await uses.create([{ _id, ...call, at, status: null }]);
        return _id;
      },
      async end(entryId, status) {
        await uses.updateOne({ _id: entryId }, { status });
      },
    };
    return {
      services: {},
      step: adminApiKey === undefined ? undefined : createAdminStep(adminApiKey, audit),
    };
  },
});
