import type { z } from "zod";

import type { ValidationIssue } from "./errors.ts";

/** Deepest nesting of objects and arrays that a body may have. */
export const MAX_BODY_DEPTH = 32;

/** The issues of one part of a request (`body`, `query`, `params`); an unknown field is one issue each. */
export function issuesOf(part: string, error: z.ZodError): ValidationIssue[] {
  return error.issues.flatMap((issue) => {
    const path = [part, ...issue.path.map(String)].join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: `${path}.${key}`, message: "Unknown field" }));
  });
}

/**
 * Refuses what no schema looks at inside free-form objects: nesting that would exhaust the stack of whoever walks the
 * value later, and texts that are not Unicode (a lone surrogate cannot be stored or hashed without changing it).
 * Walks without recursion.
 */
export function structureIssues(body: unknown): ValidationIssue[] {
  const pending: { value: unknown; path: string; depth: number }[] = [{ value: body, path: "body", depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path, depth } = next;
    if (typeof value === "string" && !value.isWellFormed())
      return [{ path, message: "Text is not well-formed Unicode" }];
    if (typeof value === "number" && !Number.isFinite(value)) return [{ path, message: "Number is too large" }];
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_BODY_DEPTH) return [{ path: "body", message: `Nested deeper than ${MAX_BODY_DEPTH} levels` }];
    for (const [key, child] of Object.entries(value)) {
      if (!key.isWellFormed()) return [{ path, message: "A field name is not well-formed Unicode" }];
      pending.push({ value: child, path: `${path}.${key}`, depth: depth + 1 });
    }
  }
  return [];
}
