import type { z } from "zod";

import type { ValidationIssue } from "./errors.ts";

/** Maximum nesting of objects and arrays in a body. */
export const MAX_BODY_DEPTH = 32;

/** The issues of one part of a request (`body`, `query`, `params`). Each unknown field is an issue of its own. */
export function issuesOf(part: string, error: z.ZodError): ValidationIssue[] {
  return error.issues.flatMap((issue) => {
    const path = [part, ...issue.path.map(String)].join(".");
    if (issue.code !== "unrecognized_keys") return [{ path, message: issue.message }];
    return issue.keys.map((key) => ({ path: `${path}.${key}`, message: "Unknown field" }));
  });
}

/**
 * Issues that no schema finds inside free-form objects: nesting so deep that later code could overflow its stack,
 * text that isn't Unicode (a lone surrogate can't be stored or hashed unchanged), and `__proto__` as a field name
 * (assigning it would change the prototype). Doesn't recurse.
 */
export function structureIssues(body: unknown): ValidationIssue[] {
  const pending: { value: unknown; path: string; depth: number }[] = [{ value: body, path: "body", depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path, depth } = next;
    if (typeof value === "string" && !value.isWellFormed())
      return [{ path, message: "Text isn't well-formed Unicode" }];
    if (typeof value === "number" && !Number.isFinite(value)) return [{ path, message: "Number is too large" }];
    if (typeof value !== "object" || value === null) continue;
    if (depth > MAX_BODY_DEPTH) return [{ path: "body", message: `Nested deeper than ${MAX_BODY_DEPTH} levels` }];
    for (const [key, child] of Object.entries(value)) {
      if (!key.isWellFormed()) return [{ path, message: "A field name isn't well-formed Unicode" }];
      if (key === "__proto__") return [{ path: `${path}.${key}`, message: "This field name isn't allowed" }];
      pending.push({ value: child, path: `${path}.${key}`, depth: depth + 1 });
    }
  }
  return [];
}

/** An object or array that the scan is inside of: the field names seen so far, or the index of the element. */
type OpenValue = { names: Set<string>; awaitsName: boolean; at: string } | { names?: never; at: number };

/**
 * Finds the first field that an object has twice. JSON.parse keeps only the last one, so the stored value would differ
 * from what was sent.
 * @param text well-formed JSON
 */
export function repeatedFieldIssues(text: string): ValidationIssue[] {
  const open: OpenValue[] = [];
  for (let index = 0; index < text.length; index += 1) {
    const current = open.at(-1);
    switch (text[index]) {
      case "{":
        open.push({ names: new Set(), awaitsName: true, at: "" });
        break;
      case "[":
        open.push({ at: 0 });
        break;
      case "}":
      case "]":
        open.pop();
        break;
      case ",":
        if (current?.names === undefined) (current as { at: number }).at += 1;
        else current.awaitsName = true;
        break;
      case '"': {
        const end = endOfString(text, index);
        if (current?.names !== undefined && current.awaitsName) {
          current.awaitsName = false;
          current.at = JSON.parse(text.slice(index, end + 1)) as string;
          if (current.names.has(current.at)) {
            return [{ path: ["body", ...open.map(({ at }) => at)].join("."), message: "The field is given twice" }];
          }
          current.names.add(current.at);
        }
        index = end;
        break;
      }
    }
  }
  return [];
}

/** Index of the quotation mark that ends the string starting at an index. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text[index] !== '"') index += text[index] === "\\" ? 2 : 1;
  return index;
}
