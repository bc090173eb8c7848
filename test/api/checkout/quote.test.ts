import { assert } from "chai";
import { keccak256, stringToBytes } from "viem";

import type { ChainClient } from "../../../api/chain/chain-client.ts";
import { PriceUnavailableError } from "../../../api/chain/errors.ts";
import {
  quoteListing,
  etherToUsdAmount,
  computeFee,
  parseDecimal,
  sameUnitAmount,
  usdToTokenAmount,
} from "../../../api/features/checkout/quote.ts";
import { criteriaDocument, hashCriteria } from "../../../api/features/criteria/document.ts";
import type { Listing } from "../../../api/features/listings/listing.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

describe("amounts of a checkout", () => {
  it("[D1] are exact decimals: a price of 0.1 times 3 is 300000 units of USDC", () => {
    assert.strictEqual(sameUnitAmount("0.1", 3, 6), 300_000n);
    assert.strictEqual(sameUnitAmount("2.5", 1, 6), 2_500_000n);
    assert.strictEqual(sameUnitAmount("999999999.999999", 1_000_000, 6), 999_999_999_999_999_000_000n);
    assert.strictEqual(sameUnitAmount("0.000000000000000001", 7, 18), 7n);
  });

  it("[D1] are rounded up when the price has more places than the token", () => {
    assert.strictEqual(sameUnitAmount("0.0000001", 1, 6), 1n);
    assert.strictEqual(sameUnitAmount("0.0000015", 1, 6), 2n);
    assert.strictEqual(sameUnitAmount("0.0000005", 2, 6), 1n);
  });

  it("[D1] [S4.301] have a fee of 2% that is rounded up", () => {
    assert.strictEqual(computeFee(1_000_000n), 20_000n);
    assert.strictEqual(computeFee(1n), 1n);
    assert.strictEqual(computeFee(50n), 1n);
    assert.strictEqual(computeFee(51n), 2n);
    for (const amount of [1n, 49n, 50n, 51n, 12_345_679n, 2n ** 96n - 1n]) {
      const fee = computeFee(amount);
      assert.ok(fee * 10_000n >= amount * 200n && (fee - 1n) * 10_000n < amount * 200n, `fee of ${amount}`);
    }
  });

  it("[D2] convert dollars to WETH and ether to USDC at the feed's price, rounded up", () => {
    const price = { answer: 250_000_000_000n, decimals: 8, updatedAt: 0 };
    assert.strictEqual(usdToTokenAmount("2.5", 1, { decimals: 18 }, price), 10n ** 15n);
    assert.strictEqual(etherToUsdAmount("0.001", 3, { decimals: 6 }, price), 7_500_000n);
    const uneven = { answer: 299_999_999_999n, decimals: 8, updatedAt: 0 };
    const units = usdToTokenAmount("1", 1, { decimals: 18 }, uneven);
    assert.ok(units * uneven.answer >= 10n ** 26n && (units - 1n) * uneven.answer < 10n ** 26n);
  });

  it("[D2] aren't quoted with a stale or missing price", async () => {
    const weth = { symbol: "WETH", address: "0x", decimals: 18, feed: "0x", maxPriceAge: 3_600, minAmount: 1n };
    const quote = (answer: bigint, updatedAt: number, now: number) => {
      const chain = {
        network: "base",
        token: () => weth,
        price: () => Promise.resolve({ answer, decimals: 8, updatedAt }),
      };
      const order = { quantity: 1, paymentMethod: "weth" };
      return quoteListing(chain as unknown as ChainClient, { price: "1", currency: "USD" }, order, now);
    };
    assert.strictEqual((await quote(250_000_000_000n, 1_000, 4_600)).amount, 4n * 10n ** 14n);
    const unusable: Parameters<typeof quote>[] = [
      [250_000_000_000n, 1_000, 4_601],
      [0n, 1_000, 1_000],
      [-1n, 1_000, 1_000],
      [1n, 0, 1],
    ];
    for (const refused of unusable) {
      assert.include((await rejectionOf(quote(...refused), PriceUnavailableError)).facts, { token: "WETH" });
    }
  });

  it("accept only plain decimals", () => {
    for (const text of ["1e6", "-1", "0x10", "1.", ".5", "1,5", ""])
      assert.throws(() => parseDecimal(text), RangeError);
  });
});

const listing = {
  id: "lst_1",
  sellerAgentId: "agt_1",
  title: "Title",
  description: "Text",
  category: "research",
  price: "2.50",
  priceUnit: "flat",
  currency: "USDC",
} as unknown as Listing;

describe("the criteria of a checkout", () => {
  it("[D5] are hashed as keccak256 of their RFC 8785 canonical JSON, regardless of key order", () => {
    const one = criteriaDocument(listing, { quantity: 2, requestPayload: { b: 1, a: { d: [1, 2], c: "é" } } });
    const other = criteriaDocument(listing, { quantity: 2, requestPayload: { a: { c: "é", d: [1, 2] }, b: 1 } });
    const canonical =
      '{"category":"research","criteria":null,"currency":"USDC","description":"Text","price":2.5,"priceUnit":"flat",' +
      '"quantity":2,"requestPayload":{"a":{"c":"é","d":[1,2]},"b":1},"sellerAgentId":"agt_1","serviceId":"lst_1",' +
      '"title":"Title"}';
    assert.strictEqual(hashCriteria(one), keccak256(stringToBytes(canonical)));
    assert.strictEqual(hashCriteria(other), hashCriteria(one));
    assert.notStrictEqual(hashCriteria({ ...one, quantity: 3 }), hashCriteria(one));
  });
});
