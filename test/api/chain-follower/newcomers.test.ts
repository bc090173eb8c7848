import { assert } from "chai";

import { ADOPTED_MOVES } from "../../../api/features/chain-follower/late-registration.ts";
import { startTestApi } from "../../fixtures/api.ts";
import { FakeIndexer } from "../../fixtures/fake-indexer.ts";
import type { Move } from "../../fixtures/fake-indexer.ts";
import { bytes32, followerBench, foreignMoves, START, STRANGER } from "../../fixtures/follower.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";

const HOUR_MS = 3_600_000;

type Hex = `0x${string}`;
const NEW_BUYER: Hex = `0x${"ab".repeat(20)}`;
const NEW_SELLER: Hex = `0x${"cd".repeat(20)}`;

const createdBetween = (escrowId: Hex, buyer: Hex = NEW_BUYER, seller: Hex = NEW_SELLER): Move => ({
  type: "EscrowCreated",
  escrowId,
  buyer,
  seller,
});
const submitted = (escrowId: Hex, buyer: Hex = NEW_BUYER, seller: Hex = NEW_SELLER): Move => ({
  type: "DeliverySubmitted",
  escrowId,
  buyer,
  seller,
  proofHash: bytes32(),
});
const released = (escrowId: Hex, buyer: Hex = NEW_BUYER, seller: Hex = NEW_SELLER): Move => ({
  type: "EscrowReleased",
  escrowId,
  buyer,
  seller,
});

