import { z } from "zod";

import { dataOf, jsonObject } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { transactionParams } from "../transactions/schemas.ts";
import { FACT_NAMES } from "./facts.ts";
import type { Checker } from "./service.ts";
import { RESULTS } from "./verdict.ts";

/** Dependencies of the criteria routes. */
export interface CriteriaDeps {
  checker: Checker;
}

const result = z.enum(RESULTS).meta({ description: "`open`: needs judgement, or couldn't be evaluated" });
const detail = z.string().meta({ description: "The reason" });

const checkBody = z
  .strictObject({
    responsePayload: jsonObject
      .optional()
      .meta({ description: "Only from the seller before the delivery. By default the payload that was handed over" }),
  })
  .meta({ id: "CheckRequest", examples: [{ responsePayload: { summary: "The owner can pause" } }] });

const checkAnswer = dataOf(
  z
    .object({
      facts: z.array(z.object({ name: z.enum(FACT_NAMES), result, detail }).meta({ id: "Fact" })),
      checks: z.array(
        z
          .object({
            text: z.string(),
            kind: z.enum(["expression", "words"]).meta({ description: "Only an expression is evaluated" }),
            result,
            detail,
          })
          .meta({ id: "CriteriaCheck" }),
      ),
      result: result.meta({ description: "`fail` if anything fails, else `open` if anything is open, else `pass`" }),
      indexedBlock: z.int().meta({ description: "Subgraph block at which the deal's state was read" }),
    })
    .meta({ id: "CheckResult" }),
);

const checkPayload = defineRoute({
  name: "transactions.check",
  scope: "read",
  method: "POST",
  path: "/api/v1/transactions/{id}/check",
  tag: "Transactions",
  summary: "Checks a payload against the criteria before money moves",
  description:
    "Evaluates what code can decide: the schema, the checks that begin with `cel:`, and how the payload was handed over. " +
    "The seller may try any payload before delivering; the buyer checks the delivered one before accepting. Nothing is " +
    "stored.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  readsOnly: true,
  params: transactionParams,
  body: checkBody,
  responses: { 200: checkAnswer },
  errors: [
    "not_found",
    "transaction_not_funded",
    "criteria_not_available",
    "wrong_role",
    "escrow_state_conflict",
    "criteria_check_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, body, caller, signal }, { checker }: CriteriaDeps) => {
  const report = await checker.check(caller.agentId, params.id, body.responsePayload, signal);
  return { status: 200, body: { success: true, data: report } };
});

export const criteriaRoutes = [checkPayload];
