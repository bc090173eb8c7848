import { assert } from "chai";

import { searchBody, writeBody } from "../../../api/features/memory/entries/schemas.ts";
import { textOfValue } from "../../../api/features/memory/index/search-text.ts";
import { createThreadEncoder } from "../../../api/search/embedding/encoder.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { overlapWith } from "../../bench/discovery/overlap.ts";
import { HALVES, LANGUAGES, loadEntries, loadNear, loadQuestions, QUESTION_KINDS } from "../../bench/memory/corpus.ts";
import type { BenchEntry, BenchQuestion } from "../../bench/memory/corpus.ts";
import { createRankers, RANKERS } from "../../bench/memory/rankers.ts";
import type { RankerName } from "../../bench/memory/rankers.ts";
import { reportOf } from "../../bench/memory/report.ts";
import type { Report } from "../../bench/memory/report.ts";
import { atNight } from "../../fixtures/nightly.ts";
import { NONSENSE_QUERIES } from "../../fixtures/relevance.ts";

const LEAST_ENTRIES = 2_000;
const QUESTIONS = 60;
/** Entries about one thing at different dates. */
const DATES = 8;
/** Share of a question's words that an entry which answers it has too: at most, and on average. */
const MOST_OVERLAP = 0.6;
const MEAN_OVERLAP = 0.2;
/** recall@5 with the encoder until 2026-11-27, USE lite, on the same held-out questions; and how much better it has to be now. */
const EARLIER_RECALL = 0.25;
const MARGIN = 0.4;
/** How many of the nonsense queries may find as many entries as a search gives. */
const MOST_FULL_ANSWERS = 2;
const RESULTS = 20;
const entries = loadEntries();
const questions = loadQuestions();
const near = loadNear();
/** Embedding all takes ten seconds. The entries of `near.json` give the same results, until encoder or data change. */
const isEmbedded = ({ language, key }: BenchEntry): boolean => atNight(true, language !== "generated" || near.has(key));
const byKey = new Map(entries.map((entry) => [entry.key, entry]));

describe("the bench of memory", () => {
  it("asks 60 questions over at least 2,000 entries that an agent could write", () => {
    assert.lengthOf(questions, QUESTIONS);
    assert.isAtLeast(entries.length, LEAST_ENTRIES);
    assert.strictEqual(byKey.size, entries.length, "keys are unique");
    assert.strictEqual(new Set(entries.map(({ value }) => JSON.stringify(value))).size, entries.length);
    for (const { key, value } of entries) assert.ok(writeBody.safeParse({ key, value }).success, key);
    for (const key of near) assert.strictEqual(byKey.get(key)?.language, "generated", key);
    for (const { question } of questions) assert.ok(searchBody.safeParse({ query: question }).success, question);
    assert.deepEqual(loadEntries(), entries, "the same entries each time");
  });

  it("splits the questions into disjoint halves with as many of each kind and language", () => {
    assert.strictEqual(new Set(questions.map(({ question }) => question)).size, QUESTIONS);
    const countsOf = (test: (question: BenchQuestion) => boolean) =>
      HALVES.map((half) => questions.filter((one) => one.half === half && test(one)).length);
    for (const kind of QUESTION_KINDS) {
      const [tuning = 0, heldOut = 0] = countsOf((one) => one.kind === kind);
      assert.isAtLeast(tuning, 7, kind);
      assert.strictEqual(tuning, heldOut, kind);
    }
    for (const language of LANGUAGES) {
      const [tuning = 0, heldOut = 0] = countsOf((one) => one.language === language);
      assert.isAtLeast(tuning, 7, language);
      assert.strictEqual(tuning, heldOut, language);
    }
    const [inTuning, inHeldOut] = HALVES.map(
      (half) => new Set(questions.filter((one) => one.half === half).flatMap(({ expected }) => expected)),
    );
    assert.isTrue(inTuning?.isDisjointFrom(inHeldOut ?? new Set()));
  });

  it("expects entries that exist, in another language where the kind says so, and one of eight dates", () => {
    for (const { question, language, kind, expected } of questions) {
      for (const key of expected) {
        const entry = byKey.get(key);
        assert.ok(entry !== undefined, `${question}: ${key}`);
        assert.strictEqual(entry.language !== language, kind === "cross-language", question);
        if (kind !== "dated") continue;
        const thing = key.slice(0, key.lastIndexOf("/") + 1);
        assert.lengthOf(
          entries.filter((one) => one.key.startsWith(thing)),
          DATES,
          question,
        );
      }
    }
  });

  it("asks mostly in words that the entries don't have", () => {
    const overlaps = questions.flatMap(({ question, expected }) =>
      expected.map((key) => ({
        question,
        overlap: overlapWith(question, `${key} ${textOfValue(byKey.get(key)?.value)}`),
      })),
    );
    const mean = overlaps.reduce((sum, { overlap }) => sum + overlap, 0) / overlaps.length;
    const most = overlaps.reduce((left, right) => (right.overlap > left.overlap ? right : left));
    console.log(`${(100 * mean).toFixed(1)}% of a question's words are in its entry; most: ${JSON.stringify(most)}`);
    assert.isAtMost(mean, MEAN_OVERLAP);
    assert.isAtMost(most.overlap, MOST_OVERLAP, most.question);
  });

  describe("on the held-out half", () => {
    let reports: Record<RankerName, Report>;
    const found: [string, number][] = [];
    before(async () => {
      const encoder = createThreadEncoder(createLogger({ level: "silent", name: "test" }));
      try {
        const rankers = await createRankers(entries, encoder, isEmbedded);
        const heldOut = questions.filter(({ half }) => half === "held-out");
        const reported: [RankerName, Report][] = [];
        for (const name of RANKERS) reported.push([name, await reportOf(rankers[name], heldOut)]);
        reports = Object.fromEntries(reported) as Record<RankerName, Report>;
        for (const query of NONSENSE_QUERIES) found.push([query, (await rankers.ours(query)).length]);
        await rankers.close();
      } finally {
        await encoder.close();
      }
    });

    it("[S4.r26] recall@5 is at least 0.4 more than with the earlier encoder, and more than of words or vectors alone", () => {
      const [words = 1, vectors = 1, ours = 0] = RANKERS.map((name) => reports[name].recall5);
      console.log(`recall@5: words ${words}, vectors ${vectors}, ours ${ours}`);
      assert.isAtLeast(ours, EARLIER_RECALL + MARGIN);
      assert.isAbove(ours, words);
      assert.isAbove(ours, vectors);
    });

    it("finds few entries for most queries of nonsense", () => {
      console.log(found.map(([query, count]) => `${count}: ${query}`).join("\n"));
      assert.isAtMost(found.filter(([, count]) => count === RESULTS).length, MOST_FULL_ANSWERS);
    });
  });
});
