import { assert } from "chai";

import type { TradingHistory } from "../../../api/features/agents/score.ts";
import { NEW_STANDING } from "../../../api/features/agents/standings.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { explanationParts } from "../../../api/features/listings/explanation.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import type { RatedMatch } from "../../../api/features/discovery/ranking.ts";
import { COMPLETE_TEXT, ratedMatch } from "../../fixtures/rated-matches.ts";

const FARMER: TradingHistory = {
  score: 100,
  distinctCounterparties: 1,
  topCounterpartyCount: 100,
  settledCount: 100,
  released: 50,
  lateDeclines: 0,
  earlyDeclineShare: 0,
};
const HONEST: TradingHistory = {
  score: 15,
  distinctCounterparties: 15,
  topCounterpartyCount: 1,
  settledCount: 15,
  released: 15,
  lateDeclines: 0,
  earlyDeclineShare: 0,
};
const NEAR = 1e-9;

const VAGUE = { title: "Security", description: "We do security auditing.", category: "security_auditing" };

/** What a match's place is made of, if it is the only one. */
function explained(fields: Partial<RatedMatch> = {}, text: Partial<Listing> = {}) {
  const [only] = rank([ratedMatch(fields, text)]);
  assert.ok(only !== undefined);
  return only.explanation;
}

const completenessOf = (description: string) => explained({}, { description }).completeness;
const proseOf = (description: string) => explained({}, { description }).prose;

