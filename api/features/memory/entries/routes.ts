import { Readable } from "node:stream";

import { z } from "zod";

import { defineRoute } from "../../../http/define-route.ts";
import { encodeCursor } from "../../../http/query-params.ts";
import { parseCondition, etagHeader, etagOf, ifMatchHeader, writeHeaders } from "./conditions.ts";
import { exportLines } from "./export.ts";
import type { MemoryReader } from "./reader.ts";
import type { MemorySearch } from "./search.ts";
import * as schemas from "./schemas.ts";
import type { MemoryService } from "./service.ts";

/** Dependencies of the memory routes. */
export interface MemoryDeps {
  memory: MemoryService;
  memoryReader: MemoryReader;
  memorySearch: MemorySearch;
}

const tag = "Memory";
const writing = { auth: "apiKey", limitClass: "memoryWrite", budget: "api", tag } as const;
const reading = { auth: "apiKey", limitClass: "memoryRead", budget: "api", tag } as const;
const MEMORY_PATH = "/api/v1/memory";
const ENTRY_PATH = `${MEMORY_PATH}/{key}`;
const WRITE_ERRORS = ["memory_read_only", "memory_quota_exceeded"] as const;

const writeEntry = defineRoute({
  name: "memory.write",
  scope: "memory",
  ...writing,
  method: "POST",
  path: MEMORY_PATH,
  summary: "Writes a memory entry",
  description:
    "201 for a new entry, 200 for the next version of one. A write replaces value, tags and life. `If-Match` prevents " +
    "lost updates. Only the writing agent can read its memory.",
  body: schemas.writeBody,
  requestHeaders: writeHeaders,
  responses: { 200: schemas.entryAnswer, 201: schemas.entryAnswer },
  responseHeaders: etagHeader,
  errors: [...WRITE_ERRORS, "version_mismatch"],
}).handle(async ({ caller, body, headers, operation }, { memory }: MemoryDeps) => {
  const { entry, isNew } = await memory.write(caller.agentId, body, parseCondition(headers), operation);
  const answer = { headers: etagOf(entry.version), body: { success: true as const, data: entry } };
  return isNew ? { status: 201, ...answer } : { status: 200, ...answer };
});

const listEntries = defineRoute({
  name: "memory.list",
  scope: "memory",
  ...reading,
  method: "GET",
  path: MEMORY_PATH,
  summary: "Lists the memory entries of a namespace in the order of their keys",
  description:
    "A page may have fewer entries than `limit` if their values are large; `nextCursor` says whether there are more. " +
    "The namespace `audit` has an entry for every event of the caller's escrows.",
  query: schemas.listQuery,
  responses: { 200: schemas.entryListAnswer },
}).handle(async ({ caller, query }, { memoryReader }: MemoryDeps) => {
  const { cursor, ...wanted } = query;
  const { items, next } = await memoryReader.list(caller.agentId, { ...wanted, after: cursor?.after });
  const nextCursor = next === null ? null : encodeCursor({ after: next });
  return { status: 200, body: { success: true, data: items, nextCursor } };
});

const writeBatch = defineRoute({
  name: "memory.writeBatch",
  scope: "memory",
  ...writing,
  method: "POST",
  path: `${MEMORY_PATH}/batch`,
  summary: "Writes up to 100 memory entries, all or none",
  description: "Counts as one write. The answer has the entries in the order of the request.",
  body: schemas.batchBody,
  responses: { 200: schemas.batchAnswer },
  errors: WRITE_ERRORS,
}).handle(async ({ caller, body, operation }, { memory }: MemoryDeps) => ({
  status: 200,
  body: { success: true, data: await memory.writeBatch(caller.agentId, body.entries, operation) },
}));

const exportType = (accept: string | undefined): string =>
  accept?.startsWith("text/plain") === true ? "text/plain; charset=utf-8" : "application/x-ndjson";

const exportEntries = defineRoute({
  name: "memory.export",
  scope: "memory",
  ...reading,
  method: "GET",
  path: `${MEMORY_PATH}/export`,
  summary: "Exports the caller's memory, one entry a line",
  description:
    "Newline-delimited JSON: the current version of every entry, by namespace and key, those of `audit` included. A " +
    "request whose `Accept` begins with `text/plain` gets the same lines under that type.",
  query: schemas.exportQuery,
  // Client generators drop an answer without a media type that they know.
  produces: ["application/x-ndjson", "text/plain"],
  responses: { 200: z.string() },
}).handle(({ caller, query, headers, signal }, { memoryReader }: MemoryDeps) => ({
  status: 200,
  headers: { "Content-Type": exportType(headers.accept) },
  raw: Readable.from(exportLines(memoryReader, caller.agentId, query.namespace, signal)),
}));

