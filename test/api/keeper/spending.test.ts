// The keeper's daily cap: reserved before a transaction is sent, and exact afterwards.
import { assert } from "chai";
import { parseGwei } from "viem";

import { KeeperBench } from "../../fixtures/keeper.ts";
import type { Keeper } from "../../fixtures/keeper.ts";
import { NETWORK } from "../../fixtures/rulings.ts";

const DAY_SECONDS = 86_400;

describe("the keeper's spending", () => {
  let bench: KeeperBench;

  beforeEach(async () => {
    bench = await KeeperBench.open();
    // Spending is counted by the chain's day, and tests move the chain by hours: each starts with a new day.
    const { timestamp } = await bench.chain.client.getBlock();
    await bench.pass(DAY_SECONDS - (Number(timestamp) % DAY_SECONDS));
  });
  afterEach(async () => {
    await bench.close();
  });

  async function deliveries(count: number) {
    const found = [];
    for (let deal = 0; deal < count; deal += 1) found.push(await bench.delivered());
    await bench.pass(3_601);
    return found;
  }

  const committed = async (keeper: Keeper) => BigInt((await keeper.state(NETWORK)).spentTodayWei);

  /** What a finalization may cost at most, as one keeper reserves it. */
  async function reservation(): Promise<bigint> {
    const [first] = await deliveries(1);
    assert.ok(first !== undefined);
    const keeper = bench.keeper();
    await bench.chain.client.setAutomine(false);
    await bench.step(keeper);
    const wei = await committed(keeper);
    await bench.chain.client.setAutomine(true);
    await bench.chain.mine();
    await bench.finish(first.escrowId, "finalize", keeper);
    return wei;
  }

  it("is what its transactions have cost once they are final", async () => {
    const found = await deliveries(3);
    const keeper = bench.keeper();
    await bench.step(keeper);
    assert.isTrue((await committed(keeper)) > (await bench.paidWei()), "the most that they may cost is reserved");
    for (const { escrowId } of found) await bench.finish(escrowId, "finalize", keeper);
    const paid = await bench.paidWei();
    assert.isTrue(paid > 0n);
    assert.strictEqual(await committed(keeper), paid);
  });

  it("is shown for the chain's day where its clock is ahead of the service's", async () => {
    const { escrowId } = await bench.delivered();
    const { clock } = bench.records;
    await bench.pass(2 * DAY_SECONDS);
    bench.records.clock = clock;
    const keeper = bench.keeper();
    await bench.step(keeper);
    await bench.finish(escrowId, "finalize", keeper);
    assert.strictEqual(await committed(keeper), await bench.paidWei());
  });

  it("stays within the cap with several workers at once", async () => {
    const one = await reservation();
    const spent = await bench.paidWei();
    const found = await deliveries(6);
    await bench.chain.client.setAutomine(false);
    // Room for two more at present fees, however many workers share it.
    const capWei = spent + 2n * one + one / 2n;
    // Of one name, so that the lease lets all of them send at once.
    const keepers = [1, 2, 3].map(() => bench.keeper({ capWei }));
    await Promise.all(keepers.map((keeper) => bench.step(keeper)));
    await Promise.all(keepers.map((keeper) => bench.step(keeper)));
    const [keeper] = keepers;
    assert.ok(keeper !== undefined);
    assert.isTrue((await committed(keeper)) <= capWei);
    const orders = await bench.models.orders.find({ escrowId: { $in: found.map(({ escrowId }) => escrowId) } }).lean();
    assert.strictEqual(orders.filter(({ inFlight }) => inFlight).length, 2);
    const held = orders.filter(({ problem }) => problem === "spending_cap");
    assert.strictEqual(held.length, 4);
    assert.ok(held.every(({ attempts }) => attempts.length === 0));
    assert.strictEqual(
      held.every(({ charge }) => charge === undefined),
      true,
    );
    await bench.chain.client.setAutomine(true);
    await bench.chain.mine();
  });

  it("goes on the next day, by the chain's time", async () => {
    const [delivery] = await deliveries(1);
    assert.ok(delivery !== undefined);
    const keeper = bench.keeper({ capWei: 1n });
    await bench.step(keeper);
    assert.include(await bench.order(delivery.escrowId), { state: "held", problem: "spending_cap", inFlight: false });
    assert.deepEqual(await bench.releasesOf(delivery.escrowId), []);
    assert.deepEqual((await keeper.state(NETWORK)).held, { spending_cap: 1 });

    const one = await bench.keeper().networks[NETWORK].spending.committedOn(0);
    assert.strictEqual(one, 0n);
    const ample = bench.keeper();
    await bench.finish(delivery.escrowId, "finalize", ample);
    const paid = await bench.paidWei();
    assert.strictEqual(await committed(ample), paid);
    await bench.pass(DAY_SECONDS);
    assert.strictEqual(await committed(ample), 0n);
    // What yesterday cost leaves today's cap alone.
    const [next] = await deliveries(1);
    assert.ok(next !== undefined);
    await bench.finish(next.escrowId, "finalize", await stepped(bench.keeper()));
    assert.strictEqual(await committed(ample), (await bench.paidWei()) - paid);
  });

  async function stepped(keeper: Keeper): Promise<Keeper> {
    await bench.step(keeper);
    return keeper;
  }

  it("counts a transaction with raised fees once, and raises none beyond the cap", async () => {
    const one = await reservation();
    const spent = await bench.paidWei();
    const [delivery] = await deliveries(1);
    assert.ok(delivery !== undefined);
    await bench.chain.client.setAutomine(false);
    const tight = bench.keeper({ capWei: spent + one + one / 2n });
    await bench.step(tight);
    await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("20") });
    await bench.chain.mine();
    await bench.setClock();
    bench.records.clock = new Date(bench.records.clock.getTime() + 61_000);
    await tight.networks[NETWORK].sender.step();
    const held = await bench.order(delivery.escrowId);
    assert.include(held, { problem: "spending_cap", inFlight: true });
    assert.lengthOf(held.attempts, 1);

    // After a problem it is sent unchanged first.
    const ample = bench.keeper();
    await ample.networks[NETWORK].sender.step();
    await bench.chain.mine();
    bench.records.clock = new Date(bench.records.clock.getTime() + 61_000);
    await ample.networks[NETWORK].sender.step();
    const raised = await bench.order(delivery.escrowId);
    assert.lengthOf(raised.attempts, 2);
    assert.strictEqual(await committed(ample), spent + BigInt(raised.charge?.wei ?? 0));
    await bench.chain.client.setAutomine(true);
    await bench.chain.mine();
    await bench.finish(delivery.escrowId, "finalize", ample);
    assert.strictEqual(await committed(ample), await bench.paidWei());
    assert.lengthOf(await bench.releasesOf(delivery.escrowId), 1);
  });
});