describe("the ranking", () => {
  it("[D6] [D23] has a score that is the product of the parts that it explains", () => {
    const matches = [
      ratedMatch({ relevance: 0.9, parts: { meaning: 0.7, words: 0.2 }, history: HONEST, priceShare: 0.25 }),
      ratedMatch({ relevance: 1, parts: { meaning: 0.95, words: 0.2 }, categoryFit: 0.85, history: FARMER }),
      ratedMatch({ relevance: 0.7 }, VAGUE),
      ratedMatch({ history: { ...HONEST, lateDeclines: 5 } }),
    ];
    const ranked = rank([...matches, ratedMatch({}, { sellerAgentId: matches[0]?.listing.sellerAgentId ?? "" })]);
    assert.lengthOf(ranked, 5);
    for (const { explanation, history } of ranked) {
      const parts = explanationParts.parse(explanation);
      assert.closeTo(parts.relevance, Math.min(1, parts.meaning + parts.words), NEAR);
      assert.closeTo(
        parts.score,
        parts.relevance *
          parts.completeness *
          parts.prose *
          parts.categoryFit *
          parts.trust *
          parts.priceFit *
          parts.variety,
        NEAR,
      );
      const rankingTrust =
        Math.min(1, history.score / 100) *
        parts.counterpartyWeight *
        parts.lateDeclineWeight *
        parts.earlyDeclineWeight;
      assert.closeTo(parts.trust, 1 + 0.3 * rankingTrust, NEAR);
    }
    const scores = ranked.map(({ explanation }) => explanation.score);
    assert.deepEqual(
      scores,
      [...scores].sort((left, right) => right - left),
    );
  });

  it("puts a real description before a vague one that is more relevant", () => {
    // The relevance that both had for "find security holes in my ethereum code".
    const [vague, audit] = [ratedMatch({ relevance: 0.69 }, VAGUE), ratedMatch({ relevance: 0.54 }, COMPLETE_TEXT)];
    const ranked = rank([vague, audit]);
    assert.deepEqual(
      ranked.map(({ listing }) => listing.id),
      [audit.listing.id, vague.listing.id],
    );
  });

  describe("completeness", () => {
    it("is half for a description that adds nothing to title and category, and grows with each different word", () => {
      assert.strictEqual(completenessOf("Solidity security audits!"), 0.5);
      assert.strictEqual(completenessOf("Manual review of Solidity."), 0.5 + 2 / 16);
      assert.strictEqual(completenessOf("Manual reviews, reviewed manually, and manual review."), 0.5 + 2 / 16);
      assert.strictEqual(completenessOf(COMPLETE_TEXT.description), 1);
    });

    it("counts words of any script, with or without spaces between them", () => {
      for (const description of [
        "Revisamos a mano tus contratos inteligentes y entregamos un informe escrito con cada fallo encontrado.",
        "Ручная проверка смарт-контрактов на ошибки доступа и арифметики, с письменным отчётом.",
        "スマートコントラクトの脆弱性を手作業で確認し、修正案を含む報告書を三日以内に納品します。",
      ]) {
        assert.strictEqual(completenessOf(description), 1, description);
        assert.strictEqual(proseOf(description), 1, description);
      }
    });
  });

  describe("prose", () => {
    it("is half for a list of keywords, with or without commas", () => {
      const keywords =
        "audit auditor auditing security secure hack hacker hacking pentest bug bugs bounty exploit exploits contract " +
        "contracts solidity vyper rust ethereum bitcoin solana web3 crypto token tokens cheap fast best";
      assert.strictEqual(proseOf(keywords), 0.5);
      assert.strictEqual(proseOf(keywords.replaceAll(" ", ", ")), 0.5);
      assert.strictEqual(proseOf(keywords.replaceAll(" ", ". ")), 0.5);
    });

    it("is 1 for sentences, and for a short list of what is supported", () => {
      assert.strictEqual(proseOf(COMPLETE_TEXT.description), 1);
      assert.strictEqual(proseOf("Audits contracts in Solidity, Vyper, Rust, Move, Cairo, Huff and Yul."), 1);
    });
  });

  describe("variety", () => {
    const seller = { sellerAgentId: "agt_flood" };
    const varieties = (matches: RatedMatch[]) => {
      const ranked = new Map(rank(matches).map(({ listing, explanation }) => [listing.id, explanation.variety]));
      return matches.map(({ listing }) => ranked.get(listing.id));
    };

    it("halves each further listing of a seller that repeats the words of a better one", () => {
      const copies = [0.9, 0.8, 0.7].map((relevance, n) =>
        ratedMatch({ relevance }, { ...seller, title: `Solidity audit ${n}` }),
      );
      assert.deepEqual(varieties(copies), [1, 0.5, 0.25]);
    });

    it("halves one that says the same in other words, by its vector", () => {
      const other = { ...seller, title: "Contract check", description: "We look for holes before hackers find them." };
      const near = new Float32Array([0.9, Math.sqrt(1 - 0.81)]);
      const far = new Float32Array([0.8, 0.6]);
      const first = ratedMatch({ relevance: 0.9, vector: new Float32Array([1, 0]) }, seller);
      assert.deepEqual(varieties([first, ratedMatch({ vector: near }, other)]), [1, 0.5]);
      assert.deepEqual(varieties([first, ratedMatch({ vector: far }, other)]), [1, 1]);
    });

    it("keeps other sellers' listings, a seller's other offers, and the same offer on another network", () => {
      const other = {
        title: "Wedding speeches",
        description: "Ten questions, then five minutes with laughs and a tear.",
      };
      assert.deepEqual(
        varieties([
          ratedMatch({}, seller),
          ratedMatch(),
          ratedMatch({}, { ...seller, ...other }),
          ratedMatch({}, { ...seller, network: "base-sepolia" }),
        ]),
        [1, 1, 1, 1],
      );
    });

    it("lets no flood of copies keep another seller from the first places", () => {
      const flood = Array.from({ length: 2_000 }, (_, n) =>
        ratedMatch({ relevance: 0.9 }, { ...seller, title: `Solidity audit ${n}` }),
      );
      const rival = ratedMatch({ relevance: 0.6 });
      const place = rank([...flood, rival]).findIndex(({ listing }) => listing.id === rival.listing.id);
      assert.strictEqual(place, 1);
    });
  });

  describe("trust and price", () => {
    it("[D23] two wallets with 100 deals between them gain less than 15 deals with different buyers", () => {
      const { trust: farmed, counterpartyWeight } = explained({ history: FARMER });
      assert.closeTo(farmed, 1 + 0.3 * 0.05, NEAR);
      assert.closeTo(counterpartyWeight, 0.05, NEAR);
      assert.closeTo(explained({ history: HONEST }).trust, 1 + 0.3 * 0.15, NEAR);
    });

    it("[D6] a seller gains less the larger the share of its orders that it declined in time", () => {
      const seller = { ...HONEST, score: 100 };
      const declining = (earlyDeclineShare: number) => explained({ history: { ...seller, earlyDeclineShare } });
      assert.deepEqual(
        [0, 0.25, 1].map((share) => declining(share).earlyDeclineWeight),
        [1, 0.875, 0.5],
      );
      assert.closeTo(declining(1).trust - 1, (declining(0).trust - 1) / 2, NEAR);
      const [choosy, reliable] = [
        ratedMatch({ history: { ...seller, earlyDeclineShare: 0.5 } }),
        ratedMatch({ history: seller }),
      ];
      assert.deepEqual(
        rank([choosy, reliable]).map(({ listing }) => listing.id),
        [reliable.listing.id, choosy.listing.id],
      );
    });

    it("[D6] a seller gains less the larger the share of its jobs that it declined after their deadline", () => {
      const seller = { ...HONEST, score: 100 };
      const declining = (lateDeclines: number) => explained({ history: { ...seller, lateDeclines } });
      const weights = [0, 1, 5, 15].map((count) => declining(count).lateDeclineWeight);
      assert.deepEqual(weights, [1, 15 / 16, 0.75, 0.5]);
      const prompt = declining(0);
      const late = declining(15);
      assert.strictEqual(late.counterpartyWeight, prompt.counterpartyWeight);
      assert.closeTo(late.trust - 1, (prompt.trust - 1) / 2, NEAR);
      const [unreliable, reliable] = [
        ratedMatch({ history: { ...seller, lateDeclines: 15 } }),
        ratedMatch({ history: seller }),
      ];
      assert.deepEqual(
        rank([unreliable, reliable]).map(({ listing }) => listing.id),
        [reliable.listing.id, unreliable.listing.id],
      );
    });

    it("a lower price decides between equals only", () => {
      assert.strictEqual(explained({ priceShare: 1 }).priceFit, 1);
      assert.strictEqual(explained({ priceShare: 0 }).priceFit, 1.05);
      assert.strictEqual(explained().priceFit, 1);
      const [dear, cheap] = [ratedMatch({ priceShare: 0.9 }), ratedMatch({ priceShare: 0.2 })];
      const better = ratedMatch({ relevance: 0.65, priceShare: 1 });
      assert.deepEqual(
        rank([dear, cheap, better]).map(({ listing }) => listing.id),
        [better, cheap, dear].map(({ listing }) => listing.id),
      );
    });

    it("[S2.5.10] equal scores go by discoveryScore, then the newer listing comes first", () => {
      const [older, newer] = [ratedMatch(), ratedMatch()];
      // Without a counterparty the score doesn't count in the product.
      const known = ratedMatch({ history: { ...NEW_STANDING, score: 40 } });
      const newest = ratedMatch();
      assert.deepEqual(
        rank([older, newer, known, newest]).map(({ listing }) => listing.id),
        [known, newest, newer, older].map(({ listing }) => listing.id),
      );
    });
  });

  it("drops what is far less relevant than the best, and no perfect match hides an ordinary answer", () => {
    const relevances = [1, 0.54, 0.41, 0.39].map((relevance) => ratedMatch({ relevance }));
    assert.lengthOf(rank(relevances), 3);
    assert.lengthOf(rank(relevances.slice(1)), 3);
    assert.deepEqual(rank([]), []);
  });
});
