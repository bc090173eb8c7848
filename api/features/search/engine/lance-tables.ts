import type { Connection, Table } from "@lancedb/lancedb";

import type { ObjectStoreSettings } from "../../../config/search-index.ts";
import { storageOptionsOf } from "./storage-options.ts";
import type { TableFormat } from "./table-format.ts";

/*
 * The engine is a native library of some hundred megabytes. It is loaded with the first table, so that a process that never
 * searches doesn't carry it.
 */
const loadEngine = async () => await import("@lancedb/lancedb");
const loadArrow = async () => await import("apache-arrow");

/** After how long a process notices what another one has written. */
const CONSISTENCY_SECONDS = 0.25;

/** Columns that every table has. */
export const COLUMNS = {
  id: "id",
  revision: "revision",
  words: "words",
  vector: "vector",
  document: "document",
} as const;

/** A document with what search needs to know about it. */
export interface StoredDocument<Document> {
  document: Document;
  /** Rises with every change. A write never replaces a newer revision. */
  revision: number;
  /** Null until the text is embedded. */
  vector: Float32Array | null;
}

/** Tables of documents at an address: a folder, or a prefix of an object store such as `s3://bucket/prefix`. */
export interface LanceTables {
  names(): Promise<string[]>;
  open(name: string): Promise<Table>;
  /** Creates a table with its indexes and no documents. @param dimensions length of the vectors */
  create(name: string, format: Pick<TableFormat<never, never>, "columns">, dimensions: number): Promise<Table>;
  drop(name: string): Promise<void>;
}

/**
 * Opens the tables at an address. Nothing is read before the first call.
 * @param store what an address of S3 needs
 */
export function openLanceTables(url: string, store?: ObjectStoreSettings): LanceTables {
  let connecting: Promise<Connection> | undefined;
  const connect = async (): Promise<Connection> => {
    connecting ??= loadEngine().then(({ connect }) =>
      connect(url, { readConsistencyInterval: CONSISTENCY_SECONDS, storageOptions: storageOptionsOf(store) }),
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
    open: async (name) => await (await connect()).openTable(name),
    async create(name, format, dimensions) {
      const { Index } = await loadEngine();
      const table = await (await connect()).createEmptyTable(name, await schemaOf(format, dimensions));
      await table.createIndex(COLUMNS.id, { config: Index.btree() });
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
        const config = kind === "choice" ? Index.bitmap() : kind === "labels" ? Index.labelList() : Index.btree();
        await table.createIndex(column, { config });
      }
      return table;
    },
    async drop(name) {
      await (await connect()).dropTable(name);
    },
  };
}

async function schemaOf({ columns }: Pick<TableFormat<never, never>, "columns">, dimensions: number) {
  const { Field, FixedSizeList, Float32, Float64, Int32, List, Schema, Utf8 } = await loadArrow();
  const types = {
    choice: () => new Utf8(),
    key: () => new Utf8(),
    number: () => new Float64(),
    labels: () => new List(new Field("item", new Utf8(), true)),
  };
  return new Schema([
    new Field(COLUMNS.id, new Utf8(), false),
    new Field(COLUMNS.revision, new Int32(), false),
    new Field(COLUMNS.words, new Utf8(), false),
    new Field(COLUMNS.vector, new FixedSizeList(dimensions, new Field("item", new Float32(), true)), true),
    ...Object.entries(columns).map(([name, kind]) => new Field(name, types[kind](), false)),
    new Field(COLUMNS.document, new Utf8(), false),
  ]);
}

/** Rows of documents in the form that the engine takes. */
export async function rowsOf<Document extends { id: string }>(
  table: Table,
  format: TableFormat<Document, never>,
  documents: readonly StoredDocument<Document>[],
) {
  const { makeArrowTable } = await loadEngine();
  const schema = await table.schema();
  const field = schema.fields.find(({ name }) => name === COLUMNS.vector);
  const dimensions = (field?.type as { listSize?: number } | undefined)?.listSize;
  const rows = documents.map(({ document, revision, vector }) => ({
    ...format.valuesOf(document),
    [COLUMNS.id]: document.id,
    [COLUMNS.revision]: revision,
    [COLUMNS.words]: format.wordsOf(document),
    // One of another length can't be stored. Its document is found by its words.
    [COLUMNS.vector]: vector?.length === dimensions ? vector : null,
    [COLUMNS.document]: format.serialize(document),
  }));
  return makeArrowTable(rows, { schema });
}
