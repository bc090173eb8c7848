import { setImmediate } from "node:timers/promises";

import { assert } from "chai";

import type { ChainClient } from "../../../api/chain/chain-client.ts";
import { ChainUnavailableError, PriceUnavailableError } from "../../../api/chain/errors.ts";
import { createEtherPrice } from "../../../api/chain/ether-price.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const WETH = { symbol: "WETH", address: "0x", decimals: 18, feed: "0x", maxPriceAge: 3_600, minAmount: 1n };
const START = 1_800_000_000;

/** A price of ether with a feed, chain and time that a test sets. */
function subject() {
  const world = { seconds: START, answer: 250_000_000_000n, updatedAt: START, isReachable: true, readings: 0 };
  const chain = {
    network: "base",
    token: () => WETH,
    head: () => Promise.resolve({ number: 1, hash: "0x", timestamp: world.seconds }),
    price: () => {
      world.readings += 1;
      if (!world.isReachable) return Promise.reject(new ChainUnavailableError("base", undefined));
      return Promise.resolve({ answer: world.answer, decimals: 8, updatedAt: world.updatedAt });
    },
  } as unknown as ChainClient;
  const clock = { now: () => new Date(world.seconds * 1_000) };
  const etherPrice = createEtherPrice({ base: chain, "base-sepolia": chain }, clock);
  return { world, usd: async () => (await etherPrice()).toFixed() };
}

describe("the price of ether", () => {
  it("[D23] is exactly the feed's, and read once for all concurrent callers", async () => {
    const { world, usd } = subject();
    world.answer = 299_999_999_999n;
    assert.deepEqual(await Promise.all([usd(), usd(), usd()]), ["2999.99999999", "2999.99999999", "2999.99999999"]);
    assert.strictEqual(world.readings, 1);
  });

  it("[D23] is read again in the background after half a minute, and before an answer after a minute", async () => {
    const { world, usd } = subject();
    assert.strictEqual(await usd(), "2500");
    world.answer = 260_000_000_000n;
    world.seconds += 30;
    assert.deepEqual([await usd(), world.readings], ["2500", 1]);
    world.seconds += 1;
    assert.deepEqual([await usd(), world.readings], ["2500", 2]);
    while ((await usd()) !== "2600") await setImmediate();
    world.answer = 270_000_000_000n;
    world.seconds += 61;
    assert.strictEqual(await usd(), "2700");
  });

  it("[D23] survives an outage of the chain for a minute, not longer", async () => {
    const { world, usd } = subject();
    await usd();
    world.isReachable = false;
    world.seconds += 60;
    assert.strictEqual(await usd(), "2500");
    world.seconds += 1;
    await rejectionOf(usd(), ChainUnavailableError);
    world.isReachable = true;
    assert.strictEqual(await usd(), "2500");
  });

  it("[D23] isn't taken from a feed that is older than the token allows", async () => {
    const { world, usd } = subject();
    world.updatedAt = START - WETH.maxPriceAge - 1;
    assert.include((await rejectionOf(usd(), PriceUnavailableError)).facts, { token: "WETH" });
  });
});
