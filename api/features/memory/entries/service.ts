import type { Connection } from "mongoose";
import type { z } from "zod";

import { MEMORY_RENEWAL_SECONDS, MEMORY_TTL_SECONDS } from "../../../config/constants.ts";
import { withTransaction } from "../../../db/connection.ts";
import { insertPlain } from "../../../db/plain-writes.ts";
import { ApiError, validationError } from "../../../http/errors.ts";
import type { Operation } from "../../../http/operation.ts";
import type { StoredEmbedding } from "../../../search/embedding/stored-embedding.ts";
import type { Embedder } from "../../../search/embedding/embedder.ts";
import { requireVersion } from "./conditions.ts";
import type { Condition } from "./conditions.ts";
import { startChange, removeEntries } from "../ledger.ts";
import type { MemoryQuota } from "../ledger.ts";
import type { EntryContent, MemoryModels } from "../model.ts";
import { AUDIT_NAMESPACE, entryIdOf } from "../names.ts";
import type { EntryName } from "../names.ts";
import { presentEntry } from "./presenter.ts";
import type { PresentedEntry } from "./presenter.ts";
import type { MemoryReader } from "./reader.ts";
import type { importBody, writeBody } from "./schemas.ts";
import { meaningOf } from "../index/search-text.ts";
import { writeEntries } from "./writer.ts";
import type { EntryDraft, Written } from "./writer.ts";

/** Dependencies of the memory service. */
export interface MemoryServiceDeps {
  connection: Connection;
  models: MemoryModels;
  reader: Pick<MemoryReader, "read">;
  quota: MemoryQuota;
  embedder: Embedder;
  now: () => Date;
}

export type EntryInput = z.output<typeof writeBody>;
export type ImportInput = z.output<typeof importBody>["entries"][number];

/** The result of an import. */
export interface ImportReport {
  created: number;
  updated: number;
  unchanged: number;
  skipped: { index: number; key: string; namespace: string; reason: "audit" | "expired" }[];
}

const SECOND_MS = 1_000;
/** How long a done operation is stored, in milliseconds: an hour longer than an Idempotency-Key. */
const DONE_KEPT_MS = 25 * 3_600_000;

/** @throws ApiError `memory_read_only` */
function requireWritable({ namespace }: EntryName): void {
  if (namespace === AUDIT_NAMESPACE) throw new ApiError("memory_read_only", { details: { namespace } });
}

/** @throws ApiError `validation_error` with the path of the second entry of the same name */
function requireDistinct(entries: readonly EntryName[]): void {
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const id = entryIdOf("", entry);
    if (seen.has(id)) throw validationError([{ path: `body.entries.${index}.key`, message: "The key is given twice" }]);
    seen.add(id);
  }
}

/** Writes, renews and deletes the entries of agents. */
export class MemoryService {
  readonly #deps: MemoryServiceDeps;

  constructor(deps: MemoryServiceDeps) {
    this.#deps = deps;
  }

