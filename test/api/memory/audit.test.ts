// The audit trails that escrows leave in the memories of their parties (specification 6, decision 27).
import { assert } from "chai";

import { withTransaction } from "../../../api/db/connection.ts";
import { createAuditMemory } from "../../../api/features/memory/audit/trails.ts";
import { memoryModels } from "../../../api/features/memory/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { BUYER, bytes32, created, followerBench, killed, moved, SELLER, STRANGER } from "../../fixtures/follower.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

describe("audit trails", () => {
  const bench = followerBench();

  const trails = () => createAuditMemory(memoryModels(bench.connection), bench.now);
  const keysOf = async (agentId: string, transactionId: string) =>
    (await trails().readAudit(transactionId, agentId)).map(({ key }) => key.replace(`escrow/${transactionId}/`, ""));
  const inAll = () => memoryModels(bench.connection).audit.countDocuments();

  it("[S6.46] [D27] have every event of an escrow once for both parties, by two followers and again from the start", async () => {
    const record = await bench.checkout();
    const [one, other] = [bench.follower(), bench.follower()];
    bench.indexer.mine([created(record)]);
    await Promise.allSettled([one.step(), other.step()]);
    bench.indexer.mine([moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
    bench.indexer.mine([moved(record, "EscrowReleased")]);
    await Promise.allSettled([one.step(), other.step()]);
    await bench.follower().step();
    const expected = ["1-escrow.funded", "2-delivery.submitted", "3-escrow.released"];
    assert.deepEqual(await keysOf("agt_buyer", record._id), expected);
    assert.deepEqual(await keysOf("agt_seller", record._id), expected);
    assert.strictEqual(await inAll(), 6);
  });

  it("[D27] an entry says what happened and when, without the payloads that the transaction has", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record)]);
    await bench.follower().step();
    const [event] = await bench.eventLog();
    const [entry] = await trails().readAudit(record._id, "agt_buyer");
    assert.ok(entry !== undefined && event !== undefined);
    const { body, ...value } = entry.value as { body: Record<string, unknown> };
    assert.deepEqual(value, {
      event: "escrow.funded",
      eventId: event.eventId,
      transactionId: record._id,
      occurredAt: event.occurredAt.toISOString(),
    });
    const { requestPayload, ...sent } = JSON.parse(event.bodyJson) as Record<string, unknown>;
    assert.deepEqual([requestPayload, body], [{ q: 1 }, sent]);
    assert.deepEqual([entry.tags, entry.expiresAt, entry.version], [["escrow.funded"], null, 1]);
  });

  it("[D27] an entry leaves out both payloads, whatever event has them", async () => {
    const payloads = { requestPayload: { q: 1 }, responsePayload: { a: 1 } };
    const event = {
      ...({ eventId: "evt_both", type: "service.delivered", transactionId: "txn_both" } as const),
      occurredAt: bench.now(),
      agentIds: ["agt_buyer"],
      body: { ...payloads, deliveryProof: "0x01" },
    };
    await withTransaction(bench.connection, (session) => trails().write([event], session));
    const [entry] = await trails().readAudit("txn_both", "agt_buyer");
    assert.deepEqual((entry?.value as { body: object }).body, { deliveryProof: "0x01" });
  });

  it("[D37] a reorganisation leaves entries of its own, and what comes back another", async () => {
    const record = await bench.checkout();
    const one = bench.follower();
    bench.indexer.mine();
    bench.indexer.mine([created(record)]);
    await one.step();
    bench.indexer.rollBackTo(1);
    bench.indexer.mine();
    bench.indexer.mine();
    await one.step();
    bench.indexer.mine([created(record)]);
    await one.step();
    for (const agentId of ["agt_buyer", "agt_seller"]) {
      assert.deepEqual(await keysOf(agentId, record._id), ["1-escrow.funded", "2-escrow.reorged", "3-escrow.funded"]);
    }
  });

  it("[D37] a reorganisation is in the trail of a party that only had the removed event there", async () => {
    const escrowId = bytes32();
    const parties = { escrowId, buyer: STRANGER, seller: SELLER };
    const one = bench.follower();
    bench.indexer.mine([{ type: "EscrowCreated", ...parties }]);
    bench.indexer.mine([{ type: "DeliverySubmitted", ...parties, proofHash: bytes32() }]);
    await one.step();
    bench.indexer.rollBackTo(1);
    bench.indexer.mine();
    bench.indexer.mine();
    await one.step();
    const record = await bench.transactions.findOne({ escrowId }).lean();
    assert.ok(record !== null);
    const expected = ["1-escrow.funded", "2-delivery.submitted", "3-escrow.reorged"];
    assert.deepEqual(await keysOf("agt_seller", record._id), expected);
    bench.indexer.mine([{ type: "DeliverySubmitted", ...parties, proofHash: bytes32() }]);
    await one.step();
    assert.deepEqual(await keysOf("agt_seller", record._id), [...expected, "4-delivery.submitted"]);
  });

  it("[D10] a wallet that registers later gets the past of its escrows at the same positions, and nobody else's", async () => {
    const buyer = `0x${"ab".repeat(20)}` as const;
    const [own, foreign] = [bytes32(), bytes32()];
    const one = bench.follower();
    bench.indexer.mine([
      { type: "EscrowCreated", escrowId: own, buyer, seller: SELLER },
      { type: "EscrowCreated", escrowId: foreign, buyer: BUYER, seller: SELLER },
    ]);
    bench.indexer.mine([{ type: "EscrowReleased", escrowId: own, buyer, seller: SELLER }]);
    await one.step();
    await bench.register(buyer, "agt_late");
    await one.step();
    await one.step();
    const record = await bench.transactions.findOne({ escrowId: own }).lean();
    assert.ok(record !== null);
    const expected = ["1-escrow.funded", "2-escrow.released"];
    assert.deepEqual(await keysOf("agt_late", record._id), expected);
    assert.deepEqual(await keysOf("agt_seller", record._id), expected);
    assert.strictEqual(await memoryModels(bench.connection).audit.countDocuments({ agentId: "agt_late" }), 2);
  });

  it("[D27] a process that dies before its commit leaves nothing, and the next one writes each entry once", async () => {
    const record = await bench.checkout();
    bench.indexer.mine([created(record)]);
    const dying = { ...bench.recorder };
    dying.record = async (announcements, session) => {
      await bench.recorder.record(announcements, session);
      throw killed();
    };
    await bench
      .follower({ recorder: dying })
      .step()
      .catch(() => undefined);
    assert.strictEqual(await inAll(), 0);
    await bench.follower().step();
    assert.strictEqual(await inAll(), 2);
  });

  it("[D27] many events of one escrow at once get one position each", async () => {
    const transactionId = "txn_busy";
    const events = Array.from({ length: 20 }, (_, n) => ({
      eventId: `evt_${n}`,
      type: "escrow.reorged",
      transactionId,
      occurredAt: bench.clock,
      agentIds: n % 2 === 0 ? ["agt_one"] : ["agt_one", "agt_two"],
      body: { n },
    }));
    const write = (event: (typeof events)[number]) =>
      withTransaction(bench.connection, (session) => trails().write([event], session));
    await Promise.all([...events, ...events].map(write));
    assert.deepEqual(
      await keysOf("agt_one", transactionId),
      events.map((_, n) => `${n + 1}-escrow.reorged`),
    );
    assert.strictEqual((await keysOf("agt_two", transactionId)).length, 10);
  });
});

