import type { IncomingHttpHeaders } from "node:http";

import { z } from "zod";

import { ApiError, validationError } from "../../http/errors.ts";

/** The version that a request expects (decision 48). */
export interface Condition {
  /** Versions of `If-Match`; `any` for `*`. Undefined without the header. */
  expected?: readonly number[] | "any" | undefined;
  /** True with `If-None-Match: *`: the entry must not exist. */
  mustBeNew: boolean;
}

const VERSION = String.raw`(?:"[1-9][0-9]{0,14}"|[1-9][0-9]{0,14})`;
const LIST = String.raw`^(?:\*|${VERSION}(?: ?, ?${VERSION}){0,9})$`;
const IF_MATCH = new RegExp(LIST);
const IF_MATCH_MESSAGE = 'Must be a version such as "3", up to ten of them, or *';

/** `If-Match`, for the API description. */
export const ifMatchHeader = {
  "If-Match": z.string().regex(IF_MATCH).optional().meta({
    description:
      'The version that the entry must have, as its `ETag` names it: `"3"` or `3`. `*` is any version. Otherwise 412 `version_mismatch`',
  }),
};

/** The headers of a write, for the API description. */
export const writeHeaders = {
  ...ifMatchHeader,
  // A pattern instead of a literal: generators of clients take a constant header for a mistake.
  "If-None-Match": z
    .string()
    .regex(/^\*$/)
    .optional()
    .meta({ description: "`*`: the entry must not exist yet. Otherwise 412 `version_mismatch`" }),
};

/** `ETag` of an answer with an entry, for the API description. */
export const etagHeader = {
  ETag: z
    .string()
    .regex(/^"[1-9][0-9]*"$/)
    .meta({ description: "The entry's version in quotation marks" }),
};

/** Reads the conditions of a request. @throws ApiError `validation_error` */
export function conditionOf(headers: IncomingHttpHeaders): Condition {
  const ifMatch = headers["if-match"];
  const ifNoneMatch = headers["if-none-match"];
  const issues = [
    ...(ifMatch !== undefined && !IF_MATCH.test(ifMatch)
      ? [{ path: "headers.if-match", message: IF_MATCH_MESSAGE }]
      : []),
    ...(ifNoneMatch !== undefined && ifNoneMatch !== "*"
      ? [{ path: "headers.if-none-match", message: "Must be *" }]
      : []),
  ];
  if (issues.length > 0) throw validationError(issues);
  return { expected: expectedVersions(ifMatch), mustBeNew: ifNoneMatch !== undefined };
}

function expectedVersions(ifMatch: string | undefined): Condition["expected"] {
  if (ifMatch === undefined) return undefined;
  if (ifMatch === "*") return "any";
  return ifMatch.split(",").map((version) => Number(version.replaceAll('"', "")));
}

/**
 * Compares an entry's version with what the request expects.
 * @param current null if the entry doesn't exist
 * @throws ApiError `version_mismatch`
 */
export function requireVersion({ expected, mustBeNew }: Condition, current: number | null): void {
  const isExpected = expected === undefined || (current !== null && (expected === "any" || expected.includes(current)));
  if (isExpected && !(mustBeNew && current !== null)) return;
  throw new ApiError("version_mismatch", {
    details: { expected: mustBeNew ? null : (expected ?? null), version: current },
  });
}

/** The `ETag` of a version. */
export function etagOf(version: number): { ETag: string } {
  return { ETag: `"${version}"` };
}
