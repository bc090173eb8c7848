// Which searches of the index a ranking needs, against the ranking of everything that there is.
import { assert } from "chai";

import { meritOf, qualityOf, sellerStepsOf } from "../../../api/features/discovery/merit.ts";
import { rankBest } from "../../../api/features/discovery/rank-best.ts";
import type { SearchRound, Wanted } from "../../../api/features/discovery/rank-best.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import type { RatedMatch } from "../../../api/features/discovery/ranking.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { historyWithTrust, ratedMatch, withQuality } from "../../fixtures/rated-matches.ts";

const LIMIT = 5;
const FIRST = 20;

/** By how much the index takes a listing for more relevant than it is. */
const vagueness = ({ listing }: RatedMatch) => (Number(listing.id.slice(4)) % 7) / 200;

/** An index of these listings, the searches that it was asked for, and how many listings each has read. */
function indexOf(all: readonly RatedMatch[]) {
  const sorted = all.toSorted((left, right) => right.relevance - left.relevance);
  const meritOfMatch = ({ listing, history, categoryFit }: RatedMatch) =>
    meritOf(qualityOf(listing, categoryFit), sellerStepsOf(history));
  const rounds: { most: number; minMerit: number | undefined; read: number }[] = [];
  const search: SearchRound = async ({ most, minMerit, leftOut }, work) => {
    const round = { most, minMerit, read: 0 };
    rounds.push(round);
    const passes = (match: RatedMatch) =>
      meritOfMatch(match) >= (minMerit ?? 0) &&
      leftOut.get(match.listing.network)?.has(match.listing.sellerAgentId) !== true;
    const passing = sorted.filter(passes);
    const found = passing.slice(0, most);
    return await work({
      candidates: found.map((match, n) => ({
        id: BigInt(n),
        relevance: match.relevance + vagueness(match),
        factor: meritOfMatch(match),
      })),
      beyond: passing[most]?.relevance ?? 0,
      read(candidates) {
        round.read += candidates.length;
        return Promise.resolve(candidates.map(({ id }) => found[Number(id)] as RatedMatch));
      },
    });
  };
  return { search, rounds };
}

const wanted = (fields: Partial<Wanted> = {}): Wanted => ({
  limit: LIMIT,
  enough: FIRST,
  hasBudget: false,
  enoughOfSeller: FIRST,
  isWanted: () => true,
  ...fields,
});
const best = (ranked: readonly RatedMatch[]) => ranked.slice(0, LIMIT).map(({ listing }) => listing.id);

