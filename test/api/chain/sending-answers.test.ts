// A sender at a node that answers signed transactions in a way of its own.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection, Model } from "mongoose";

import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { NetworkSender } from "../../../api/chain/sending/network-sender.ts";
import { queuedFields, sendingFields, sendingIndexes } from "../../../api/chain/sending/record.ts";
import type { SendingRecord } from "../../../api/chain/sending/record.ts";
import { SENDING_PROBLEMS } from "../../../api/chain/sending/problems.ts";
import type { SendingProblem } from "../../../api/chain/sending/problems.ts";
import { SendingStore } from "../../../api/chain/sending/store.ts";
import { SENDING_TIMINGS } from "../../../api/chain/sending/timings.ts";
import type { SendingTimings } from "../../../api/chain/sending/timings.ts";
import { createSendingChain } from "../../../api/chain/sending-chain.ts";
import { createTransactionSigner } from "../../../api/chain/signer.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { collection } from "../../../api/db/records.ts";
import { Lease, leaseModel } from "../../../api/jobs/lease.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { MOST_SENDS, oddNodeTo, onSending, SENDING_ANSWERS, sendsOf } from "../../fixtures/odd-node.ts";
import type { OddNode } from "../../fixtures/odd-node.ts";
import { gasKey } from "../../fixtures/payments.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const NETWORK = "base-sepolia";
const log = createLogger({ level: "silent", name: "test" });
const TIMINGS = { ...SENDING_TIMINGS, confirmations: 1, pollMs: 0, watchMs: 0, retry: { minMs: 0, maxMs: 0 } };
const RPC_TIMEOUT_MS = 500;
/** What operators are told while a node answers so. Of the other answers, only the chain knows what they mean. */
const PROBLEMS: Readonly<Record<string, SendingProblem>> = {
  "insufficient funds": "no_ether",
  "an internal error": "unexpected",
};
const HOUR_MS = 3_600_000;
/** As in production, but for the pause between looks: a look each half minute is enough for a clock that the test moves. */
const SLOW_TIMINGS = { ...SENDING_TIMINGS, confirmations: 1, pollMs: 30_000 };

interface SenderFields {
  timings?: SendingTimings;
  now?: () => Date;
}

