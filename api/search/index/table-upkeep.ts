import type { Logger } from "../../lib/logger.ts";
import type { TableInUse } from "./index-source.ts";
import type { IndexStateModel } from "./index-state.ts";

/** Keeps a table fast that is written: merges what small writes leave behind, and indexes its vectors again. */
export interface TableUpkeep {
  /**
   * Begins to tidy the table if it has been written enough. Nothing else is begun while that lasts. Waits until it is tidied if writes
   * were in the way of that before, for as long as they don't pause.
   * @param documents how many have been written since the last call
   */
  afterWrite(documents: number): Promise<void>;
  /** Begins to index the vectors if the table has grown or worn, unless something else lasts. */
  indexVectors(): void;
  /** Waits until the table isn't being tidied. */
  tidied(): Promise<void>;
}

/** Dependencies of the upkeep. */
export interface TableUpkeepDeps {
  /** Name of the index. */
  index: string;
  target: Pick<TableInUse, "name" | "table">;
  states: IndexStateModel;
  log: Logger;
  /** Milliseconds of a monotonic clock. */
  elapsedMs?: () => number;
}

/** Number of writes, or of changed documents, after which the table is tidied. */
const WRITES_TO_TIDY = 50;
const DOCUMENTS_TO_TIDY = 500;
/**
 * A table of fewer documents is tidied as soon as nothing changes, which takes a moment: until then, the engine counts the words of a
 * replaced row and those of the new one.
 */
const SOON_TIDIED_BELOW = 1_000;
/** The table isn't tidied again for so many times as long as it took. */
const TIDY_REST = 4;
/**
 * Vectors aren't counted and indexed again for so many times as long as it took. To index a million takes half a minute on two
 * processors.
 */
const REST = 20;

/** The upkeep of a table, for as long as one writer follows its changes. Searches and writes go on meanwhile. */
export function createTableUpkeep(deps: TableUpkeepDeps): TableUpkeep {
  const { index, target, states, log, elapsedMs = () => performance.now() } = deps;
  const { name, table } = target;
  /** Since the table was tidied. */
  let written = { writes: 0, documents: 0 };
  let tidying: Promise<void> | undefined;
  /** One work at a time: the engine refuses an index of vectors whose files have been merged in the meantime. */
  let working: Promise<void> | undefined;
  let restsUntil = -Infinity;
  let tidyRestsUntil = -Infinity;
  /** Whether tidying has failed, most likely because the engine lets a write win over it that has come meanwhile. */
  let isContested = false;

  function begin(work: Promise<void>): Promise<void> {
    working = work.finally(() => {
      working = undefined;
    });
    return work;
  }

  async function isUntidy(isIdle: boolean): Promise<boolean> {
    if (written.writes >= WRITES_TO_TIDY || written.documents >= DOCUMENTS_TO_TIDY) return true;
    return isIdle && written.writes > 0 && (await table.count()) < SOON_TIDIED_BELOW;
  }

  /** Takes seconds for a million documents. */
  async function tidy(): Promise<void> {
    const startedAt = elapsedMs();
    try {
      await table.tidy();
      tidyRestsUntil = elapsedMs() + (elapsedMs() - startedAt) * TIDY_REST;
    } catch (error) {
      // Not even alone: it isn't tried again for every write.
      if (!isContested) written.writes += WRITES_TO_TIDY;
      isContested = true;
      log.warn({ err: error, table: name }, "couldn't tidy the search index; the next writes wait for it");
    }
  }

  async function indexAgain(): Promise<void> {
    const startedAt = elapsedMs();
    try {
      const state = await states.findOne({ _id: index, table: name }).lean();
      const count = await table.vectorsToIndex(state?.indexedVectors ?? 0);
      if (count === 0) return;
      await table.indexVectors();
      await states.updateOne({ _id: index, table: name }, { indexedVectors: count });
      const ms = Math.round(elapsedMs() - startedAt);
      log.info({ table: name, count, ms }, "vectors of the search index indexed");
    } catch (error) {
      log.error({ err: error }, "couldn't index the vectors of the search index; trying again");
    } finally {
      restsUntil = elapsedMs() + (elapsedMs() - startedAt) * REST;
    }
  }

  return {
    async afterWrite(documents) {
      if (documents > 0) written = { writes: written.writes + 1, documents: written.documents + documents };
      if (documents === 0) isContested = false;
      if (working !== undefined || elapsedMs() < tidyRestsUntil || !(await isUntidy(documents === 0))) return;
      written = { writes: 0, documents: 0 };
      tidying = begin(tidy());
      if (isContested) await tidying;
    },
    indexVectors() {
      if (working === undefined && elapsedMs() >= restsUntil) void begin(indexAgain());
    },
    async tidied() {
      await tidying;
    },
  };
}