describe("the best listings of an index", () => {
  it("are those of the whole index, whatever relevance, text, trust, price and category count", async () => {
    const random = seededRandom();
    for (let turn = 0; turn < 60; turn += 1) {
      const hasBudget = random() < 0.3;
      const trustedShare = random();
      const fit = random() < 0.5 ? 1 : 0.8;
      const all = Array.from({ length: 1_500 }, () => {
        const history = historyWithTrust(random() < trustedShare ? random() : 0);
        const relevance = 0.3 + 0.4 * random();
        const priceShare = hasBudget ? random() : undefined;
        return ratedMatch({ relevance, history, priceShare, categoryFit: fit + (1 - fit) * random() });
      });
      const { search } = indexOf(all);
      assert.deepEqual(best(await rankBest(search, wanted({ hasBudget }))), best(rank(all)));
    }
  });

  it("are found by two small searches where few sellers are trusted", async () => {
    const all = Array.from({ length: 1_000 }, (_, n) =>
      ratedMatch({ relevance: 0.7 - n / 2_000, history: historyWithTrust(n % 100 === 99 ? 1 : 0) }),
    );
    const { search, rounds } = indexOf(all);
    assert.deepEqual(best(await rankBest(search, wanted())), best(rank(all)));
    assert.deepEqual(
      rounds.map(({ most, minMerit }) => [most, minMerit && minMerit > 1]),
      [
        [FIRST, undefined],
        [FIRST, true],
      ],
    );
  });

  it("are searched again without the bound where another offer of a seller lowers what it was made from", async () => {
    const trusted = { history: historyWithTrust(1) };
    const seller = { sellerAgentId: "agt_offers" };
    const at = (degrees: number) => {
      const angle = (degrees * Math.PI) / 180;
      return new Float32Array([Math.cos(angle), Math.sin(angle)]);
    };
    const plain = (relevance: number) => withQuality(ratedMatch({ relevance }), 1);
    // Two offers of one seller, and a third that is nearly the same as either: it counts most, and they count half.
    const two = [0, 60].map((degrees) =>
      withQuality(ratedMatch({ relevance: 0.62, vector: at(degrees), ...trusted }, seller), 0.8),
    );
    const third = withQuality(ratedMatch({ relevance: 0.555, vector: at(30), ...trusted }, seller), 1);
    const others = Array.from({ length: LIMIT - 2 }, () => plain(0.64));
    // Better than all that follow, yet with less merit than it takes to outdo the first five.
    const next = withQuality(ratedMatch({ relevance: 0.558, history: historyWithTrust(0.3) }), 1);
    const all = [...two, third, ...others, next, ...Array.from({ length: 40 }, () => plain(0.56))];
    const { search, rounds } = indexOf(all);
    const ranked = await rankBest(search, wanted());
    assert.deepEqual(best(ranked), best(rank(all)));
    assert.include(best(ranked), next.listing.id);
    assert.deepEqual(
      rounds.map(({ most, minMerit }) => [most, minMerit && minMerit > 1]),
      [
        [FIRST, undefined],
        [FIRST, true],
        [FIRST * 4, undefined],
      ],
    );
  });

  it("are the wanted ones among many others, whose sellers are left out", async () => {
    const isWanted = ({ history }: RatedMatch) => history.score >= 50;
    const all = Array.from({ length: 3_000 }, (_, n) =>
      ratedMatch({ relevance: 0.9 - n / 10_000, history: historyWithTrust(n < 2_990 ? 0.49 : 0.5) }),
    );
    const { search, rounds } = indexOf(all);
    assert.deepEqual(best(await rankBest(search, wanted({ isWanted }))), best(rank(all.filter(isWanted))));
    assert.deepEqual(
      rounds.map(({ most }) => most),
      [FIRST, FIRST * 4, 5_000],
    );
  });

  it("are read alone, with those that the index takes for nearly as good", async () => {
    const all = Array.from({ length: 400 }, (_, n) => ratedMatch({ relevance: 0.9 - n / 500 }));
    const { search, rounds } = indexOf(all);
    assert.deepEqual(best(await rankBest(search, wanted({ enough: 300 }))), best(rank(all)));
    assert.deepEqual(
      rounds.map(({ read }) => read),
      [40],
    );
  });

  it("are read in small parts until no unread one can win", async () => {
    // The index takes one for more relevant than 175 that are better than it.
    const all = Array.from({ length: 1_000 }, (_, n) => withQuality(ratedMatch({ relevance: 0.6 - n / 5_000 }), 1));
    const { search, rounds } = indexOf(all);
    assert.deepEqual(best(await rankBest(search, wanted({ enough: 800 }))), best(rank(all)));
    assert.deepEqual(
      rounds.map(({ read }) => read > 40 && read < 300),
      [true],
    );
  });

  it("are not all read where hundreds are nearly equal", async () => {
    const all = Array.from({ length: 1_000 }, (_, n) => withQuality(ratedMatch({ relevance: 0.6 - n / 1e6 }), 1));
    const { search, rounds } = indexOf(all);
    const [first] = await rankBest(search, wanted({ enough: 800 }));
    assert.closeTo(first?.relevance ?? 0, 0.6, 0.001);
    assert.isAtMost(rounds[0]?.read ?? 0, 500);
  });

  it("leave out what a more relevant listing makes too irrelevant, though that one can't win itself", async () => {
    const vague = (relevance: number) => withQuality(ratedMatch({ relevance }), 0.1);
    const good = Array.from({ length: LIMIT - 1 }, () => withQuality(ratedMatch({ relevance: 0.5 }), 1));
    const far = withQuality(ratedMatch({ relevance: 0.35 }), 1);
    const fillers = Array.from({ length: 40 }, () => withQuality(ratedMatch({ relevance: 0.345 }), 0.9));
    const all = [vague(0.95), ...good, far, ...fillers];
    const { search } = indexOf(all);
    const ranked = await rankBest(search, wanted({ enough: 300 }));
    assert.deepEqual(best(ranked), best(rank(all)));
    assert.notInclude(best(ranked), far.listing.id);
  });
});