  /** Writes one entry. @throws ApiError `memory_read_only`, `version_mismatch`, `memory_quota_exceeded` */
  async write(
    agentId: string,
    input: EntryInput,
    condition: Condition,
    operation: Operation,
  ): Promise<{ entry: PresentedEntry; isNew: boolean }> {
    requireWritable(input);
    const embedding = await this.#deps.embedder.embed(meaningOf(input.key, input.value), { owner: agentId });
    const at = this.#deps.now();
    const [written] = await writeEntries(this.#deps, {
      agentId,
      drafts: [toDraft(input, at, embedding)],
      condition,
      now: at,
      writeId: operation.newId("mem", at),
      mayHaveRun: operation.isRepeatable,
    });
    const { record, outcome } = written as Written;
    return { entry: presentEntry(record), isNew: outcome === "created" };
  }

  /** Writes several entries, all or none. They are embedded later. */
  async writeBatch(agentId: string, inputs: readonly EntryInput[], operation: Operation): Promise<PresentedEntry[]> {
    inputs.forEach(requireWritable);
    requireDistinct(inputs);
    const at = this.#deps.now();
    const written = await writeEntries(this.#deps, {
      agentId,
      drafts: inputs.map((input) => toDraft(input, at)),
      now: at,
      writeId: operation.newId("mem", at),
      mayHaveRun: operation.isRepeatable,
    });
    return written.map(({ record }) => presentEntry(record));
  }

  /**
   * Writes the entries of an export that differ from the stored ones. Importing the same entries again changes nothing,
   * because an exported entry keeps its expiry.
   */
  async importEntries(agentId: string, inputs: readonly ImportInput[], operation: Operation): Promise<ImportReport> {
    requireDistinct(inputs);
    const at = this.#deps.now();
    const skipped: ImportReport["skipped"] = [];
    const drafts = inputs.flatMap((input, index): EntryDraft[] => {
      const { key, namespace } = input;
      const draft = toDraft({ ...input, ttlSeconds: input.ttlSeconds ?? MEMORY_TTL_SECONDS.default }, at);
      const expiresAt = input.expiresAt == null ? draft.expiresAt : new Date(input.expiresAt);
      const isAudit = namespace === AUDIT_NAMESPACE;
      if (!isAudit && expiresAt > at) return [{ ...draft, expiresAt: capped(expiresAt, at) }];
      skipped.push({ index, key, namespace, reason: isAudit ? "audit" : "expired" });
      return [];
    });
    const order = { agentId, drafts, now: at, mayHaveRun: operation.isRepeatable, skipsEqual: true };
    const written =
      drafts.length === 0 ? [] : await writeEntries(this.#deps, { ...order, writeId: operation.newId("mem", at) });
    const countOf = (wanted: Written["outcome"]) => written.filter(({ outcome }) => outcome === wanted).length;
    return { created: countOf("created"), updated: countOf("updated"), unchanged: countOf("unchanged"), skipped };
  }

  /**
   * Adds 90 days to an entry's life. A repeat returns the current entry.
   * @throws ApiError `not_found`, `memory_read_only`, `version_mismatch`, `memory_renewal_limit_reached`
   */
  async renew(agentId: string, name: EntryName, condition: Condition, operation: Operation): Promise<PresentedEntry> {
    const renewed = await this.#changeEntry(
      agentId,
      name,
      condition,
      operation,
      async ({ record, totals, session, at }) => {
        const expiresAt = new Date(record.expiresAt.getTime() + MEMORY_RENEWAL_SECONDS * SECOND_MS);
        if (expiresAt > latestEnd(at)) {
          const details = { expiresAt: record.expiresAt.toISOString(), latest: latestEnd(at).toISOString() };
          throw new ApiError("memory_renewal_limit_reached", { details });
        }
        const change = { expiresAt, change: totals.changes };
        await this.#deps.models.entries.updateOne({ _id: record._id }, { $set: change }, { session });
        return presentEntry({ ...record, ...change });
      },
    );
    return renewed ?? this.#deps.reader.read(agentId, name);
  }

  /**
   * Deletes an entry with its history. A repeat doesn't delete an entry that was written under the same name since.
   * @throws ApiError `not_found`, `memory_read_only`, `version_mismatch`
   */
  async remove(agentId: string, name: EntryName, condition: Condition, operation: Operation): Promise<void> {
    await this.#changeEntry(agentId, name, condition, operation, ({ record, totals, session, at }) =>
      removeEntries(this.#deps.models, totals, [record], at, session),
    );
  }

  /**
   * Changes an entry once. An expired entry counts as missing, even if it is still stored.
   * @returns undefined if the operation has already taken effect: the entry may have changed or been replaced since
   * @throws ApiError `memory_read_only`, `not_found`, `version_mismatch`
   */
  async #changeEntry<T>(
    agentId: string,
    name: EntryName,
    condition: Condition,
    operation: Operation,
    change: (facts: {
      record: EntryContent;
      totals: Awaited<ReturnType<typeof startChange>>;
      session: Parameters<typeof startChange>[2];
      at: Date;
    }) => Promise<T>,
  ): Promise<T | undefined> {
    requireWritable(name);
    const { connection, models, now } = this.#deps;
    const at = now();
    const doneId = `${agentId}|${operation.newId("mem", at)}`;
    return withTransaction(connection, async (session) => {
      const totals = await startChange(models, agentId, session);
      if (operation.isRepeatable) {
        // Also for a first request: its process may have been paused while a repeat ran in another one.
        const done = await models.doneOperations.findById(doneId, null, { session }).lean();
        if (done !== null) return undefined;
      }
      const record = await models.entries
        .findOne({ _id: entryIdOf(agentId, name), expiresAt: { $gt: at } }, { embedding: 0 }, { session })
        .lean();
      if (record === null) throw new ApiError("not_found");
      requireVersion(condition, record.version);
      const changed = await change({ record, totals, session, at });
      if (operation.isRepeatable) {
        const expiresAt = new Date(at.getTime() + DONE_KEPT_MS);
        await insertPlain(models.doneOperations, [{ _id: doneId, expiresAt }], session);
      }
      return changed;
    });
  }
}

function toDraft(input: EntryInput, at: Date, embedding: StoredEmbedding | null = null): EntryDraft {
  const { namespace, key, value, tags, ttlSeconds } = input;
  const expiresAt = new Date(at.getTime() + ttlSeconds * SECOND_MS);
  return { namespace, key, valueJson: JSON.stringify(value), tags, ttlSeconds, expiresAt, embedding };
}

/** The latest allowed expiry of an entry. */
function latestEnd(at: Date): Date {
  return new Date(at.getTime() + MEMORY_TTL_SECONDS.max * SECOND_MS);
}

function capped(expiresAt: Date, at: Date): Date {
  return expiresAt > latestEnd(at) ? latestEnd(at) : expiresAt;
}
