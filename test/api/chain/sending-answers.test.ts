// A sender at a node that answers signed transactions in a way of its own.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { createNetworkSender } from "../../../api/chain/sending/network-sender.ts";
import { addSendingIndexes, queuedFields, sendingFields } from "../../../api/chain/sending/record.ts";
import type { SendingRecord } from "../../../api/chain/sending/record.ts";
import { SENDING_PROBLEMS } from "../../../api/chain/sending/problems.ts";
import type { SendingProblem } from "../../../api/chain/sending/problems.ts";
import { createSendingStore } from "../../../api/chain/sending/store.ts";
import { SENDING_TIMINGS } from "../../../api/chain/sending/timings.ts";
import { createSendingChain } from "../../../api/chain/sending-chain.ts";
import { createTransactionSigner } from "../../../api/chain/signer.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { createLease, leaseModel } from "../../../api/jobs/lease.ts";
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

describe("the sender at a node that answers signed transactions in a way of its own", () => {
  let connection: Connection;
  let calls: Model<SendingRecord>;
  let chain: TestChain;
  let node: OddNode;

  before(async () => {
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_answers_${randomBytes(6).toString("hex")}`);
    const schema = new Schema<SendingRecord>(sendingFields(SENDING_PROBLEMS), { strict: "throw", versionKey: false });
    addSendingIndexes(schema);
    calls = connection.model<SendingRecord>("Call", schema, "calls");
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

  async function senderOf(processId: string) {
    const signer = createTransactionSigner(NETWORK, await gasKey(chain));
    return createNetworkSender<SendingRecord>({
      ...{ name: "test.send", network: NETWORK, log, now: () => new Date(), timings: TIMINGS },
      chain: createSendingChain({ network: NETWORK, rpcUrl: node.url, abi: [], timeoutMs: RPC_TIMEOUT_MS }),
      store: createSendingStore(connection, calls, () => new Date()),
      lanes: [{ filter: {}, from: signer.address }],
      lease: createLease(leaseModel(connection), `test.${processId}`, processId, TIMINGS.leaseMs),
      work: {
        noun: "call",
        factsOf: ({ _id }) => ({ id: _id }),
        signerOf: () => signer,
        callOf: () => ({ to: signer.address, data: "0x" }),
        obstacle: () => Promise.resolve(undefined),
        obstacleOf: (_record, { name }) => ({ kind: "problem", problem: "unexpected", detail: name }),
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
      const looked = await calls.findById("call_1").lean<SendingRecord | null>();
      assert.strictEqual(looked?.problem, PROBLEMS[name] ?? null);
      node.odd = undefined;
      const record = await until("it is mined", async () => {
        await sender.step();
        const found = await calls.findById("call_1").lean<SendingRecord | null>();
        return found !== null && ["mined", "final"].includes(found.state) && found;
      });
      assert.lengthOf(record.attempts, 1);
      const [attempt] = record.attempts;
      assert.strictEqual(await chain.client.getTransactionCount({ address: attempt?.from ?? "0x" }), 1);
    });
  }
});
