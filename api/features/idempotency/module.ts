import type { Connection } from "mongoose";

import type { Logger } from "../../lib/logger.ts";
import { defineFeature } from "../feature.ts";
import { StoredIdempotencyKeys, IDEMPOTENCY_TIMINGS } from "./keys.ts";
import type { IdempotencyTimings } from "./keys.ts";
import { idempotencyModel } from "./model.ts";

export type { IdempotencyTimings } from "./keys.ts";

/** Dependencies of the idempotency feature. */
export interface IdempotencyModuleDeps {
  connection: Connection;
  log: Logger;
  timings: IdempotencyTimings;
}

/** `Idempotency-Key`: remembers requests and their answers for a day. */
export const idempotencyModule = defineFeature({
  routes: [],
  timings: IDEMPOTENCY_TIMINGS,
  create({ connection, log, timings }: IdempotencyModuleDeps) {
    const model = idempotencyModel(connection);
    return { services: {}, models: { keys: model }, keys: new StoredIdempotencyKeys({ model, log, timings }) };
  },
});
