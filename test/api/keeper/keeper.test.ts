// What the keeper ends and what it leaves alone: on a chain of its own, whose time the tests move.
import { assert } from "chai";
import { encodeFunctionData } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import { escrowAbi, scoreAbi } from "../../../api/chain/abis.ts";
import { RESOLUTION_TIMEOUT_SECONDS } from "../../../api/config/constants.ts";
import { KeeperBench } from "../../fixtures/keeper.ts";
import { CONFIRMATIONS, NETWORK } from "../../fixtures/rulings.ts";

const DELIVERED = 2;
const RELEASED = 3;
const RESOLVED = 6;
/** Runtime code that reverts every call. */
const REVERTING = "0x60006000fd";

describe("the keeper", () => {
  let bench: KeeperBench;

  beforeEach(async () => {
    bench = await KeeperBench.open();
  });
  afterEach(async () => {
    await bench.close();
  });

  const eventsOf = (agentId: string) => bench.records.models.events.find({ agentId }).sort({ seq: 1 }).lean();
  const bodyOf = ({ bodyJson }: { bodyJson: string }) => JSON.parse(bodyJson) as Record<string, unknown>;
  const stranger = () => privateKeyToAccount(generatePrivateKey());

  it("finalizes an escrow in the first block after its dispute window, not before [D7]", async () => {
    const { escrowId, windowEnd } = await bench.delivered();
    const keeper = bench.keeper();
    await bench.passTo(windowEnd);
    assert.deepEqual(await bench.step(keeper), { queued: 0, notified: 0, looked: 0 });
    await bench.passTo(windowEnd + 1);
    assert.include(await bench.step(keeper), { queued: 1, looked: 1 });
    const { txHash } = await bench.finish(escrowId, "finalize", keeper);
    assert.deepEqual(await bench.releasesOf(escrowId), [
      { txHash: txHash ?? "0x", automatic: true, from: bench.wallet },
    ]);
    assert.strictEqual(await bench.chain.escrowState(escrowId), RELEASED);
  });

  it("finalizes many in one look, with nonces in a row", async () => {
    const deliveries = [];
    for (let deal = 0; deal < 5; deal += 1) deliveries.push(await bench.delivered());
    await bench.pass(3_601);
    const keeper = bench.keeper();
    await bench.chain.client.setAutomine(false);
    assert.include(await bench.step(keeper), { queued: 5, looked: 5 });
    await bench.chain.mine();
    await bench.chain.client.setAutomine(true);
    const nonces = [];
    for (const { escrowId } of deliveries) {
      nonces.push((await bench.finish(escrowId, "finalize", keeper)).nonce);
      assert.lengthOf(await bench.releasesOf(escrowId), 1);
    }
    assert.sameMembers(nonces, [0, 1, 2, 3, 4]);
  });

  it("asks the chain first: what the database takes for finalizable too early isn't sent", async () => {
    const delivery = await bench.chain.deliver();
    await bench.setClock();
    // A record whose window ended before the chain's did.
    await bench.record({ ...delivery, windowEnd: delivery.deliveredAt - 1 });
    await bench.pass(1);
    const keeper = bench.keeper();
    await bench.step(keeper);
    assert.include(await bench.order(delivery.escrowId), { state: "held", problem: "too_early", inFlight: false });
    await bench.passTo(delivery.windowEnd + 1);
    await bench.finish(delivery.escrowId, "finalize", keeper);
    assert.lengthOf(await bench.releasesOf(delivery.escrowId), 1);
  });

  for (const [name, payload, receivedAfter] of [
    ["no payload", "missing", undefined],
    ["a payload 61 seconds after the delivery", "late", 61],
  ] as const) {
    it(`leaves an escrow with ${name} to its parties and tells the buyer once [D26]`, async () => {
      const delivery = await bench.chain.deliver();
      const { escrowId, deliveredAt, windowEnd } = delivery;
      const payloadReceivedAt = receivedAfter === undefined ? null : new Date((deliveredAt + receivedAfter) * 1_000);
      const record = await bench.record(delivery, { payloadReceivedAt });
      await bench.passTo(windowEnd + 1);
      const keeper = bench.keeper();
      assert.deepEqual(await bench.step(keeper), { queued: 0, notified: 1, looked: 0 });
      assert.deepEqual(await bench.step(keeper), { queued: 0, notified: 0, looked: 0 });
      assert.deepEqual(await bench.step(bench.keeper({ processId: "another" })), { queued: 0, notified: 0, looked: 0 });
      const [event, ...others] = await eventsOf("agt_buyer");
      assert.deepEqual(others, []);
      assert.ok(event !== undefined);
      assert.include(bodyOf(event), { event: "delivery.overdue", transactionId: record._id, escrowId, payload });
      assert.include(bodyOf(event), { disputableUntil: new Date(windowEnd * 1_000).toISOString() });
      assert.deepEqual(await bench.releasesOf(escrowId), []);
      assert.strictEqual(await bench.models.orders.countDocuments({}), 0);
    });
  }

  it("tells the buyer while the window is open, as soon as the time for the payload has passed [D26]", async () => {
    const { deliveredAt } = await bench.delivered({ payloadReceivedAt: null });
    const keeper = bench.keeper();
    await bench.passTo(deliveredAt + 60);
    assert.strictEqual((await bench.step(keeper)).notified, 0);
    await bench.passTo(deliveredAt + 71);
    assert.strictEqual((await bench.step(keeper)).notified, 1);
    assert.lengthOf(await eventsOf("agt_buyer"), 1);
  });

  it("goes by the chain's clock where that is ahead of the service's, as payloads are dated there [D26]", async () => {
    const { deliveredAt } = await bench.delivered({ payloadReceivedAt: null });
    const keeper = bench.keeper();
    const wallTime = bench.records.clock;
    /** The service's clock stays. */
    const passOnChainTo = async (unixSeconds: number) => {
      await bench.passTo(unixSeconds);
      bench.records.clock = wallTime;
    };
    await passOnChainTo(deliveredAt + 70);
    assert.strictEqual((await bench.step(keeper)).notified, 0);
    await passOnChainTo(deliveredAt + 71);
    assert.strictEqual((await bench.step(keeper)).notified, 1);
    const [event] = await eventsOf("agt_buyer");
    assert.strictEqual(event?.occurredAt.getTime(), (deliveredAt + 71) * 1_000);

    const inTime = await bench.chain.deliver();
    const without = await bench.chain.deliver();
    await bench.record(inTime, { payloadReceivedAt: new Date((inTime.deliveredAt + 60) * 1_000) });
    await bench.record(without, { payloadReceivedAt: null });
    await passOnChainTo(without.windowEnd + 1);
    assert.include(await bench.step(keeper), { queued: 1, notified: 1 });
    assert.strictEqual((await bench.order(inTime.escrowId)).move, "finalize");
  });

  it("counts a payload of the last second as in time", async () => {
    const delivery = await bench.chain.deliver();
    const { escrowId, deliveredAt, windowEnd } = delivery;
    await bench.record(delivery, { payloadReceivedAt: new Date((deliveredAt + 60) * 1_000) });
    await bench.passTo(windowEnd + 1);
    const keeper = bench.keeper();
    assert.include(await bench.step(keeper), { queued: 1, notified: 0 });
    await bench.finish(escrowId, "finalize", keeper);
  });

  it("without a key tells buyers and sends nothing", async () => {
    const { windowEnd } = await bench.delivered();
    await bench.delivered({ payloadReceivedAt: null });
    await bench.passTo(windowEnd + 3_601);
    assert.deepEqual(await bench.step(bench.keeper({ key: undefined })), { queued: 0, notified: 1, looked: 0 });
    assert.strictEqual(await bench.models.orders.countDocuments({}), 0);
  });

  it("sends nothing when somebody else finalized first", async () => {
    const { escrowId, windowEnd } = await bench.delivered();
    await bench.passTo(windowEnd + 1);
    await bench.chain.call(stranger(), "finalize", escrowId);
    const keeper = bench.keeper();
    await bench.step(keeper);
    await bench.chain.mine(CONFIRMATIONS);
    await bench.step(keeper);
    const order = await bench.order(escrowId);
    assert.include(order, { state: "superseded", inFlight: false });
    assert.deepEqual(order.attempts, []);
    assert.isUndefined(order.dueAt);
    assert.strictEqual(await bench.chain.client.getTransactionCount({ address: bench.wallet }), 0);
  });

  it("ends its order when somebody else's finalize is mined before its own", async () => {
    const { escrowId, windowEnd } = await bench.delivered();
    const other = generatePrivateKey();
    await bench.chain.client.setBalance({ address: privateKeyToAccount(other).address, value: 10n ** 18n });
    await bench.passTo(windowEnd + 1);
    await bench.chain.client.setAutomine(false);
    const keeper = bench.keeper();
    await bench.step(keeper);
    await bench.walletOf(other).sendTransaction({
      to: bench.chain.deployment.escrow,
      data: encodeFunctionData({ abi: escrowAbi, functionName: "finalize", args: [escrowId] }),
      gas: 500_000n,
      maxFeePerGas: 90n * 10n ** 9n,
      maxPriorityFeePerGas: 80n * 10n ** 9n,
    });
    await bench.chain.mine();
    await bench.chain.client.setAutomine(true);
    for (let look = 0; look < 2; look += 1) {
      await keeper.networks[NETWORK].sender.step();
      await bench.chain.mine(CONFIRMATIONS);
    }
    await keeper.networks[NETWORK].sender.step();
    const order = await bench.order(escrowId);
    assert.include(order, { state: "superseded", inFlight: false, reverts: 1 });
    assert.lengthOf(order.attempts, 1);
    assert.lengthOf(await bench.releasesOf(escrowId), 1);
    // The reverted transaction was paid for, and that is all that counts.
    assert.strictEqual(order.spentWei, String(await bench.paidWei()));
  });

  it("leaves an escrow alone that the buyer has disputed", async () => {
    const { escrowId, windowEnd, buyer } = await bench.delivered();
    await bench.chain.call(buyer, "openDispute", escrowId);
    await bench.passTo(windowEnd + 1);
    const keeper = bench.keeper();
    await bench.step(keeper);
    await bench.chain.mine(CONFIRMATIONS);
    await bench.step(keeper);
    assert.include(await bench.order(escrowId), { state: "superseded", inFlight: false });
    assert.deepEqual(await bench.releasesOf(escrowId), []);
  });

  it("ends a dispute without a ruling after thirty days, not before [D8]", async () => {
    const { escrowId } = await bench.chain.openDispute();
    const keeper = bench.keeper({ expired: [escrowId] });
    await bench.pass(RESOLUTION_TIMEOUT_SECONDS - 60);
    await bench.step(keeper);
    assert.include(await bench.order(escrowId, "resolveExpired"), { state: "held", problem: "too_early" });
    await bench.pass(120);
    await bench.finish(escrowId, "resolveExpired", keeper);
    assert.strictEqual(await bench.chain.escrowState(escrowId), RESOLVED);
    assert.lengthOf(await bench.chain.resolutionsOf(escrowId), 1);
  });

  async function assertScores(agents: readonly { address: Hex }[], expected: bigint): Promise<void> {
    const { deployment, client } = bench.chain;
    for (const { address } of agents) {
      const score = await client.readContract({
        address: deployment.score,
        abi: scoreAbi,
        functionName: "scoreOf",
        args: [address],
      });
      assert.strictEqual(score, expected);
    }
  }

  it("retries the scores of a settlement that the score contract didn't take [D9]", async () => {
    const { escrowId, buyer, seller } = await bench.delivered();
    const { deployment, client } = bench.chain;
    const code = await client.getCode({ address: deployment.score });
    assert.ok(code !== undefined);
    await client.setCode({ address: deployment.score, bytecode: REVERTING });
    await bench.chain.call(buyer, "accept", escrowId);
    const keeper = bench.keeper();
    await bench.step(keeper);
    assert.include(await bench.order(escrowId, "retryScore"), { state: "held", problem: "score_fails" });
    await client.setCode({ address: deployment.score, bytecode: code });
    await bench.finish(escrowId, "retryScore", keeper);
    await assertScores([buyer, seller], 1n);
    assert.strictEqual((await bench.step(keeper)).queued, 0, "found once");
  });

  it("retries the scores of a settlement that a reorganisation has moved to a later block [D9]", async () => {
    const { escrowId, buyer, seller } = await bench.delivered();
    const { deployment, client } = bench.chain;
    const code = await client.getCode({ address: deployment.score });
    assert.ok(code !== undefined);
    const settleWithoutScores = async () => {
      await client.setCode({ address: deployment.score, bytecode: REVERTING });
      await bench.chain.call(buyer, "accept", escrowId);
    };
    const { number: before } = await client.getBlock();
    await settleWithoutScores();
    const keeper = bench.keeper();
    await bench.step(keeper);
    assert.include(await bench.order(escrowId, "retryScore"), { state: "held", problem: "score_fails" });

    const { number: after } = await client.getBlock();
    await bench.chain.reorganise(Number(after - before));
    await bench.chain.mine(CONFIRMATIONS + 1);
    assert.strictEqual(await bench.chain.escrowState(escrowId), DELIVERED);
    await bench.step(keeper);
    assert.include(await bench.order(escrowId, "retryScore"), { state: "held", problem: "not_in_state" });

    await settleWithoutScores();
    await client.setCode({ address: deployment.score, bytecode: code });
    await bench.finish(escrowId, "retryScore", keeper);
    await assertScores([buyer, seller], 1n);
  });

  it("leaves a score alone that somebody else has written [D9]", async () => {
    const { escrowId, buyer } = await bench.delivered();
    const { deployment, client } = bench.chain;
    const code = await client.getCode({ address: deployment.score });
    assert.ok(code !== undefined);
    await client.setCode({ address: deployment.score, bytecode: REVERTING });
    await bench.chain.call(buyer, "accept", escrowId);
    const keeper = bench.keeper();
    await bench.step(keeper);
    await client.setCode({ address: deployment.score, bytecode: code });
    await bench.chain.call(buyer, "retryScore", escrowId);
    await bench.chain.mine(CONFIRMATIONS);
    await bench.step(keeper);
    assert.include(await bench.order(escrowId, "retryScore"), { state: "superseded", inFlight: false });
  });

  it("sends its transaction again after a reorganisation", async () => {
    const { escrowId, windowEnd } = await bench.delivered();
    await bench.passTo(windowEnd + 1);
    await bench.chain.mine(2);
    const keeper = bench.keeper();
    await bench.step(keeper);
    await bench.step(keeper);
    assert.strictEqual((await bench.order(escrowId)).state, "mined");
    await bench.chain.reorganise(1);
    assert.deepEqual(await bench.releasesOf(escrowId), []);
    const order = await bench.finish(escrowId, "finalize", keeper);
    assert.lengthOf(order.attempts, 1);
    assert.lengthOf(await bench.releasesOf(escrowId), 1);
  });
});
