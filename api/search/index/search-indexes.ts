import type { Document as Record } from "mongodb";
import type { Connection } from "mongoose";

import type { ObjectStoreSettings } from "../../config/search-index.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import { Lease, leaseModel } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { openLanceTables } from "../engine/lance-tables.ts";
import type { TableFormat } from "../engine/table-format.ts";
import { IndexReader } from "./index-reader.ts";
import type { IndexSource } from "./index-source.ts";
import { indexStateModel } from "./index-state.ts";
import { IndexWriter } from "./index-writer.ts";

/** Dependencies of the indexes. */
export interface SearchIndexesDeps {
  connection: Connection;
  /** Where the indexes are: a folder, or a prefix of an object store. */
  indexUrl: string;
  /** Undefined unless the address is one of S3. */
  indexStore: ObjectStoreSettings | undefined;
  encoder: { model: string; dimensions: number };
  /** Names this process in the writers' leases. */
  processId: string;
  now: () => Date;
  log: Logger;
}

/** Longer than any pause of a working process, and shorter than a listing may take to be found. */
const LEASE_MS = 10_000;

/** The indexes of a database, each with a writer in one worker and readers in every process. */
export interface SearchIndexes {
  reader<Document extends { id: string }, Filter>(
    name: string,
    format: TableFormat<Document, Filter>,
  ): IndexReader<Document, Filter>;
  /** @param loop the background loop's name */
  writer<Changed extends Record>(loop: string, source: IndexSource<Changed>): BackgroundLoop;
}

/** Opens the indexes of a database. Nothing is read before the first search. */
export function openSearchIndexes({
  connection,
  indexUrl,
  indexStore,
  encoder,
  processId,
  now,
  log,
}: SearchIndexesDeps): SearchIndexes {
  const states = indexStateModel(connection);
  // The tables of another database aren't this one's to drop.
  const tables = openLanceTables(`${indexUrl}/${connection.name}`, indexStore);
  return {
    reader: (name, format) => new IndexReader({ name, states, tables, format, model: encoder.model, now }),
    writer(loop, source) {
      const lease = new Lease({
        leases: leaseModel(connection),
        name: `${source.name}-index`,
        owner: processId,
        ttlMs: LEASE_MS,
      });
      return new IndexWriter({ loop, source, states, tables, lease, encoder, now, log });
    },
  };
}
