import { z } from "zod";

import {
  MEMORY_BATCH_ENTRIES,
  MEMORY_LENGTHS,
  MEMORY_TTL_SECONDS,
  MEMORY_VALUE_MAX_BYTES,
} from "../../../config/constants.ts";
import { dataOf, listOf, timestampOutput } from "../../../http/common-schemas.ts";
import { pageCursor, pageLimit, queryInteger } from "../../../http/query-params.ts";
import { textSchema } from "../../../http/text-schema.ts";
import { AUDIT_NAMESPACE, DEFAULT_NAMESPACE } from "../names.ts";

/** White space, control characters and marks that change the direction of text, as ranges that all JSON Schema validators support. */
const NOT_IN_NAMES = String.raw`\s\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff`;
/** `.` and `..` are special in a path, and `export` is a route. */
const RESERVED_KEYS = String.raw`(?!(?:\.{1,2}|export)$)`;
const NAME_RULE = "without white space, control characters and marks that change the direction of text";

/** A string of 1 to `max` characters without white space. */
function nameSchema(max: number, reserved = "") {
  const pattern = `^${reserved}[^${NOT_IN_NAMES}]{1,${max}}$`;
  const except = reserved === "" ? "" : "; `.`, `..` and `export` aren't keys";
  return z
    .string()
    .regex(new RegExp(pattern, "u"), `Must have 1 to ${max} characters, ${NAME_RULE}${except}`)
    .meta({ override: { type: "string", pattern } });
}

const KEY_RULE = "1 to 256 characters. In a path it is URL-encoded, so `/` becomes `%2F`";
const key = nameSchema(MEMORY_LENGTHS.key, RESERVED_KEYS).describe(KEY_RULE);
/** No entry has a reserved key, so a path with one is 404. */
const keyInPath = nameSchema(MEMORY_LENGTHS.key).describe(KEY_RULE);
const tag = nameSchema(MEMORY_LENGTHS.tag);
const tags = z
  .array(tag)
  .max(MEMORY_LENGTHS.tags)
  .transform((given) => [...new Set(given)]);
const namespace = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must have 1 to 64 of a-z, 0-9, `.`, `_` and `-`, a letter or digit first");
const ttlSeconds = z.int().min(MEMORY_TTL_SECONDS.min).max(MEMORY_TTL_SECONDS.max);

/** Any JSON value, kept as received. */
const value = z
  .unknown()
  .refine((given) => given !== undefined, { error: "Required", abort: true })
  .refine(
    (given) => Buffer.byteLength(JSON.stringify(given)) <= MEMORY_VALUE_MAX_BYTES,
    `Must be at most ${MEMORY_VALUE_MAX_BYTES} bytes of JSON`,
  )
  .meta({ description: "Any JSON value of at most 64 KB" });

/** The fields of a write. */
const entryFields = {
  key,
  namespace: namespace.default(DEFAULT_NAMESPACE),
  value,
  tags: tags.default([]).meta({ description: "Repeated tags count once" }),
};

/** Body of a write. */
export const writeBody = z
  .strictObject({
    ...entryFields,
    ttlSeconds: ttlSeconds
      .default(MEMORY_TTL_SECONDS.default)
      .meta({ description: "Life from now on, 90 days by default" }),
  })
  .meta({
    id: "MemoryRequest",
    examples: [{ key: "reports/risk", value: { pages: 3 }, tags: ["report"], ttlSeconds: 86_400 }],
  });

/** Body of a batch. */
export const batchBody = z.strictObject({ entries: z.array(writeBody).min(1).max(MEMORY_BATCH_ENTRIES) }).meta({
  id: "MemoryBatchRequest",
  examples: [{ entries: [{ key: "reports/tax", value: { pages: 12 }, tags: ["report"] }] }],
});

/** An entry to import: an unchanged line of an export. Fields that the service sets are accepted and ignored. */
const importedEntry = z.strictObject({
  ...entryFields,
  ttlSeconds: ttlSeconds.nullish(),
  expiresAt: z.iso.datetime().nullish().meta({ description: "In the past: the entry is skipped" }),
  version: z.int().min(1).optional().meta({ description: "Ignored" }),
  createdAt: z.iso.datetime().optional().meta({ description: "Ignored" }),
  updatedAt: z.iso.datetime().optional().meta({ description: "Ignored" }),
});

/** Body of an import. */
export const importBody = z.strictObject({ entries: z.array(importedEntry).min(1).max(MEMORY_BATCH_ENTRIES) }).meta({
  id: "MemoryImportRequest",
  examples: [
    { entries: [{ key: "reports/audit", namespace: "default", value: { pages: 5 }, tags: [], ttlSeconds: null }] },
  ],
});

