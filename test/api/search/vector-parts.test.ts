// A search by meaning looks into a part of the vectors' index, and into all of it where a filter leaves too few documents there.
import { Index } from "@lancedb/lancedb";
import type { Table } from "@lancedb/lancedb";
import { assert } from "chai";

import type { ListingFilter } from "../../../api/features/discovery/listing-format.ts";
import { computeRankingValues, listingFormat } from "../../../api/features/discovery/listing-format.ts";
import { knownRows } from "../../../api/search/engine/known-rows.ts";
import { searchTable } from "../../../api/search/engine/lance-search.ts";
import { INDEXED_FROM } from "../../../api/search/engine/lance-writes.ts";
import { openEngineTable } from "../../fixtures/engine-table.ts";
import { LISTING_TABLE, openListingTable } from "../../fixtures/listing-table.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { listingOf } from "../../fixtures/stored-listings.ts";

const DIMENSIONS = 64;
const PARTS = 200;
const [FAR_SELLER, RARE] = ["agt_far", 5];
/** Matches no word. */
const NEW = { trustStep: 0, scoreStep: 0 };
const QUERY = { text: "zebra", encoding: { vector: new Float32Array(DIMENSIONS).fill(1, 0, 1), knownWordShare: 1 } };

describe("a search in an index of vectors with many parts", () => {
  let index: Awaited<ReturnType<typeof openListingTable>>;
  let engine: Table;
  /** How many parts each search has looked into. */
  let searched: number[];

  /** A unit vector with this cosine to the query's, in a random direction. */
  function vectorOf(cosine: number, random: () => number): Float32Array {
    const rest = Array.from({ length: DIMENSIONS - 1 }, () => random() * 2 - 1);
    const length = Math.hypot(...rest);
    return Float32Array.of(cosine, ...rest.map((value) => (value / length) * Math.sqrt(1 - cosine * cosine)));
  }

  before(async () => {
    const random = seededRandom();
    const far = Array.from({ length: RARE }, (_, n) => ({
      document: listingOf(n, { id: `lst_${n}`, sellerAgentId: FAR_SELLER }),
      revision: 1,
      vector: vectorOf(0.4, random),
    }));
    const others = Array.from({ length: INDEXED_FROM }, (_, n) => ({
      document: listingOf(RARE + n, { id: `lst_${RARE + n}`, sellerAgentId: "agt_near" }),
      revision: 1,
      vector: vectorOf(0.35 + 0.65 * random(), random),
    }));
    index = await openListingTable([...far, ...others], DIMENSIONS);
    engine = await openEngineTable(index.dir, LISTING_TABLE);
    const config = Index.ivfRq({ distanceType: "cosine", numPartitions: PARTS });
    await engine.createIndex("vector", { name: "vector_idx", config });
    const search = engine.vectorSearch.bind(engine);
    engine.vectorSearch = (vector) => {
      const query = search(vector);
      const nprobes = query.nprobes.bind(query);
      query.nprobes = (parts) => {
        searched.push(parts);
        return nprobes(parts);
      };
      return query;
    };
  });
  beforeEach(() => {
    searched = [];
  });
  after(() => index.close());

  const find = (filter: ListingFilter, wholeUpTo = 1_000) =>
    searchTable(
      { table: engine, rows: knownRows(engine), wholeUpTo },
      { format: listingFormat, query: QUERY, filter, limit: 10, answers: 10 },
    );

  it("finds the nearest in the nearest parts", async () => {
    const found = await find({});
    assert.lengthOf(found, 10);
    for (const { parts } of found) assert.isAbove(parts.meaning, 0.99);
    assert.deepEqual(searched, [40]);
  });

  it("finds the few that pass a filter in the parts farthest away", async () => {
    const found = await find({ sellerId: FAR_SELLER });
    assert.sameMembers(
      found.map(({ document }) => document.id),
      Array.from({ length: RARE }, (_, n) => `lst_${n}`),
    );
    assert.deepEqual(searched, [40, 100_000]);
  });

  it("looks into all parts of a small table at once", async () => {
    assert.lengthOf(await find({ sellerId: FAR_SELLER }, 30_000), RARE);
    assert.deepEqual(searched, [100_000]);
  });
});