describe("the sender at a node that answers signed transactions in a way of its own", () => {
  let connection: Connection;
  let calls: Model<SendingRecord>;
  let chain: TestChain;
  let node: OddNode;

  before(async () => {
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_answers_${randomBytes(6).toString("hex")}`);
    calls = collection(connection, "Call", "calls", sendingFields(SENDING_PROBLEMS), sendingIndexes());
    await createIndexes(connection);
    chain = await openChain(NETWORK);
    node = await oddNodeTo(chain.rpcUrl);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
    await node.close();
  });
  beforeEach(async () => {
    await calls.deleteMany({});
    node.seen = [];
  });

  async function senderOf(processId: string, { timings = TIMINGS, now = () => new Date() }: SenderFields = {}) {
    const signer = createTransactionSigner(NETWORK, await gasKey(chain));
    return new NetworkSender<SendingRecord>({
      name: "test.send",
      network: NETWORK,
      log,
      now,
      timings,
      chain: createSendingChain({ network: NETWORK, rpcUrl: node.url, abi: [], timeoutMs: RPC_TIMEOUT_MS }),
      store: new SendingStore({ connection, model: calls, now }),
      lanes: [{ filter: {}, from: signer.address }],
      lease: new Lease({
        leases: leaseModel(connection),
        name: `test.${processId}`,
        owner: processId,
        ttlMs: TIMINGS.leaseMs,
      }),
      work: {
        noun: "call",
        factsOf: ({ _id }) => ({ id: _id }),
        signerOf: () => signer,
        buildCall: () => ({ to: signer.address, data: "0x" }),
        obstacle: () => Promise.resolve(undefined),
        toObstacle: (_record, { name }) => ({ kind: "problem", problem: "unexpected", detail: name }),
        findConclusion: () => Promise.resolve(undefined),
      },
    });
  }

  for (const { name, oddity } of SENDING_ANSWERS) {
    it(`${name}: a look ends and sends ${MOST_SENDS} times at most; one transaction is mined once the node is well`, async () => {
      await calls.create({ _id: "call_1", network: NETWORK, ...queuedFields(new Date()) });
      const sender = await senderOf(randomBytes(4).toString("hex"));
      node.odd = onSending(oddity);
      for (let looks = 0; looks < 3; looks += 1) {
        const before = sendsOf(node);
        // An unreachable node ends the look; the loop pauses longer each time.
        await sender.step().catch((error: unknown) => {
          assert.instanceOf(error, ChainUnavailableError);
        });
        assert.isAtMost(sendsOf(node) - before, MOST_SENDS);
      }
      const looked = await calls.findById("call_1").lean();
      assert.strictEqual(looked?.problem, PROBLEMS[name] ?? null);
      node.odd = undefined;
      const record = await until("it is mined", async () => {
        await sender.step();
        const found = await calls.findById("call_1").lean();
        return found !== null && ["mined", "final"].includes(found.state) && found;
      });
      assert.lengthOf(record.attempts, 1);
      const [attempt] = record.attempts;
      assert.strictEqual(await chain.client.getTransactionCount({ address: attempt?.from ?? "0x" }), 1);
    });
  }

  for (const { name, oddity } of SENDING_ANSWERS.filter(({ oddity: { kind } }) => kind === "error")) {
    if (oddity.kind === "error" && oddity.isDone === true) continue;
    it(`${name}, for hours: is sent less and less often, reported, and mined once the node is well`, async () => {
      const { sends: mostSends, ms: mostMs } = SLOW_TIMINGS.unseen;
      const startedAt = Date.now();
      let elapsedMs = 0;
      await calls.create({ _id: "call_1", network: NETWORK, ...queuedFields(new Date(startedAt)) });
      const now = () => new Date(startedAt + elapsedMs);
      const sender = await senderOf(randomBytes(4).toString("hex"), { timings: SLOW_TIMINGS, now });
      const read = async () => {
        const found = await calls.findById("call_1").lean();
        assert.ok(found !== null);
        return found;
      };
      /** Looks when the record is due. */
      const look = async () => {
        elapsedMs = Math.max(elapsedMs, ((await read()).dueAt?.getTime() ?? 0) - startedAt);
        await sender.step();
      };
      node.odd = onSending(oddity);
      const looks: { atMs: number; sent: number }[] = [];
      while (elapsedMs < 4 * HOUR_MS) {
        const before = sendsOf(node);
        await look();
        looks.push({ atMs: elapsedMs, sent: sendsOf(node) - before });
        assert.isBelow(looks.length, 500);
      }
      const sends = looks.filter(({ sent }) => sent > 0).map(({ atMs }) => atMs);
      assert.isAtMost(Math.max(...looks.map(({ sent }) => sent)), 1, "sends of a look");
      // A replacement is sent at once, so how soon it was sent so often is up to chance. From then on it waits long.
      for (const [index, atMs] of sends.slice(mostSends).entries()) {
        assert.isAtLeast(atMs - (sends[mostSends + index - 1] ?? 0), SLOW_TIMINGS.retry.maxMs / 2);
      }
      const rare = looks.map(({ atMs }) => atMs).filter((atMs) => atMs > mostMs + SLOW_TIMINGS.retry.maxMs);
      for (const [index, atMs] of rare.slice(1).entries()) {
        const pauseMs = atMs - (rare[index] ?? 0);
        assert.isAtLeast(pauseMs, SLOW_TIMINGS.retry.maxMs / 2);
        assert.isAtMost(pauseMs, SLOW_TIMINGS.retry.maxMs);
      }
      assert.isAbove(
        new Set(rare.slice(1).map((atMs, index) => atMs - (rare[index] ?? 0))).size,
        1,
        "the pause varies",
      );
      const stuck = await read();
      assert.strictEqual(stuck.state, "held");
      assert.include(["not_in_pool", "fee_cap", "no_ether", "unexpected"], stuck.problem);

      node.odd = undefined;
      const mined = await until("it is mined", async () => {
        await look();
        const found = await read();
        return ["mined", "final"].includes(found.state) && found;
      });
      assert.isUndefined(mined.unseen);
      assert.strictEqual(await chain.client.getTransactionCount({ address: mined.from ?? "0x" }), 1);
    });
  }
});
