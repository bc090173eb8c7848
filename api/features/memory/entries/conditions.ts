import type { IncomingHttpHeaders } from "node:http";

import { z } from "zod";

import { ApiError, validationError } from "../../../http/errors.ts";

/** The versions in a header; `any` for `*`. */
type Versions = readonly number[] | "any";

/** A request's conditions on the entry's version. */
export interface Condition {
  /** Versions of `If-Match`: the entry must have one of them. Undefined without the header. */
  expected?: Versions | undefined;
  /** Versions of `If-None-Match`: the entry must have none of them. With `any` it must not exist. */
  unwanted?: Versions | undefined;
}

// A proxy that compresses an answer makes its ETag weak. By RFC 9110 a weak one never matches in `If-Match`, because its
// bytes may differ. Here it is a version, which doesn't depend on the encoding.
const VERSION = String.raw`(?:(?:W/)?"[1-9][0-9]{0,14}"|[1-9][0-9]{0,14})`;
const VERSIONS = new RegExp(String.raw`^(?:\*|${VERSION}(?:[ \t]*,[ \t]*${VERSION}){0,9})$`);
const VERSIONS_MESSAGE = 'Must be a version such as "3", up to ten of them, or *';

/** `If-Match`, for the API description. */
export const ifMatchHeader = {
  "If-Match": z
    .string()
    .regex(VERSIONS)
    .optional()
    .meta({
      description:
        'The version that the entry must have, as its `ETag` names it: `"3"`, `W/"3"` or `3`, or a list of up to ten. `*` is any version. ' +
        "Otherwise 412 `version_mismatch`",
    }),
};

/** The headers of a write, for the API description. */
export const writeHeaders = {
  ...ifMatchHeader,
  "If-None-Match": z.string().regex(VERSIONS).optional().meta({
    description:
      "`*`: the entry must not exist yet. Versions as in `If-Match`: it must have none of them. Otherwise 412 `version_mismatch`",
  }),
};

/** `ETag` of an answer with an entry, for the API description. */
export const etagHeader = {
  ETag: z
    .string()
    .regex(/^"[1-9][0-9]*"$/)
    .meta({ description: "The entry's version in quotation marks" }),
};

/** Reads the conditions of a request. @throws ApiError `validation_error` */
export function parseCondition(headers: IncomingHttpHeaders): Condition {
  const given = { "if-match": headers["if-match"], "if-none-match": headers["if-none-match"] };
  const issues = Object.entries(given)
    .filter(([, value]) => value !== undefined && !VERSIONS.test(value))
    .map(([name]) => ({ path: `headers.${name}`, message: VERSIONS_MESSAGE }));
  if (issues.length > 0) throw validationError(issues);
  return { expected: parseVersions(given["if-match"]), unwanted: parseVersions(given["if-none-match"]) };
}

function parseVersions(header: string | undefined): Versions | undefined {
  if (header === undefined) return undefined;
  return header === "*" ? "any" : (header.match(/\d+/g) ?? []).map(Number);
}

const includes = (versions: Versions, current: number | null): boolean =>
  current !== null && (versions === "any" || versions.includes(current));

/**
 * Compares an entry's version with the request's conditions.
 * @param current null if the entry doesn't exist
 * @throws ApiError `version_mismatch`
 */
export function requireVersion({ expected, unwanted }: Condition, current: number | null): void {
  const isExpected = expected === undefined || includes(expected, current);
  const isUnwanted = unwanted !== undefined && includes(unwanted, current);
  if (isExpected && !isUnwanted) return;
  throw new ApiError("version_mismatch", {
    details: { expected: unwanted === undefined ? (expected ?? null) : null, version: current },
  });
}

/** The `ETag` of a version. */
export function etagOf(version: number): { ETag: string } {
  return { ETag: `"${version}"` };
}
