import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, describe, it } from "node:test";

import { getAddress } from "viem";
import type { Connection } from "mongoose";

import { connectDatabase, createIndexes, isDuplicateKey } from "../../api/db/connection.ts";
import { createApplier, CursorMovedError } from "../../api/features/events/applier.ts";
import { expireQuotes, EXPIRY_MARGIN_SECONDS } from "../../api/features/events/expiry.ts";
import { createFollower } from "../../api/features/events/follower.ts";
import { createLease } from "../../api/features/events/lease.ts";
import { eventModels } from "../../api/features/events/model.ts";
import type { EventModels } from "../../api/features/events/model.ts";
import { createEventRecorder } from "../../api/features/events/recorder.ts";
import type { EventRecorder } from "../../api/features/events/recorder.ts";
import { transactionModel } from "../../api/features/transactions/model.ts";
import type { TransactionModel, TransactionRecord } from "../../api/features/transactions/model.ts";
import { deliveryModel } from "../../api/features/webhooks/model.ts";
import type { DeliveryModel } from "../../api/features/webhooks/model.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { readStack } from "../fixtures/api.ts";
import { FAKE_TOKEN, FakeIndexer } from "../fixtures/fake-indexer.ts";
import type { Move } from "../fixtures/fake-indexer.ts";

const log = createLogger({ level: "silent", name: "test" });
const START = 1_800_000_000;
const ESCROW_CONTRACT = getAddress(`0x${"ee".repeat(20)}`);
const BUYER = `0x${"b0".repeat(20)}` as const;
const SELLER = `0x${"5e".repeat(20)}` as const;
const ENDPOINT = "http://seller.example/hook";
const CALLBACK = "http://buyer.example/hook";

const bytes32 = (): `0x${string}` => `0x${randomBytes(32).toString("hex")}`;