describe("a wallet that registers after its escrows were created", () => {
  const bench = followerBench();

  const logOf = async (agentId: string) =>
    (await bench.models.events.find({ agentId }).sort({ seq: 1 }).lean()).map(({ type, escrowId, seq }) => ({
      type,
      escrowId,
      seq,
    }));
  const typesOf = async (agentId: string) => (await logOf(agentId)).map(({ type }) => type);

  it("[D10] gets its transactions and events in chain order", async () => {
    const [first, second] = [bytes32(), bytes32()];
    const one = bench.follower();
    bench.indexer.mine([createdBetween(first), createdBetween(second)]);
    bench.indexer.mine([submitted(first)]);
    await one.step();
    await bench.register(NEW_SELLER, "agt_new_seller");
    bench.indexer.mine([submitted(second), released(first)]);
    await one.step();
    await bench.register(NEW_BUYER, "agt_new_buyer");
    await one.step();
    assert.deepEqual(await typesOf("agt_new_seller"), ["escrow.funded", "escrow.funded", "escrow.released"]);
    assert.deepEqual(await typesOf("agt_new_buyer"), ["delivery.submitted", "delivery.submitted"]);
    const records = await bench.transactions.find().sort({ _id: 1 }).lean();
    assert.deepEqual(
      records.map(({ buyerAgentId, sellerAgentId }) => [buyerAgentId, sellerAgentId]),
      [1, 2].map(() => ["agt_new_buyer", "agt_new_seller"]),
    );
    assert.strictEqual(await bench.models.newcomers.countDocuments({ network: "base-sepolia" }), 0);
    bench.indexer.mine([released(second)]);
    await one.step();
    assert.deepEqual((await typesOf("agt_new_seller")).at(-1), "escrow.released");
  });

  it("gets more of them than fit in one transaction, without a gap and without strangers' escrows", async () => {
    const count = ADOPTED_MOVES + 30;
    const escrowIds = Array.from({ length: count }, () => bytes32());
    for (const escrowId of escrowIds) bench.indexer.mine([createdBetween(escrowId), ...foreignMoves(1)]);
    await bench.follower().step();
    await bench.register(NEW_SELLER, "agt_new_seller");
    await bench.follower().step();
    const log = await logOf("agt_new_seller");
    assert.deepEqual(
      log.map(({ escrowId }) => escrowId),
      escrowIds,
    );
    assert.deepEqual(
      log.map(({ seq }) => seq),
      escrowIds.map((_, index) => index + 1),
    );
  });

  it("gets an escrow that leaves quarantine while it is given its moves", async () => {
    const held = bytes32();
    const escrowIds = Array.from({ length: ADOPTED_MOVES + 30 }, () => bytes32());
    bench.indexer.setReadable(held, false);
    for (const escrowId of [held, ...escrowIds]) bench.indexer.mine([createdBetween(escrowId)]);
    await bench.follower().step();
    await bench.register(NEW_SELLER, "agt_new_seller");
    const given: number[] = [];
    // Runs after each transaction that gives the newcomer some of its moves.
    const onStep = async () => {
      given.push((await logOf("agt_new_seller")).length);
      bench.indexer.setReadable(held, true);
      bench.clock = new Date(bench.clock.getTime() + HOUR_MS);
    };
    await bench.follower({ onStep }).step();
    assert.strictEqual(given[0], ADOPTED_MOVES, "the quarantine ended in the middle");
    const record = await bench.transactions.findOne({ escrowId: held }).lean();
    assert.deepEqual([record?.sellerAgentId, record?.status], ["agt_new_seller", "funded"]);
    const log = await logOf("agt_new_seller");
    assert.sameMembers(
      log.map(({ escrowId }) => escrowId),
      [held, ...escrowIds],
    );
    assert.strictEqual(await bench.models.newcomers.countDocuments({ network: "base-sepolia" }), 0);
  });

  it("misses nothing when it registers while the follower writes", async () => {
    const escrowIds = Array.from({ length: 40 }, () => bytes32());
    const one = bench.follower();
    const writing = (async () => {
      for (const escrowId of escrowIds) {
        bench.indexer.mine([createdBetween(escrowId)]);
        await one.step();
      }
    })();
    await bench.register(NEW_SELLER, "agt_new_seller");
    await writing;
    await one.step();
    const log = await logOf("agt_new_seller");
    assert.deepEqual(
      log.map(({ escrowId }) => escrowId),
      escrowIds,
    );
  });

  it("[D37] gets no move that a reorganisation has already withdrawn", async () => {
    const [kept, lost] = [bytes32(), bytes32()];
    const one = bench.follower();
    bench.indexer.mine([createdBetween(kept)]);
    bench.indexer.mine([createdBetween(lost)]);
    await one.step();
    bench.indexer.rollBackTo(1);
    for (let n = 0; n < 3; n += 1) bench.indexer.mine();
    await bench.register(NEW_SELLER, "agt_new_seller");
    await one.step();
    await one.step();
    assert.deepEqual(
      (await logOf("agt_new_seller")).map(({ escrowId }) => escrowId),
      [kept],
    );
    assert.strictEqual((await bench.transactions.findOne({ escrowId: lost }).lean())?.status, "expired");
  });

  it("[D37] gets no move that a reorganisation has withdrawn, between moves that it gets", async () => {
    const [kept, lost, later] = [bytes32(), bytes32(), bytes32()];
    const one = bench.follower();
    bench.indexer.mine([createdBetween(kept)]);
    bench.indexer.mine([createdBetween(lost)]);
    await one.step();
    bench.indexer.rollBackTo(1);
    for (let n = 0; n < 3; n += 1) bench.indexer.mine();
    await one.step();
    await one.step();
    bench.indexer.mine([createdBetween(later)]);
    await one.step();
    const ordinalOf = async (escrowId: Hex) => (await bench.models.applied.findOne({ escrowId }).lean())?.ordinal ?? 0;
    assert.isBelow(await ordinalOf(lost), await ordinalOf(later));
    await bench.register(NEW_SELLER, "agt_new_seller");
    await one.step();
    assert.deepEqual(
      (await logOf("agt_new_seller")).map(({ escrowId }) => escrowId),
      [kept, later],
    );
  });

  it("[D33] reads its transaction, alone and in lists, while it doesn't exist for strangers", async () => {
    const indexer = new FakeIndexer(START);
    const api = await startTestApi({ indexers: { "base-sepolia": indexer, base: new FakeIndexer(START) } });
    try {
      const { chainFollower, transactions } = api.container.features;
      const other = await api.registerAgent();
      const escrowId = bytes32();
      const follower = chainFollower.followers["base-sepolia"];
      const { account, body: registration } = await registrationBody();
      indexer.mine([createdBetween(escrowId, account.address.toLowerCase() as Hex, STRANGER)]);
      await follower.step();
      const buyer = (await api.request("POST", "/api/v1/auth/register", { body: registration })).body;
      await follower.step();
      const record = await transactions.models.transactions.findOne({ escrowId }).lean();
      const path = `/api/v1/transactions/${record?._id ?? ""}`;
      const { status, body } = await api.request("GET", path, { key: buyer.apiKey });
      assert.deepEqual([status, body.data.buyerAgentId, body.data.sellerAgentId], [200, buyer.agentId, null]);
      const list = await api.request("GET", "/api/v1/transactions", { key: buyer.apiKey });
      assert.deepEqual(
        list.body.data.map(({ transactionId }: { transactionId: string }) => transactionId),
        [record?._id],
      );
      assert.strictEqual((await api.request("GET", path, { key: other.apiKey })).status, 404);
    } finally {
      await api.close();
    }
  });
});