describe("the audit trail of a deal", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ runsLoops: true });
  });
  after(() => api.close());

  it("[S6.46] [D27] is in the namespace audit of both parties' memories, and in nobody else's", async () => {
    const chain = await openChain("base-sepolia");
    const market = await openMarket(api, chain);
    const { buyer, seller } = market;
    const { transactionId } = await fundedDeal(market);
    await deliverDeal(market, transactionId, { report: "clean" });
    await act(api, chain, buyer, transactionId, "accept");
    const expected = ["1-escrow.funded", "2-service.delivered", "3-escrow.released"].map(
      (end) => `escrow/${transactionId}/${end}`,
    );
    const query = `namespace=audit&prefix=${encodeURIComponent(`escrow/${transactionId}/`)}`;
    const keysOf = (agent: TestAgent) => memoryOf(api, agent).keys(query);
    for (const agent of [buyer, seller]) {
      await until("the trail is complete", async () => (await keysOf(agent)).length >= expected.length);
      assert.deepEqual(await keysOf(agent), expected);
      const memory = memoryOf(api, agent);
      const read = await memory.read(expected[0] ?? "", "?namespace=audit");
      assert.deepEqual([read.status, read.body.data.value.event], [200, "escrow.funded"], read.text);
      assert.deepEqual(await memory.keys("namespace=audit&tag=escrow.released"), [expected[2]]);
      assert.strictEqual((await memory.history(expected[0] ?? "", "?namespace=audit")).body.data.length, 1);
      assert.deepEqual(
        (await memory.exported("?namespace=audit")).map(({ key }) => key),
        expected,
      );
    }
    const stranger = memoryOf(api, await api.registerAgent());
    assert.deepEqual(await stranger.keys(query), []);
    assert.strictEqual((await stranger.read(expected[0] ?? "", "?namespace=audit")).status, 404);
  });
});
