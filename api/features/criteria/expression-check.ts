import { Environment, EvaluationError } from "@marcbachmann/cel-js";

import type { Verdict } from "./verdict.ts";

/** The variables of an expression. */
export interface Subject {
  /** The response payload. */
  result: unknown;
  /** The request payload; null without one. */
  request: unknown;
  quantity: number;
}

const PREFIX = "cel:";
const LIMITS = { maxAstNodes: 500, maxDepth: 50, maxListElements: 100, maxMapEntries: 100, maxCallArguments: 8 };

const environment = new Environment({ limits: LIMITS, enableOptionalTypes: true })
  .registerVariable("result", "map")
  .registerVariable("request", "dyn")
  .registerVariable("quantity", "int")
  .registerFunction("words(string): int", (text: string) => BigInt(text.match(/\S+/gu)?.length ?? 0));

/** The CEL expression of a check that has one; undefined for a check in words. */
export function parseExpression(check: string): string | undefined {
  return check.startsWith(PREFIX) ? check.slice(PREFIX.length).trim() : undefined;
}

/** The error in an expression; undefined if it can be evaluated to true or false. */
export function expressionFault(expression: string): string | undefined {
  const { valid, type, error } = environment.check(expression);
  if (!valid) return firstLine(error?.message ?? "not a CEL expression");
  return type === "bool" || type === "dyn" ? undefined : `must be true or false, but is of type ${String(type)}`;
}

/**
 * Whether an expression holds. One that can't be evaluated for this result (a missing key, another type) doesn't hold:
 * otherwise a seller could escape a check by delivering something else.
 */
export function checkExpression(expression: string, { result, request, quantity }: Subject): Verdict {
  try {
    const value: unknown = environment.evaluate(expression, { result, request, quantity: BigInt(quantity) });
    if (typeof value === "boolean") return { result: value ? "pass" : "fail", detail: `evaluates to ${String(value)}` };
    return { result: "fail", detail: "evaluates to neither true nor false" };
  } catch (error) {
    if (error instanceof EvaluationError) return { result: "fail", detail: firstLine(error.message) };
    return {
      result: "open",
      detail: `can't be used: ${error instanceof Error ? firstLine(error.message) : "unknown"}`,
    };
  }
}

/** An error can quote half of a character that `substring` has cut: such a text has no canonical JSON. */
function firstLine(text: string): string {
  return (text.split("\n")[0] ?? text).toWellFormed();
}
