// Listings that nobody can buy are created all the same, and their sellers are told why.
import BigNumber from "bignumber.js";
import { assert } from "chai";

import type { Network } from "../../../api/config/constants.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { createListingWarnings } from "../../../api/features/listings/warnings.ts";
import type { ListingWarningsDeps } from "../../../api/features/listings/warnings.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { serviceCalls } from "../../fixtures/services.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

interface Warning {
  code: string;
  text: string;
}

const codesOf = (warnings: readonly Warning[]) => warnings.map(({ code }) => code);
/** A listing that everybody can buy. */
const PLAIN = { price: 10, callbackRequired: false };

describe("the warnings of a listing", () => {
  let api: TestApi;
  let chain: TestChain;
  let seller: TestAgent;
  let buyer: TestAgent;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    [seller, buyer] = await Promise.all([api.registerAgent(), api.registerAgent()]);
    await chain.endow(buyer.account, { usdc: 100n * ONE_USDC });
  });
  after(() => api.close());

  const { post, patch, archive, create } = serviceCalls(() => ({ api, seller }));
  const order = (serviceId: string, paymentMethod: string): Promise<Answer> =>
    api.request("POST", "/api/v1/checkout", { key: buyer.apiKey, body: { serviceId, paymentMethod } });

  it("[D61] are beside data, and empty for one that can be bought", async () => {
    const answer = await post(listingBody(PLAIN));
    assert.strictEqual(answer.status, 201);
    assert.deepEqual(Object.keys(answer.body).sort(), ["data", "success", "warnings"]);
    assert.deepEqual(answer.body.warnings, []);
    assert.strictEqual((await order(answer.body.data.id, "usdc")).status, 200);
  });

  const unsettleable: [currency: string, network: Network, methods: string[]][] = [
    ["POL", "base-sepolia", ["usdc", "weth"]],
    ["ETH", "base-sepolia", ["usdc", "weth"]],
    ["POL", "base", []],
  ];
  for (const [currency, network, methods] of unsettleable) {
    it(`[D2] [D61] name ${currency} on ${network} as not settleable, as checkout does`, async () => {
      const answer = await post(listingBody({ ...PLAIN, currency, network, price: 0.001 }));
      assert.strictEqual(answer.status, 201);
      assert.deepEqual(codesOf(answer.body.warnings), ["currency_not_settleable"]);
      assert.include(answer.body.warnings[0].text, currency);
      for (const method of methods) {
        assertError(await order(answer.body.data.id, method), 422, "currency_not_settleable");
      }
    });
  }

  it("[D11] [D61] name a price above the seller's cap by its score on chain, as checkout does, and none at the cap", async () => {
    const dear = await post(listingBody({ ...PLAIN, price: 10.000001 }));
    assert.deepEqual(codesOf(dear.body.warnings), ["above_seller_cap"]);
    assert.include(dear.body.warnings[0].text, "$10.000001");
    assertError(await order(dear.body.data.id, "usdc"), 403, "job_value_cap_exceeded");

    const risen = await api.registerAgent();
    const body = listingBody({ ...PLAIN, price: 25 });
    const listed = async () => (await api.request("POST", "/api/v1/services", { key: risen.apiKey, body })).body;
    assert.deepEqual(codesOf((await listed()).warnings), ["above_seller_cap"]);
    await chain.raiseScore(risen.walletAddress, 10);
    assert.deepEqual((await listed()).warnings, []);
  });

  it("[D61] name a price in ether that is worth more than the cap", async () => {
    const inEther = (price: number) => post(listingBody({ ...PLAIN, currency: "ETH", network: "base", price }));
    assert.deepEqual(codesOf((await inEther(1)).body.warnings), ["above_seller_cap"]);
    assert.deepEqual((await inEther(0.000001)).body.warnings, []);
  });

  it("[D24] [D61] say that a callback is required, which is the default", async () => {
    const answer = await post(listingBody());
    assert.deepEqual(codesOf(answer.body.warnings), ["callback_required"]);
    assertError(await order(answer.body.data.id, "usdc"), 400, "callback_url_required");
  });

  it("[D61] are all told at once", async () => {
    const { warnings } = (await post(listingBody({ price: 1_000 }))).body;
    assert.deepEqual(codesOf(warnings), ["above_seller_cap", "callback_required"]);
    const other = (await post(listingBody({ currency: "POL" }))).body.warnings;
    assert.deepEqual(codesOf(other), ["currency_not_settleable", "callback_required"]);
    for (const { text } of [...warnings, ...other]) assert.isAbove(text.length, 40);
  });

  it("[D61] come with every change, and not with the archiving", async () => {
    const id = await create(PLAIN);
    const changes: [object, string[]][] = [
      [{ price: 11 }, ["above_seller_cap"]],
      [{ title: "Another title" }, ["above_seller_cap"]],
      [{ currency: "POL" }, ["currency_not_settleable"]],
      [{ callbackRequired: true, status: "paused" }, ["currency_not_settleable", "callback_required"]],
      [{ callbackRequired: false, currency: "USD", price: 1 }, []],
    ];
    for (const [change, expected] of changes) {
      const { status, body } = await patch(id, change);
      assert.strictEqual(status, 200);
      assert.deepEqual(codesOf(body.warnings), expected, JSON.stringify(change));
    }
    assert.notProperty((await archive(id)).body, "warnings");
  });

  describe("while a fact can't be read", () => {
    const failing = () => Promise.reject(new Error("unreachable"));
    const hanging = () => new Promise<never>(() => undefined);
    const listing = (fields: Partial<Listing>) =>
      ({ currency: "USDC", network: "base", price: "20", status: "active", ...fields }) as Listing;
    const network = (scoreOf: () => Promise<bigint>) => ({ token: () => ({}) as never, scoreOf });
    const warningsWith = (scoreOf: () => Promise<bigint>, deps: Partial<ListingWarningsDeps> = {}) =>
      createListingWarnings({
        chains: { base: network(scoreOf), "base-sepolia": network(scoreOf) },
        standings: { of: () => Promise.resolve(new Map()) },
        etherPrice: () => Promise.resolve(new BigNumber(2_500)),
        timeoutMs: 20,
        ...deps,
      });
    const copyOf = (score: number) => ({
      of: () => Promise.resolve(new Map([["0xa", { score } as never]])),
    });
    const sold = (fields: Partial<Listing> = {}) => listing({ sellerAddress: "0xA", ...fields });

    for (const [how, scoreOf] of [
      ["fails", failing],
      ["hangs", hanging],
    ] as const) {
      it(`[D61] the copy of the score decides if the chain ${how}`, async () => {
        assert.deepEqual(codesOf(await warningsWith(scoreOf, { standings: copyOf(9) })(sold())), ["above_seller_cap"]);
        assert.deepEqual(await warningsWith(scoreOf, { standings: copyOf(10) })(sold()), []);
      });

      it(`[D61] nothing is said, and nothing fails, if everything ${how}`, async () => {
        const deps = { standings: { of: scoreOf as never }, etherPrice: scoreOf };
        assert.deepEqual(await warningsWith(scoreOf, deps)(sold()), []);
        const inEther = sold({ currency: "ETH", price: "1" });
        assert.deepEqual(await warningsWith(() => Promise.resolve(0n), deps)(inEther), []);
      });
    }
  });
});