const importEntries = defineRoute({
  name: "memory.import",
  scope: "memory",
  ...writing,
  method: "POST",
  path: `${MEMORY_PATH}/import`,
  summary: "Imports up to 100 exported memory entries, all or none",
  description:
    "`entries` are lines of an export. What is stored with the same value, tags and life stays as it is, so an import can " +
    "be repeated. Entries of `audit` and expired ones are skipped. Counts as one write.",
  body: schemas.importBody,
  responses: { 200: schemas.importAnswer },
  errors: ["memory_quota_exceeded"],
}).handle(async ({ caller, body, operation }, { memory }: MemoryDeps) => ({
  status: 200,
  body: { success: true, data: await memory.importEntries(caller.agentId, body.entries, operation) },
}));

const readEntry = defineRoute({
  name: "memory.read",
  scope: "memory",
  ...reading,
  method: "GET",
  path: ENTRY_PATH,
  summary: "Reads a memory entry or one of its last 50 versions",
  params: schemas.keyParams,
  query: schemas.readQuery,
  responses: { 200: schemas.entryAnswer },
  responseHeaders: etagHeader,
  errors: ["not_found"],
}).handle(async ({ caller, params, query }, { memoryReader }: MemoryDeps) => {
  const { namespace, version } = query;
  const data = await memoryReader.read(caller.agentId, { namespace, key: params.key }, version);
  return { status: 200, headers: etagOf(data.version), body: { success: true, data } };
});

const readHistory = defineRoute({
  name: "memory.readHistory",
  scope: "memory",
  ...reading,
  method: "GET",
  path: `${ENTRY_PATH}/history`,
  summary: "Lists the last 50 versions of a memory entry, newest first",
  params: schemas.keyParams,
  query: schemas.historyQuery,
  responses: { 200: schemas.historyAnswer },
  errors: ["not_found"],
}).handle(async ({ caller, params, query }, { memoryReader }: MemoryDeps) => {
  const { namespace, limit, cursor } = query;
  const name = { namespace, key: params.key };
  const { items, next } = await memoryReader.history(caller.agentId, name, { limit, before: cursor?.before });
  const nextCursor = next === null ? null : encodeCursor({ before: next });
  return { status: 200, body: { success: true, data: items, nextCursor } };
});

const renewEntry = defineRoute({
  name: "memory.renew",
  scope: "memory",
  ...writing,
  method: "POST",
  path: `${ENTRY_PATH}/renew`,
  summary: "Adds 90 days to the life of a memory entry",
  description: "The version stays the same. An entry's life ends ten years from now at the latest.",
  params: schemas.keyParams,
  query: schemas.entryQuery,
  requestHeaders: ifMatchHeader,
  responses: { 200: schemas.entryAnswer },
  responseHeaders: etagHeader,
  errors: ["not_found", "memory_read_only", "version_mismatch", "memory_renewal_limit_reached"],
}).handle(async ({ caller, params, query, headers, operation }, { memory }: MemoryDeps) => {
  const name = { ...query, key: params.key };
  const data = await memory.renew(caller.agentId, name, parseCondition(headers), operation);
  return { status: 200, headers: etagOf(data.version), body: { success: true, data } };
});

const removeEntry = defineRoute({
  name: "memory.delete",
  scope: "memory",
  ...writing,
  method: "DELETE",
  path: ENTRY_PATH,
  summary: "Deletes a memory entry with its history",
  description: "A later write of the same key starts at version 1.",
  params: schemas.keyParams,
  query: schemas.entryQuery,
  requestHeaders: ifMatchHeader,
  responses: { 200: schemas.removedAnswer },
  errors: ["not_found", "memory_read_only", "version_mismatch"],
}).handle(async ({ caller, params, query, headers, operation }, { memory }: MemoryDeps) => {
  const name = { ...query, key: params.key };
  await memory.remove(caller.agentId, name, parseCondition(headers), operation);
  return { status: 200, body: { success: true, data: { ...name, deleted: true } } };
});

const searchEntries = defineRoute({
  name: "memory.search",
  scope: "memory",
  method: "POST",
  path: `${MEMORY_PATH}/search`,
  tag,
  summary: "Finds memory entries by meaning and words",
  description:
    "The filters apply before the ranking. Search reads the first 2,000 characters of a value, with the key and the tags. " +
    "A written entry is found at once; one of a batch or an import first by its words and within seconds by its meaning.",
  auth: "apiKey",
  limitClass: "memorySearch",
  budget: "search",
  readsOnly: true,
  body: schemas.searchBody,
  responses: { 200: schemas.searchAnswer },
  errors: ["search_unavailable"],
}).handle(async ({ caller, body }, { memorySearch }: MemoryDeps) => ({
  status: 200,
  body: { success: true, data: await memorySearch.search(caller.agentId, body), nextCursor: null },
}));

export const memoryRoutes = [
  ...[writeEntry, listEntries, writeBatch, exportEntries, importEntries],
  ...[readEntry, readHistory, renewEntry, removeEntry, searchEntries],
];
