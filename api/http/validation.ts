import type { z } from "zod";

import { isExactNumber } from "../lib/exact-number.ts";
import type { ValidationIssue } from "./errors.ts";

/** Maximum nesting of objects and arrays in a body. */
export const MAX_BODY_DEPTH = 32;

/** The issues of one part of a request (`body`, `query`, `params`). Each unknown field is an issue of its own. */
export function toIssues(part: string, error: z.ZodError): ValidationIssue[] {
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
export function structureIssues(body: object): ValidationIssue[] {
  const pending: { value: object; path: string; depth: number }[] = [{ value: body, path: "body", depth: 1 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path, depth } = next;
    if (depth > MAX_BODY_DEPTH) return [{ path: "body", message: `Nested deeper than ${MAX_BODY_DEPTH} levels` }];
    // A list may have a hundred thousand numbers, which need neither a name nor a place in the queue.
    const names = Array.isArray(value) ? undefined : Object.keys(value);
    const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const [index, child] of children.entries()) {
      const name = names?.[index];
      if (name?.isWellFormed() === false) return [{ path, message: "A field name isn't well-formed Unicode" }];
      if (name === "__proto__") return [{ path: `${path}.${name}`, message: "This field name isn't allowed" }];
      if (typeof child === "string" && !child.isWellFormed())
        return [{ path: `${path}.${name ?? index}`, message: "Text isn't well-formed Unicode" }];
      if (typeof child === "object" && child !== null)
        pending.push({ value: child, path: `${path}.${name ?? index}`, depth: depth + 1 });
    }
  }
  return [];
}

/** An object or array that the scan is inside of: the field names seen so far, or the index of the element. */
type OpenValue = { names: Set<string>; awaitsName: boolean; at: string } | { names?: never; at: number };

const INEXACT_NUMBER = "The number can't be kept exactly; send it as a string";
/** Maximum number of reported numbers. One body may have thousands, each deep in names of any length. */
const MAX_REPORTED_NUMBERS = 20;
const MAX_REPORTED_PATH = 1_000;

/**
 * Finds values that JSON.parse silently drops or changes: the first duplicate field of an object, or else the numbers that
 * a double can't hold. Reads the text once.
 * @param text well-formed JSON
 */
export function lossIssues(text: string): ValidationIssue[] {
  const open: OpenValue[] = [];
  const inexact: ValidationIssue[] = [];
  let reportsNumbers = true;
  const path = () => ["body", ...open.map(({ at }) => at)].join(".");
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
          if (current.names.has(current.at)) return [{ path: path(), message: "The field is given twice" }];
          current.names.add(current.at);
        }
        index = end;
        break;
      }
      default: {
        const end = endOfNumber(text, index);
        if (end === index) break;
        if (reportsNumbers && !isExactNumber(text.slice(index, end))) {
          const issue = { path: path(), message: INEXACT_NUMBER };
          inexact.push(issue);
          reportsNumbers = inexact.length < MAX_REPORTED_NUMBERS && issue.path.length <= MAX_REPORTED_PATH;
        }
        index = end - 1;
      }
    }
  }
  return inexact;
}

const [CODE_0, CODE_9, MINUS] = [48, 57, 45];
/** Beside digits, a number has these, as character codes: +, -, ., E and e. */
const NUMBER_CODES: readonly number[] = [43, MINUS, 46, 69, 101];
const isDigit = (code: number) => code >= CODE_0 && code <= CODE_9;

/** Index after the number that starts at an index; the index itself if none does. */
function endOfNumber(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first !== MINUS && !isDigit(first)) return start;
  let end = start + 1;
  for (let code = text.charCodeAt(end); isDigit(code) || NUMBER_CODES.includes(code); code = text.charCodeAt(end)) {
    end += 1;
  }
  return end;
}

/** Index of the quotation mark that ends the string starting at an index. */
function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (text[index] !== '"') index += text[index] === "\\" ? 2 : 1;
  return index;
}
