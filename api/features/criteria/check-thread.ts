import { parentPort } from "node:worker_threads";

import { checkExpression, expressionFault } from "./expression-check.ts";
import type { Subject } from "./expression-check.ts";
import { checkSchema, schemaFault } from "./schema-check.ts";
import type { Verdict } from "./verdict.ts";

/** A question about criteria. Schemas and expressions are written by strangers, so only this thread runs them. */
export type CheckTask =
  | { kind: "schema-fault"; schema: Record<string, unknown> }
  | { kind: "expression-fault"; expression: string }
  | { kind: "schema"; schema: Record<string, unknown>; value: unknown }
  | { kind: "expression"; expression: string; subject: Subject };

/** The answers by kind of question. A fault is a text, or undefined if there is none. */
export interface CheckAnswers {
  "schema-fault": string | undefined;
  "expression-fault": string | undefined;
  schema: Verdict;
  expression: Verdict;
}

function answer(task: CheckTask): CheckAnswers[CheckTask["kind"]] {
  switch (task.kind) {
    case "schema-fault":
      return schemaFault(task.schema);
    case "expression-fault":
      return expressionFault(task.expression);
    case "schema":
      return checkSchema(task.schema, task.value);
    case "expression":
      return checkExpression(task.expression, task.subject);
  }
}

parentPort?.on("message", (task: CheckTask) => {
  parentPort?.postMessage(answer(task));
});