/** The path parameter of an entry. */
export const keyParams = z.strictObject({ key: keyInPath });

/** `namespace` of a read. */
const namespaceQuery = { namespace: namespace.default(DEFAULT_NAMESPACE) };

/** Query of an operation on one entry. */
export const entryQuery = z.strictObject(namespaceQuery);

const MAX_VERSION = 1_000_000_000;

/** Query of a read. */
export const readQuery = z.strictObject({
  ...namespaceQuery,
  version: queryInteger({
    min: 1,
    max: MAX_VERSION,
    description: "An earlier version; the current one by default",
  }).optional(),
});

/** Query of a list. */
export const listQuery = z.strictObject({
  ...namespaceQuery,
  prefix: nameSchema(MEMORY_LENGTHS.key).optional().meta({ description: "What the keys start with" }),
  tag: tag.optional(),
  limit: pageLimit,
  cursor: pageCursor(
    z.strictObject({
      after: z
        .string()
        .min(1)
        .max(2 * MEMORY_LENGTHS.key),
    }),
  ).optional(),
});

/** Query of a history. */
export const historyQuery = z.strictObject({
  ...namespaceQuery,
  limit: pageLimit,
  cursor: pageCursor(z.strictObject({ before: z.int().min(1) })).optional(),
});

/** Query of an export. */
export const exportQuery = z.strictObject({
  namespace: namespace.optional().meta({ description: "Only this namespace; all of them by default" }),
});

const SEARCH_LENGTH = 1_000;
const MOST_RESULTS = 100;
const DEFAULT_RESULTS = 20;

/** Body of a search. */
export const searchBody = z
  .strictObject({
    query: textSchema({ kind: "query", max: SEARCH_LENGTH }),
    namespace: z
      .string()
      .regex(
        /^(?!audit$)[a-z0-9][a-z0-9._-]{0,63}$/,
        `Must be a namespace other than ${AUDIT_NAMESPACE}, which is listed by prefix and tag`,
      )
      .optional()
      .meta({ description: "Only this namespace; all but `audit` by default" }),
    tags: z.array(tag).max(MEMORY_LENGTHS.tags).default([]).meta({ description: "An entry must have all of them" }),
    prefix: nameSchema(MEMORY_LENGTHS.key).optional().meta({ description: "What the keys start with" }),
    limit: z.int().min(1).max(MOST_RESULTS).default(DEFAULT_RESULTS),
  })
  .meta({ id: "MemorySearchRequest", examples: [{ query: "reports on risks", tags: ["report"], limit: 5 }] });

const jsonValue = z.unknown().meta({ description: "The value as it was written" });

/** An entry in an answer. */
export const entryOutput = z
  .object({
    key: z.string(),
    namespace: z.string(),
    value: jsonValue,
    tags: z.array(z.string()),
    version: z.int().min(1),
    ttlSeconds: z.int().nullable().meta({ description: "Null for an audit entry, which never expires" }),
    expiresAt: timestampOutput.nullable(),
    createdAt: timestampOutput,
    updatedAt: timestampOutput.meta({ description: "When this version was written" }),
  })
  .meta({ id: "MemoryEntry" });

/** One version in a history. */
const versionOutput = z
  .object({
    version: z.int().min(1),
    value: jsonValue,
    tags: z.array(z.string()),
    updatedAt: timestampOutput,
  })
  .meta({ id: "MemoryVersion" });

export const entryAnswer = dataOf(entryOutput);
export const batchAnswer = dataOf(z.array(entryOutput)).meta({ id: "MemoryBatchAnswer" });
export const entryListAnswer = listOf(entryOutput);
export const historyAnswer = listOf(versionOutput);
export const searchAnswer = listOf(
  entryOutput.and(z.object({ relevance: z.number().min(0).max(1) })).meta({ id: "MemoryMatch" }),
);
export const removedAnswer = dataOf(
  z.object({ key: z.string(), namespace: z.string(), deleted: z.literal(true) }).meta({ id: "RemovedMemoryEntry" }),
);
export const importAnswer = dataOf(
  z
    .object({
      created: z.int(),
      updated: z.int(),
      unchanged: z.int(),
      skipped: z
        .array(
          z.object({ index: z.int(), key: z.string(), namespace: z.string(), reason: z.enum(["audit", "expired"]) }),
        )
        .meta({ description: "Entries that can't be imported, by their place in `entries`" }),
    })
    .meta({ id: "MemoryImport" }),
);
