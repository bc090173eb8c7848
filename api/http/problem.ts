import { ERROR_CATALOGUE } from "./errors.ts";
import type { ErrorCode, ValidationIssue } from "./errors.ts";

/** Content type of an error by RFC 9457. */
export const PROBLEM_TYPE = "application/problem+json";
const JSON_TYPE = "application/json";

/** Whether an `Accept` header prefers problem details strictly: no preference at all keeps the API's own type. */
export function prefersProblem(accept: string): boolean {
  return accept.toLowerCase().includes(PROBLEM_TYPE) && qualityOf(PROBLEM_TYPE, accept) > qualityOf(JSON_TYPE, accept);
}

/** The quality that an `Accept` header gives a type, by the most specific range that matches (RFC 9110, 12.5.1); 0 if none does. */
function qualityOf(type: string, accept: string): number {
  const ranges = ["*/*", `${type.split("/")[0] ?? ""}/*`, type];
  let best = { specificity: -1, quality: 0 };
  for (const part of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = part.split(";").map((one) => one.trim());
    const specificity = ranges.indexOf(range);
    if (specificity <= best.specificity) continue;
    const given = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = given === undefined ? 1 : Number(given.slice("q=".length));
    best = { specificity, quality: Number.isFinite(quality) ? quality : 1 };
  }
  return best.quality;
}

/** Where the guide to errors describes a code. */
function typeOf(publicUrl: string, code: ErrorCode): string {
  return `${publicUrl}/guides/errors#${code}`;
}

/** Issues that a text names; `details` has them all. */
const NAMED_ISSUES = 5;

/** What is special about this error, for people. */
function detailOf({ message, details }: { message?: unknown; details?: unknown }): string | undefined {
  if (typeof message === "string") return message;
  if (!Array.isArray(details)) return (details as { hint?: string } | undefined)?.hint;
  const issues = (details as ValidationIssue[]).map((issue) => `${issue.path}: ${issue.message}`);
  const more = issues.length - NAMED_ISSUES;
  return issues.slice(0, NAMED_ISSUES).join("; ") + (more > 0 ? `; and ${more} more` : "");
}

/**
 * An error's body with the members of RFC 9457 beside all of its own.
 * @param publicUrl the service's address, without a trailing slash
 */
export function toProblem(body: object, code: ErrorCode, publicUrl: string): object {
  const { status, text } = ERROR_CATALOGUE[code];
  return { type: typeOf(publicUrl, code), title: text, status, detail: detailOf(body) ?? text, ...body };
}
