import { defineFeature } from "../feature.ts";
import type { TransactionReader } from "../transactions/reader.ts";
import { createCriteriaEvaluator } from "./evaluator.ts";
import { criteriaRoutes } from "./routes.ts";
import type { CriteriaDeps } from "./routes.ts";
import { createChecker } from "./service.ts";

/** Dependencies of the criteria feature. */
export interface CriteriaModuleDeps {
  reader: TransactionReader;
}

/** The criteria of a deal, and the verdicts of code on a result. */
export const criteriaModule = defineFeature({
  routes: criteriaRoutes,
  create({ reader }: CriteriaModuleDeps) {
    const evaluator = createCriteriaEvaluator();
    const checker = createChecker({
      read: (transactionId, agentId, at) => reader.read(transactionId, agentId, at),
      evaluator,
    });
    const services: CriteriaDeps = { checker };
    return { services, evaluator };
  },
});
