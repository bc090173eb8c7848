import type { Connection } from "@lancedb/lancedb";

import type { ObjectStoreSettings } from "../../config/search-index.ts";
import { COLUMNS, loadEngine, buildSchema } from "./lance-rows.ts";
import { lanceTable } from "./lance-table.ts";
import type { SearchTables } from "./search-table.ts";
import { toStorageOptions } from "./storage-options.ts";

/** Delay before a process notices another process's writes. */
const CONSISTENCY_SECONDS = 0.25;

/**
 * Opens the tables at an address. Nothing is read before the first call.
 * @param store what an address of S3 needs
 */
export function openLanceTables(url: string, store?: ObjectStoreSettings): SearchTables {
  let connecting: Promise<Connection> | undefined;
  const connect = async (): Promise<Connection> => {
    connecting ??= loadEngine().then(({ connect }) =>
      connect(url, { readConsistencyInterval: CONSISTENCY_SECONDS, storageOptions: toStorageOptions(store) }),
    );
    try {
      return await connecting;
    } catch (error) {
      connecting = undefined;
      throw error;
    }
  };
  return {
    async names() {
      const names: string[] = [];
      let pageToken: string | undefined;
      do {
        const page = await (await connect()).listTables({ ...(pageToken === undefined ? {} : { pageToken }) });
        names.push(...page.tables);
        pageToken = page.pageToken;
      } while (pageToken !== undefined);
      return names;
    },
    open: async (name) => lanceTable(await (await connect()).openTable(name)),
    async create(name, format, dimensions) {
      const { Index } = await loadEngine();
      const table = await (await connect()).createEmptyTable(name, await buildSchema(format, dimensions));
      await table.createIndex(COLUMNS.id, { config: Index.btree() });
      await table.createIndex(COLUMNS.embedded, { config: Index.bitmap() });
      await table.createIndex(COLUMNS.words, {
        config: Index.fts({
          stem: true,
          removeStopWords: true,
          asciiFolding: true,
          lowercase: true,
          withPosition: false,
        }),
      });
      for (const [column, kind] of Object.entries(format.columns)) {
        if (kind === "unindexed number") continue;
        const config = kind === "choice" ? Index.bitmap() : kind === "labels" ? Index.labelList() : Index.btree();
        await table.createIndex(column, { config });
      }
      return lanceTable(table);
    },
    async drop(name) {
      await (await connect()).dropTable(name);
    },
  };
}
