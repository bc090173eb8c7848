import type { ChangeStreamDocument } from "mongodb";

import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import { vectorOf } from "./embedding/vectors.ts";
import type { RemovedDocument, StoredDocument } from "./engine/search-table.ts";
import { watchFrom } from "./index/change-batches.ts";
import type { IndexSource, TableInUse } from "./index/index-source.ts";
import { isMostlyEmbedded } from "./index/pending-share.ts";
import { LISTING_FORMAT, LISTING_INDEX, listingFormat } from "./listing-format.ts";

const LOADED_AT_ONCE = 1_000;

/** What a listing's change means for the index. */
type Write = { put: StoredDocument<Listing>; isOtherModel: boolean } | { remove: RemovedDocument };

function writeOf(record: ListingRecord, model: string): Write {
  const { _id: id, revision, status, embedding } = record;
  if (status !== "active") return { remove: { id, revision } };
  const isOtherModel = embedding !== null && embedding.model !== model;
  const vector = embedding === null || isOtherModel ? null : vectorOf(embedding.vector);
  return { put: { document: toListing(record), revision, vector }, isOtherModel };
}

/** Puts the active listings into the index of discovery. @param model the current encoder's */
export function createListingSource(listings: ListingModel, model: string): IndexSource<ListingRecord> {
  return {
    name: LISTING_INDEX,
    format: LISTING_FORMAT,
    layout: listingFormat,
    connection: listings.db,
    watch: (from) => watchFrom<ListingRecord>(listings.collection, from),

    async load({ table, model: ofTable }, beforeWrite) {
      let batch: StoredDocument<Listing>[] = [];
      let count = 0;
      const flush = async (): Promise<void> => {
        await beforeWrite();
        await table.add(listingFormat, batch);
        count += batch.length;
        batch = [];
      };
      for await (const record of listings.find({ status: "active" }).lean<ListingRecord[]>().cursor()) {
        const write = writeOf(record, ofTable);
        if ("put" in write) batch.push(write.put);
        if (batch.length >= LOADED_AT_ONCE) await flush();
      }
      await flush();
      return count;
    },

    async apply(changes: readonly ChangeStreamDocument<ListingRecord>[], { table, model: ofTable }: TableInUse) {
      /** The last of each listing's changes has its newest version. */
      const writes = new Map<string, Write>();
      for (const change of changes) {
        if (change.operationType === "delete") {
          const { _id: id } = change.documentKey;
          writes.set(id, { remove: { id, revision: undefined } });
        } else if ("fullDocument" in change && change.fullDocument) {
          // A document that has been deleted since the change has none: null, although the type doesn't say so. Its deletion follows.
          writes.set(change.fullDocument._id, writeOf(change.fullDocument, ofTable));
        }
      }
      const all = [...writes.values()];
      const put = all.flatMap((each) => ("put" in each ? [each] : []));
      // The listing was embedded for the next index: in this one it keeps the vector that it has.
      const kept = await table.vectorsOf(
        listingFormat,
        put.filter(({ isOtherModel }) => isOtherModel).map(({ put: { document } }) => document),
      );
      await table.apply(
        listingFormat,
        put.map(({ put: stored }) => ({ ...stored, vector: stored.vector ?? kept.get(stored.document.id) ?? null })),
        all.flatMap((each) => ("remove" in each ? [each.remove] : [])),
      );
    },

    async isEmbedded() {
      const status = "active";
      const pending = await listings.countDocuments({ status, "embedding.model": { $ne: model } });
      return await isMostlyEmbedded(pending, () => listings.countDocuments({ status }));
    },
  };
}
