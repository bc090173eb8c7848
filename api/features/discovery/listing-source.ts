import type { ChangeStreamDocument } from "mongodb";

import { NETWORKS } from "../../config/constants.ts";
import type { AgentDirectory } from "../agents/directory.ts";
import { STANDINGS_COLLECTION } from "../agents/model.ts";
import type { StandingRecord } from "../agents/model.ts";
import { NEW_STANDING, walletsOn } from "../agents/standings.ts";
import type { Standings } from "../agents/standings.ts";
import { toListing } from "../listings/listing.ts";
import type { Listing } from "../listings/listing.ts";
import type { ListingModel, ListingRecord } from "../listings/model.ts";
import type { CategoryFit } from "./category-fit.ts";
import { toVector } from "../../search/embedding/vectors.ts";
import type { RemovedDocument, StoredDocument } from "../../search/engine/search-table.ts";
import { ChangeStreamEndedError, watchAllFrom } from "../../search/index/change-batches.ts";
import type { IndexSource, TableInUse } from "../../search/index/index-source.ts";
import { LISTING_INDEX, listingFormat, computeRankingValues, stepsUpdate } from "./listing-format.ts";
import { sellerStepsOf } from "./merit.ts";
import { readSellerHistories } from "./seller-histories.ts";

/** Dependencies of the source. */
export interface ListingSourceDeps {
  listings: ListingModel;
  standings: Pick<Standings, "of">;
  directory: Pick<AgentDirectory, "agentIdsByWallet">;
  loadCategoryFit: () => Promise<CategoryFit>;
  /** The current encoder's. */
  model: string;
}

/** Records that the index follows: listings, and the standings of their sellers. */
type Changed = ListingRecord | StandingRecord;
type Change = ChangeStreamDocument<Changed>;

/** The index write that follows from a listing's change. */
type Write = { put: StoredDocument<Listing> } | { remove: RemovedDocument };

const LOADED_AT_ONCE = 1_000;

function toWrite(record: ListingRecord, model: string): Write {
  const { _id: id, revision, status, embedding, moderation, suspension } = record;
  if (status !== "active" || (moderation ?? suspension) !== undefined) return { remove: { id, revision } };
  const vector = embedding?.model === model ? toVector(embedding.vector) : null;
  return { put: { document: toListing(record), revision, vector } };
}

/**
 * Puts the active listings that no operator hides into the discovery index, each with the values of its seller's standing. Standings are read when a
 * row is written and after each of their changes, so a row follows the newest of both.
 */
export function createListingSource(deps: ListingSourceDeps): IndexSource<Changed> {
  const { listings, standings, directory, loadCategoryFit, model } = deps;
  const { name: collection } = listings.collection;
  const database = listings.db.getClient().db(listings.db.name);

  /** Adds the values that each document's ranking depends on. */
  async function withRankingValues(documents: readonly StoredDocument<Listing>[]): Promise<StoredDocument<Listing>[]> {
    if (documents.length === 0) return [];
    const offered = documents.map(({ document }) => document);
    const [historyOf, fitOf] = await Promise.all([readSellerHistories(standings, offered), loadCategoryFit()]);
    return documents.map((stored) => {
      const { document, vector } = stored;
      const steps = sellerStepsOf(historyOf(document));
      return { ...stored, values: computeRankingValues(document, fitOf(document.category, vector), steps) };
    });
  }

  async function applyListings(changes: readonly Change[], { table }: TableInUse): Promise<void> {
    /** The last of each listing's changes has its newest version. */
    const writes = new Map<string, Write>();
    for (const change of changes as readonly ChangeStreamDocument<ListingRecord>[]) {
      if (change.operationType === "delete") {
        const { _id: id } = change.documentKey;
        writes.set(id, { remove: { id, revision: undefined } });
      } else if ("fullDocument" in change && change.fullDocument) {
        // A document that has been deleted since the change has none: null, although the type doesn't say so. Its deletion follows.
        writes.set(change.fullDocument._id, toWrite(change.fullDocument, model));
      }
    }
    const all = [...writes.values()];
    await table.apply(
      listingFormat,
      await withRankingValues(all.flatMap((each) => ("put" in each ? [each.put] : []))),
      all.flatMap((each) => ("remove" in each ? [each.remove] : [])),
    );
  }

  /** Writes the rows of sellers again whose standings have changed enough. */
  async function applyStandings(changes: readonly Change[], { table }: TableInUse): Promise<void> {
    const changed = changes.flatMap((change) => ("documentKey" in change ? [change.documentKey._id] : []));
    for (const network of NETWORKS) {
      const wallets = walletsOn(network, changed);
      if (wallets.length === 0) continue;
      const agentIds = await directory.agentIdsByWallet(wallets);
      const histories = await standings.of(network, [...agentIds.keys()]);
      const sellers = [...agentIds].map(([wallet, id]) => ({
        id,
        steps: sellerStepsOf(histories.get(wallet) ?? NEW_STANDING),
      }));
      const alike = Map.groupBy(sellers, ({ steps: { trustStep, scoreStep } }) => `${trustStep} ${scoreStep}`);
      for (const group of alike.values()) {
        const { condition, values } = stepsUpdate(network, group);
        await table.setValues(condition, values);
      }
    }
  }

  return {
    name: LISTING_INDEX,
    format: listingFormat,
    connection: listings.db,
    watch: (from) => watchAllFrom<Changed>(database, [collection, STANDINGS_COLLECTION], from),

    async load({ table }, beforeWrite) {
      let count = 0;
      let batch: StoredDocument<Listing>[] = [];
      const flush = async (): Promise<void> => {
        await beforeWrite();
        await table.add(listingFormat, await withRankingValues(batch));
        count += batch.length;
        batch = [];
      };
      for await (const record of listings.find({ status: "active" }).lean().cursor()) {
        const write = toWrite(record, model);
        if ("put" in write) batch.push(write.put);
        if (batch.length >= LOADED_AT_ONCE) await flush();
      }
      await flush();
      return count;
    },

    async apply(changes, target) {
      const ofCollection = (name: string) => changes.filter((change) => collectionOf(change) === name);
      await applyListings(ofCollection(collection), target);
      await applyStandings(ofCollection(STANDINGS_COLLECTION), target);
    },
  };
}

/** The collection that has changed. @throws ChangeStreamEndedError if it was dropped or renamed */
function collectionOf(change: Change): string | undefined {
  if (change.operationType === "drop" || change.operationType === "rename") {
    throw new ChangeStreamEndedError("A collection that the index follows is gone");
  }
  return "ns" in change && "coll" in change.ns ? change.ns.coll : undefined;
}