describe("the follower of the chain", () => {
  let connection: Connection;
  let transactions: TransactionModel;
  let models: EventModels;
  let deliveries: DeliveryModel;
  let recorder: EventRecorder;
  let indexer: FakeIndexer;
  /** Height of the chain by its node, when it is not the subgraph's. */
  let chainHeight: number | undefined;
  let clock: Date;
  const now = () => clock;

  before(async () => {
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_follower_${randomBytes(6).toString("hex")}`);
    transactions = transactionModel(connection);
    models = eventModels(connection);
    deliveries = deliveryModel(connection);
    recorder = createEventRecorder(models, deliveries, now);
    await createIndexes(connection);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });
  beforeEach(async () => {
    for (const model of Object.values(connection.models)) await model.deleteMany({});
    indexer = new FakeIndexer(START);
    chainHeight = undefined;
    clock = new Date(START * 1000);
  });

  /** A follower with a memory of its own, like another process. */
  const follower = (writer: EventRecorder = recorder, overlapBlocks = 10) =>
    createFollower({
      network: "base-sepolia",
      indexer,
      chainHeight: () => Promise.resolve(chainHeight ?? indexer.height),
      models,
      applier: createApplier({
        ...{ network: "base-sepolia", chainId: 84_532, escrowContract: ESCROW_CONTRACT, connection },
        ...{ transactions, models, recorder: writer, now },
        wallets: { agentIdsByWallet: () => Promise.resolve(new Map([[SELLER as string, "agt_seller"]])) },
        endpoints: { endpointUrls: () => Promise.resolve(new Map([["lst_1", ENDPOINT]])) },
      }),
      lease: createLease(models.leases, "follower", "test", 1_000),
      ...{ log, now, pollMs: 5, overlapBlocks },
    });

  /** A checkout that waits for its funding. */
  async function checkout(fields: Partial<TransactionRecord> = {}): Promise<TransactionRecord> {
    const record: TransactionRecord = {
      ...{
        _id: `txn_${randomBytes(16).toString("hex")}`,
        unsolicited: false,
        serviceId: "lst_1",
        serviceTitle: "Report",
      },
      ...{ deliveryType: "webhook", buyerAgentId: "agt_buyer", sellerAgentId: "agt_seller" },
      ...{
        buyerAddress: getAddress(BUYER),
        sellerAddress: getAddress(SELLER),
        network: "base-sepolia",
        chainId: 84_532,
      },
      ...{ escrowId: bytes32(), escrowContract: ESCROW_CONTRACT, quantity: 1 },
      token: { symbol: "USDC", address: getAddress(FAKE_TOKEN.id), decimals: 6 },
      ...{
        amount: "1000000",
        platformFee: "20000",
        lockedAmount: "980000",
        criteriaHash: bytes32(),
        criteriaJson: "{}",
      },
      ...{ disputeWindow: 300, abandonmentGrace: 172_800, deadline: START + 604_800, quoteExpiresAt: START + 900 },
      ...{ callbackUrl: CALLBACK, requestPayloadJson: '{"q":1}', responsePayloadJson: null, deliveryProof: null },
      ...{ payloadReceivedAt: null, status: "pending_funding", expiredBy: null, escrow: null, minBlock: 0 },
      ...{ createdAt: clock, updatedAt: clock },
      ...fields,
    };
    await transactions.create([record]);
    return record;
  }

  const created = (record: TransactionRecord, terms: Move["terms"] = {}): Move => ({
    type: "EscrowCreated",
    ...{ escrowId: record.escrowId, buyer: BUYER, seller: SELLER },
    terms: {
      ...{ amount: BigInt(record.amount), deadline: record.deadline, criteriaHash: record.criteriaHash },
      ...terms,
    },
  });
  const moved = (record: TransactionRecord, type: Move["type"], fields: Partial<Move> = {}): Move => ({
    ...{ type, escrowId: record.escrowId, buyer: BUYER, seller: SELLER },
    ...fields,
  });
  const read = async (record: TransactionRecord) => {
    const stored = await transactions.findById(record._id).lean<TransactionRecord | null>();
    assert.ok(stored !== null);
    return stored;
  };
  const eventLog = () => models.events.find().sort({ seq: 1 }).lean();
  const eventTypes = async () => (await eventLog()).map(({ type }) => type);
  const sentTo = async (url: string) =>
    (await deliveries.find({ url, kind: "immediate" }).sort({ createdAt: 1 }).lean()).map((d) => d.eventType);

  describe("writes copy, event and deliveries together", () => {
    it("[S6.05] [S6.06] of a funded escrow, once, however often it looks", async () => {
      const record = await checkout();
      const first = follower();
      await first.step();
      indexer.mine([created(record)]);
      await first.step();
      await first.step();
      await follower().step();
      const stored = await read(record);
      assert.equal(stored.status, "funded");
      assert.equal(stored.escrow?.state, "Funded");
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);
      assert.deepEqual(await sentTo(ENDPOINT), ["escrow.funded"]);
      assert.equal(await deliveries.countDocuments({ kind: "backup" }), 1);
    });

    it("or not at all when it is killed before the end: the next one does it all", async () => {
      const record = await checkout();
      const dying: EventRecorder = {
        async record(announcements, session) {
          await recorder.record(announcements, session);
          throw new Error("killed");
        },
      };
      indexer.mine([created(record)]);
      await assert.rejects(follower(dying).step(), /killed/);
      assert.equal((await read(record)).status, "pending_funding");
      for (const model of [models.events, models.applied, models.cursors, deliveries]) {
        assert.equal(await model.countDocuments(), 0);
      }
      await follower().step();
      assert.equal((await read(record)).status, "funded");
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);
    });

    it("in the order of the chain, through the whole life of an escrow", async () => {
      const record = await checkout({ responsePayloadJson: '{"a":1}', deliveryProof: bytes32() });
      const one = follower();
      indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      indexer.mine([moved(record, "EscrowReleased", { automatic: false })]);
      await one.step();
      assert.deepEqual(await eventTypes(), ["escrow.funded", "service.delivered", "escrow.released"]);
      assert.deepEqual(
        (await eventLog()).map(({ seq }) => seq),
        [1, 2, 3],
      );
      assert.equal((await read(record)).status, "released");
    });

    it("[S6.10] as escrow.finalized, and not escrow.released, when the window elapsed", async () => {
      const record = await checkout();
      indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      indexer.mine([moved(record, "EscrowReleased", { automatic: true })]);
      await follower().step();
      const sent = await sentTo(ENDPOINT);
      assert.ok(sent.includes("escrow.finalized") && !sent.includes("escrow.released"));
    });

    it("[D17] as delivery.submitted while the payload is missing", async () => {
      const record = await checkout();
      indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      await follower().step();
      assert.deepEqual(await sentTo(CALLBACK), ["delivery.submitted"]);
    });

    it("for many escrows in many pages", async () => {
      const records = [];
      for (let n = 0; n < 60; n += 1) records.push(await checkout());
      for (const record of records) indexer.mine([created(record), moved(record, "EscrowRefunded")]);
      // Others' escrows lie between them: more than the subgraph gives at once.
      for (let n = 0; n < 5; n += 1) {
        indexer.mine(
          Array.from({ length: 300 }, () => ({
            type: "EscrowCreated" as const,
            ...{ escrowId: bytes32(), buyer: BUYER, seller: BUYER },
          })),
        );
      }
      await follower().step();
      assert.equal(await models.events.countDocuments({ type: "escrow.funded" }), 60);
      assert.equal(await transactions.countDocuments({ status: "refunded" }), 60);
      assert.equal((await models.cursors.findById("base-sepolia").lean())?.headNumber, indexer.height);
    });
  });

  it("lets two followers at once apply each move once", async () => {
    const records = [];
    for (let n = 0; n < 20; n += 1) records.push(await checkout());
    const two = [follower(), follower()];
    for (const record of records) {
      indexer.mine([created(record)]);
      const results = await Promise.allSettled(two.map((one) => one.step()));
      for (const result of results) {
        if (result.status === "rejected") {
          assert.ok(result.reason instanceof CursorMovedError || isDuplicateKey(result.reason), String(result.reason));
        }
      }
    }
    for (const one of two) await one.step();
    const events = await eventLog();
    assert.equal(events.length, 20);
    assert.deepEqual(
      events.map(({ seq }) => seq),
      Array.from({ length: 20 }, (_, n) => n + 1),
    );
    assert.equal(await deliveries.countDocuments({ kind: "immediate" }), 20);
  });

  it("has one leader at a time, and another one when it is gone", async () => {
    const leases = ["one", "two"].map((owner) => createLease(models.leases, "leader", owner, 300));
    const [one, two] = leases;
    assert.ok(one !== undefined && two !== undefined);
    const taken = await Promise.all([one.acquire(), two.acquire()]);
    assert.deepEqual(taken.sort(), [false, true]);
    const [winner, loser] = (await models.leases.findById("leader").lean())?.owner === "one" ? [one, two] : [two, one];
    assert.equal(await loser.acquire(), false);
    await new Promise((resolve) => setTimeout(resolve, 350));
    assert.equal(await loser.acquire(), true);
    assert.equal(await winner.acquire(), false);
    await loser.release();
    assert.equal(await winner.acquire(), true);
  });

  describe("notices a reorganisation", () => {
    it("[D37] and takes back what is no longer on chain, telling both parties", async () => {
      const record = await checkout();
      const one = follower();
      indexer.mine();
      await one.step();
      indexer.mine([created(record)]);
      await one.step();
      const [funded] = await eventLog();
      assert.ok(funded !== undefined);

      indexer.rollBackTo(1);
      indexer.mine();
      indexer.mine();
      await one.step();
      assert.equal((await read(record)).status, "pending_funding");
      assert.equal((await read(record)).escrow, null);
      const reorged = (await eventLog())[1];
      assert.equal(reorged?.type, "escrow.reorged");
      assert.deepEqual(reorged.recipients.sort(), ["agt_buyer", "agt_seller"]);
      const body = JSON.parse(reorged.bodyJson);
      assert.deepEqual([body.withdrawn, body.withdrawnEventIds], ["EscrowCreated", [funded._id]]);

      indexer.mine([created(record)]);
      await one.step();
      const again = (await eventLog())[2];
      assert.equal(again?.type, "escrow.funded");
      assert.notEqual(again._id, funded._id, "a second announcement is a second event");
      assert.equal((await read(record)).status, "funded");
      await follower().step();
      assert.equal((await eventLog()).length, 3);
    });

    it("[D37] and keeps the event's id when the move was only mined again elsewhere", async () => {
      const record = await checkout();
      const one = follower();
      indexer.mine();
      indexer.mine([created(record)]);
      await one.step();
      const before = await models.applied.find().lean();
      indexer.rollBackTo(1);
      indexer.mine();
      indexer.mine([created(record)]);
      await one.step();
      const after = await models.applied.find().lean();
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);
      assert.notEqual(after[0]?.blockHash, before[0]?.blockHash);
      assert.deepEqual([after[0]?.blockNumber, after[0]?.incarnation, after[0]?.live], [3, 0, true]);
      assert.equal((await read(record)).escrow?.moves[0]?.blockNumber, 3);
    });

    it("only when the new branch is as long as the old one", async () => {
      const record = await checkout();
      const one = follower();
      indexer.mine();
      indexer.mine([created(record)]);
      indexer.mine();
      await one.step();
      indexer.rollBackTo(1);
      indexer.mine();
      await one.step();
      assert.equal((await read(record)).status, "funded");
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);
      indexer.mine([created(record)]);
      await one.step();
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);
    });

    it("never because a subgraph is behind for long, and for good when the chain itself has become shorter", async () => {
      const record = await checkout();
      const one = follower();
      indexer.mine();
      indexer.mine([created(record)]);
      await one.step();
      // The subgraph indexes anew, or another indexer answers in its place; the chain goes on.
      indexer.rollBackTo(1);
      chainHeight = 50;
      for (let minute = 0; minute < 3; minute += 1) {
        await one.step();
        clock = new Date(clock.getTime() + 61_000);
      }
      await one.step();
      assert.equal((await read(record)).status, "funded");
      assert.deepEqual(await eventTypes(), ["escrow.funded"]);

      chainHeight = 1;
      clock = new Date(clock.getTime() + 61_000);
      await one.step();
      assert.equal((await read(record)).status, "pending_funding");
      assert.deepEqual(await eventTypes(), ["escrow.funded", "escrow.reorged"]);
    });

    it("after a restart, too", async () => {
      const record = await checkout();
      indexer.mine([created(record)]);
      await follower().step();
      indexer.rollBackTo(0);
      indexer.mine();
      indexer.mine();
      await follower().step();
      assert.deepEqual(await eventTypes(), ["escrow.funded", "escrow.reorged"]);
      assert.equal((await read(record)).status, "pending_funding");
    });

    it("and takes back a release alone, the escrow being delivered as before", async () => {
      const record = await checkout();
      const one = follower();
      indexer.mine([created(record), moved(record, "DeliverySubmitted", { proofHash: bytes32() })]);
      indexer.mine([moved(record, "EscrowReleased")]);
      await one.step();
      indexer.rollBackTo(1);
      indexer.mine();
      indexer.mine();
      const step = await one.step();
      assert.equal(step.withdrawn, 1);
      assert.deepEqual(step.settledWallets.sort(), [SELLER, BUYER].sort());
      assert.equal((await read(record)).status, "delivered");
    });
  });

  describe("treats an escrow", () => {
    it("[D10] without a checkout as unsolicited, announced to a seller who is registered", async () => {
      const escrowId = bytes32();
      const foreign = `0x${"99".repeat(20)}` as const;
      indexer.mine([
        { type: "EscrowCreated", escrowId, buyer: foreign, seller: SELLER },
        { type: "EscrowCreated", escrowId: bytes32(), buyer: SELLER, seller: foreign },
      ]);
      await follower().step();
      const [record, ...others] = await transactions.find().lean();
      assert.equal(others.length, 0);
      assert.deepEqual(
        [record?.unsolicited, record?.escrowId, record?.status, record?.serviceId, record?.buyerAgentId],
        [true, escrowId, "funded", null, null],
      );
      const [event] = await eventLog();
      assert.deepEqual(event?.recipients, ["agt_seller"]);
      assert.equal(JSON.parse(event.bodyJson).unsolicited, true);
      assert.equal(await deliveries.countDocuments(), 0);
      await follower().step();
      assert.equal(await transactions.countDocuments(), 1);
    });

    it("[D16] that took a checkout's id with other terms as a loss of the checkout", async () => {
      const record = await checkout();
      indexer.mine([created(record, { amount: 999_999n })]);
      await follower().step();
      const stored = await read(record);
      assert.deepEqual([stored.status, stored.expiredBy, stored.escrow], ["expired", "escrow_id_taken", null]);
      const other = await transactions.findOne({ unsolicited: true }).lean();
      assert.equal(other?.amount, "999999");
      const [event] = await eventLog();
      assert.equal(event?.transactionId, other._id);
    });

    it("[D16] that was funded after the quote's end as late, and tells the seller that he may refund", async () => {
      const record = await checkout({ quoteExpiresAt: START });
      indexer.mine([created(record)], 60);
      await follower().step();
      assert.equal((await read(record)).status, "funded");
      const [event] = await eventLog();
      const body = JSON.parse(event?.bodyJson ?? "{}");
      assert.equal(body.late, true);
      assert.match(body.notice, /refund/);
    });

    it("[D15] that nobody funded as expired once quote and margin are over, and as funded when it comes late", async () => {
      const record = await checkout();
      const quoteEnd = START + 900;
      const expire = (headTimestamp: number) => expireQuotes(transactions, "base-sepolia", headTimestamp, clock);
      assert.equal(await expire(quoteEnd + EXPIRY_MARGIN_SECONDS), 0);
      assert.equal(await expire(quoteEnd + EXPIRY_MARGIN_SECONDS + 1), 1);
      const expired = await read(record);
      assert.deepEqual([expired.status, expired.expiredBy], ["expired", "quote"]);
      indexer.mine([created(record)], 5_000);
      await follower().step();
      assert.equal((await read(record)).status, "funded");
      assert.equal(await expire(quoteEnd + 100_000), 0);
    });
  });
});
