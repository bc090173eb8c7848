// What a seller learns about how search finds a listing.
import { isDeepStrictEqual } from "node:util";

import { assert } from "chai";

import type { RankedMatch, RatedMatch } from "../../../api/features/discovery/ranking.ts";
import { rank } from "../../../api/features/discovery/ranking.ts";
import { readVisibility } from "../../../api/features/discovery/visibility.ts";
import { PLACE_ADVICE } from "../../../api/features/listings/reasons.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { ratedMatch } from "../../fixtures/rated-matches.ts";
import { until } from "../../fixtures/until.ts";

const KITE = {
  title: "Kite repair",
  description: "Sews torn kites, replaces their broken spars and sends them back within a week, with photographs.",
  category: "other",
};

for (const source of ["the index", "the database"] as const) {
  describe(`the visibility of a listing, from ${source}`, () => {
    let api: TestApi;
    let seller: TestAgent;
    let rival: TestAgent;

    before(async () => {
      api = await startTestApi({ search: source === "the index" });
      [seller, rival] = [await api.registerAgent(), await api.registerAgent()];
    });
    after(() => api.close());

    const ask = (id: string, query: unknown, { apiKey: key } = seller): Promise<Answer> =>
      api.request("POST", `/api/v1/services/${id}/visibility`, { key, body: { query } });
    const visibilityOf = async (id: string, query: string) => (await ask(id, query)).body.data;
    const discover = async (query: string): Promise<{ id: string; explanation: object }[]> =>
      (await api.request("POST", "/api/v1/discover", { body: { query, explain: true } })).body;

    async function list(fields: Record<string, unknown>, { apiKey: key } = seller): Promise<string> {
      const answer = await api.request("POST", "/api/v1/services", { key, body: listingBody(fields) });
      assert.strictEqual(answer.status, 201, answer.text);
      const { id, title } = answer.body.data;
      const isFound = async () => (await discover(title)).some((found) => found.id === id);
      // Twice, because two processes may answer in turn.
      await until(`${title} is found`, async () => (await isFound()) && (await isFound()));
      return id;
    }

    /** What discover and the visibility say while the index, which is tidied after each write, changes for neither of two processes. */
    const atRest = (id: string, query: string) =>
      until("the index is tidy", async (): Promise<[Awaited<ReturnType<typeof discover>>, Answer] | false> => {
        const before = [await discover(query), await discover(query)];
        const answer = await ask(id, query);
        const after = [await discover(query), await discover(query)];
        const [results, ...others] = [...before, ...after];
        return results !== undefined && others.every((other) => isDeepStrictEqual(other, results)) && [results, answer];
      });

    it("is what discover answers, with the same parts, and says nothing about others", async () => {
      const id = await list(KITE);
      const others = [
        await list(
          { ...KITE, title: "Kite workshop", description: "Teaches children to build kites of paper." },
          rival,
        ),
        await list({ ...KITE, title: "Spars", description: "Spars for kites of any size, cut from ash." }, rival),
      ];
      for (const query of ["Kite repair", "teach my children", "replace a broken spar of ash"]) {
        const [results, answer] = await atRest(id, query);
        const place = results.findIndex((result) => result.id === id);
        assert.strictEqual(answer.status, 200, answer.text);
        const { found, rank: own, of, parts } = answer.body.data;
        assert.deepEqual([found, own, of], [place >= 0, place >= 0 ? place + 1 : null, results.length], query);
        if (place >= 0) assert.deepEqual(parts, results[place]?.explanation);
        for (const secret of [...others, rival.agentId, "workshop", "Spars"]) assert.notInclude(answer.text, secret);
      }
      const { rank: first, advice } = await visibilityOf(id, KITE.title);
      assert.strictEqual(first, 1);
      assert.deepEqual(advice, ["Deliver to different buyers: trust adds up to 30%."]);
    });

    it("says of a query about something else that it is one, with the parts", async () => {
      const id = await list({ ...KITE, title: "Kite mending" });
      const { found, rank: place, parts, advice } = await visibilityOf(id, "transcribe a podcast in Finnish");
      assert.deepEqual([found, place], [false, null]);
      assert.isBelow(parts.meaning, 0.15);
      assert.strictEqual(advice[0], PLACE_ADVICE.otherSubject);
    });

    it("advises on a vague text, a list of words, a wrong category and a repeated offer", async () => {
      const agent = await api.registerAgent();
      const listed = (fields: object) => list({ ...KITE, ...fields }, agent);
      const saidOf = async (id: string) => {
        const { advice, parts } = (await ask(id, "pottery kiln", agent)).body.data;
        return [...advice, ...parts.reasons].join(" ");
      };
      const vague = await listed({ title: "Pottery kiln", description: "We do pottery." });
      assert.match(await saidOf(vague), /Describe the work in sentences.*The description adds little/);
      const words = "clay, glaze, wheel, oven, brick, plate, cup, bowl, jug, pot, vase, tile, urn, jar, dish, mug";
      const stuffed = await listed({ title: "Pottery kiln words", description: `${words}, ${words}` });
      const keywords = /Replace lists of words by sentences.*list of words, which lowers the score by \d+%/;
      assert.match(await saidOf(stuffed), keywords);
      const description = "Fires the pottery that you send in a gas kiln, and returns it glazed within two weeks.";
      const misfiled = await listed({ title: "Pottery kiln", description, category: "security_auditing" });
      assert.match(await saidOf(misfiled), /File the listing in the category that its text fits.*fit the category/);
      const merge = /Merge listings that offer nearly the same.*offers nearly the same, which lowers the score by 50%/;
      assert.notMatch(await saidOf(misfiled), merge);
      await listed({ title: "Pottery kiln", description });
      await until("both are compared", async () => merge.test(await saidOf(misfiled)));
    });

    it("is refused for an unknown, another's, a paused and an archived listing", async () => {
      const id = await list({ ...KITE, title: "Kite cleaning" });
      assertError(await ask("lst_unknown", "kite"), 404, "not_found");
      assertError(await ask(id, "kite", rival), 403, "wrong_role");
      const change = (method: string, body?: object) =>
        api.request(method, `/api/v1/services/${id}`, { key: seller.apiKey, ...(body === undefined ? {} : { body }) });
      for (const [method, status] of [["PATCH", "paused"] as const, ["DELETE", "archived"] as const]) {
        await change(method, method === "PATCH" ? { status } : undefined);
        const refused = await ask(id, "kite");
        assertError(refused, 409, "service_not_active");
        assert.deepEqual(refused.body.details, { status });
        assertError(await ask(id, "kite", rival), 403, "wrong_role");
      }
    });
  });
}