describe("what is known of a document before it is read", () => {
  const random = seededRandom();
  const WORDS = ["audit", "token", "contract", "report", "translate", "image", "market", "data"];
  const wordOf = () => WORDS[Math.floor(random() * WORDS.length)] ?? "";
  const unit = () => {
    const vector = Float32Array.from({ length: DIMENSIONS }, () => random() - 0.3);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const stored = (n: number) => ({
    document: listingOf(n, { id: `lst_${n}`, title: [wordOf(), wordOf(), wordOf()].join(" ") }),
    revision: 1,
    vector: n % 10 === 0 ? null : unit(),
  });
  let index: Awaited<ReturnType<typeof openListingTable>>;

  before(async () => {
    index = await openListingTable(
      Array.from({ length: INDEXED_FROM }, (_, n) => stored(n)),
      DIMENSIONS,
    );
  });
  after(() => index.close());

  /** Compares what searches say of all documents with what reading them says. */
  async function checkBounds(): Promise<void> {
    for (const language of ["english", undefined] as const) {
      const query = {
        text: `${wordOf()} ${wordOf()} unheard`,
        encoding: { vector: unit(), knownWordShare: 1, ...(language === undefined ? {} : { language }) },
      };
      const all = await index.table.search(listingFormat, query, {}, 10_000);
      assert.isNotEmpty(all);
      for (const limit of [50, 400]) {
        await index.find(query, {}, limit, async ({ candidates, beyond, read }) => {
          const known = new Set<string>();
          for (const candidate of candidates) {
            const [match] = await read([candidate]);
            if (match === undefined) continue;
            known.add(match.document.id);
            assert.isAtMost(match.relevance, candidate.relevance, match.document.id);
            assert.strictEqual(candidate.factor, computeRankingValues(match.document, 1, NEW).merit);
          }
          assert.isAtLeast(known.size, limit / 2);
          const unseen = all.filter(({ document }) => !known.has(document.id));
          for (const { relevance } of unseen) assert.isAtMost(relevance, beyond);
        });
      }
    }
  }

  it("is at least its relevance, with vectors compared whole", checkBounds);

  it("is at least its relevance, with vectors compared by their index, and some added later", async () => {
    await index.table.indexVectors();
    await checkBounds();
    await index.table.add(
      listingFormat,
      Array.from({ length: 50 }, (_, n) => stored(INDEXED_FROM + n)),
    );
    await checkBounds();
  });

  it("is nothing if there is nothing", async () => {
    const query = { text: "audit", encoding: { vector: unit(), knownWordShare: 1 } };
    for (const [filter, options] of [
      [{ sellerId: "agt_nobody" }, {}],
      [{ minMerit: 1.2 }, { isNarrow: true }],
      [{ prices: [] }, {}],
    ] as const) {
      const found = await index.find(
        query,
        filter,
        10,
        ({ candidates, beyond }) => Promise.resolve([candidates.length, beyond]),
        options,
      );
      assert.deepEqual(found, [0, 0]);
    }
  });
});

describe("a large table in which few documents have a vector yet", () => {
  const DOCUMENTS = 5_000;
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
    document: listingOf(n, { id: `lst_${n}` }),
    revision: 1,
    vector: null as Float32Array | null,
  }));
  const random = seededRandom();
  const embedded = (from: number, to: number) =>
    documents.slice(from, to).map((stored) => {
      const vector = Float32Array.from({ length: DIMENSIONS }, () => random() - 0.5);
      const length = Math.hypot(...vector);
      return { ...stored, vector: vector.map((value) => value / length) };
    });
  let index: Awaited<ReturnType<typeof openListingTable>>;

  before(async () => {
    index = await openListingTable(documents, DIMENSIONS);
  });
  after(() => index.close());

  it("finds them by meaning without reading the others, and is indexed from a thousand on", async () => {
    const { table } = index;
    const engine = await openEngineTable(index.dir, LISTING_TABLE);
    const conditions: string[] = [];
    const search = engine.vectorSearch.bind(engine);
    engine.vectorSearch = (vector) => {
      const query = search(vector);
      const where = query.where.bind(query);
      query.where = (condition) => {
        conditions.push(condition);
        return where(condition);
      };
      return query;
    };
    const [first, ...rest] = embedded(0, 1_000);
    assert.ok(first !== undefined);
    const find = async () => {
      const query = {
        text: "nothing",
        encoding: { vector: first.vector, knownWordShare: 1, language: "english" },
      } as const;
      const source = { table: engine, rows: knownRows(engine), wholeUpTo: 1_000 };
      return (await searchTable(source, { format: listingFormat, query, filter: {}, limit: 10, answers: 10 })).map(
        ({ document }) => document.id,
      );
    };
    await table.apply(listingFormat, [first], []);
    assert.deepEqual([await find(), conditions], [["lst_0"], ["(embedded)"]]);
    await table.apply(listingFormat, rest.slice(1), []);
    assert.strictEqual(await table.vectorsToIndex(0), 0);
    await table.apply(listingFormat, rest, []);
    assert.strictEqual(await table.vectorsToIndex(0), 1_000);
    await table.indexVectors();
    conditions.length = 0;
    assert.include(await find(), "lst_0");
    assert.isEmpty(conditions);
    assert.strictEqual(await table.vectorsToIndex(1_000), 0);
    await table.apply(listingFormat, embedded(1_000, 4_000), []);
    assert.strictEqual(await table.vectorsToIndex(1_000), 4_000);
  });
});