describe("the advice on a listing's place", () => {
  const NOW = new Date("2026-05-14T12:00:00Z");
  const QUERY = "Solidity audit of smart contracts";

  /** How a listing is found that a search has ranked or returned as given. */
  function visibilityIn(
    own: RatedMatch,
    { results, ranked, amongOwn = [] }: { results: RankedMatch[]; ranked: RankedMatch[]; amongOwn?: RankedMatch[] },
  ) {
    const { listing, vector, history } = own;
    return readVisibility(
      { sellerAgentId: listing.sellerAgentId, id: listing.id, query: QUERY, limit: 1 },
      {
        discovery: {
          survey: (_query, { sellerId }) =>
            Promise.resolve({
              results,
              ranked: sellerId === listing.sellerAgentId ? amongOwn : ranked,
              query: { text: QUERY, encoding: null },
              facts: { categoryFit: () => 1, budgets: [] },
            }),
        },
        stored: { own: () => Promise.resolve({ listing, vector }) },
        standings: { of: () => Promise.resolve(new Map([[listing.sellerAddress.toLowerCase(), history as never]])) },
        now: () => NOW,
      },
    );
  }
  const VECTOR = new Float32Array(2);

  it("says that others come first if it was ranked behind the results", async () => {
    const ranked = rank([ratedMatch({ relevance: 0.9 }), ratedMatch({ relevance: 0.6, vector: VECTOR })]);
    const [first, second] = ranked;
    assert.ok(first !== undefined && second !== undefined);
    const { found, rank: place, of, parts, advice } = await visibilityIn(second, { results: [first], ranked });
    assert.deepEqual([found, place, of], [false, null, 1]);
    assert.strictEqual(parts, second.explanation);
    assert.strictEqual(advice[0], PLACE_ADVICE.behind);
  });

  it("is looked for among the seller's own if the search had no need to read it", async () => {
    const own = ratedMatch({ relevance: 0.5, vector: VECTOR }, { updatedAt: NOW });
    const amongOwn = rank([own]);
    const results = rank([ratedMatch({ relevance: 0.9 })]);
    const { rank: place, parts, advice } = await visibilityIn(own, { results, ranked: results, amongOwn });
    assert.isNull(place);
    assert.strictEqual(parts, amongOwn[0]?.explanation);
    assert.strictEqual(advice[0], PLACE_ADVICE.behind);
  });

  it("says that search may not have read it yet if it should be there and has just changed", async () => {
    const asked = async (ageMs: number, vector: Float32Array | null = VECTOR) => {
      const own = ratedMatch({ vector }, { updatedAt: new Date(NOW.getTime() - ageMs) });
      return (await visibilityIn(own, { results: [], ranked: [] })).advice.slice(0, 2);
    };
    assert.deepEqual(await asked(59_000), [PLACE_ADVICE.unread, PLACE_ADVICE.behind]);
    assert.strictEqual((await asked(61_000))[0], PLACE_ADVICE.behind);
    assert.deepEqual(await asked(61_000, null), [PLACE_ADVICE.withoutVector, PLACE_ADVICE.behind]);
  });

  it("counts a better offer of the same seller, also of a listing that search hasn't ranked", async () => {
    const better = rank([ratedMatch({ relevance: 0.2 })]);
    const own = ratedMatch({ vector: VECTOR }, { sellerAgentId: better[0]?.listing.sellerAgentId ?? "" });
    const { parts, advice } = await visibilityIn(own, { results: better, ranked: better });
    assert.strictEqual(parts.variety, 0.5);
    assert.include(advice, "Merge listings that offer nearly the same.");
  });
});
