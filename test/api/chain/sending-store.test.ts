// Two senders that have read the same record of a call.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection, Model } from "mongoose";

import { queuedFields, sendingFields, sendingIndexes } from "../../../api/chain/sending/record.ts";
import type { SendingRecord, SigningAttempt } from "../../../api/chain/sending/record.ts";
import { SendingStore } from "../../../api/chain/sending/store.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { collection } from "../../../api/db/records.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";

const NETWORK = "base-sepolia";
const ID = "call_1";
const ATTEMPT: SigningAttempt = {
  hash: "0x01",
  raw: "0x02",
  from: "0x03",
  nonce: 0,
  gas: "21000",
  maxFeePerGas: "2",
  maxPriorityFeePerGas: "1",
  signedAt: new Date(),
};

describe("the store of calls that go on chain", () => {
  let connection: Connection;
  let calls: Model<SendingRecord>;

  before(async () => {
    const { mongodbUri } = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    connection = await connectDatabase(mongodbUri, log, `test_sending_${randomBytes(6).toString("hex")}`);
    calls = collection(connection, "Call", "calls", sendingFields(["paused"]), sendingIndexes());
    await createIndexes(connection);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });
  beforeEach(async () => {
    await calls.deleteMany({});
    await calls.create({ _id: ID, network: NETWORK, ...queuedFields(new Date()) });
  });

  const storeOf = () => new SendingStore({ connection, model: calls, now: () => new Date() });

  /** What a sender has read before it pauses. */
  async function read(): Promise<SendingRecord> {
    const [record] = await storeOf().dueToSend({ network: NETWORK, filter: {} });
    assert.ok(record !== undefined);
    return record;
  }

  it("lets the first of them write and tells the other that it came too late", async () => {
    const record = await read();
    const written = await storeOf().write(record, { state: "held", problem: "paused" });
    assert.deepEqual([written?.state, written?.version], ["held", 1]);
    assert.isUndefined(await storeOf().write(record, { state: "final" }));
    assert.isUndefined(await storeOf().addAttempt(record, ATTEMPT, { state: "sending" }));
    assert.deepEqual(await calls.findById(ID).lean(), written);
  });

  it("lets one of them sign", async () => {
    const record = await read();
    const signed = await Promise.all([0, 1].map((nonce) => storeOf().addAttempt(record, { ...ATTEMPT, nonce }, {})));
    const [stored, ...others] = signed.filter((each) => each !== undefined);
    assert.deepEqual(others, []);
    assert.deepEqual(await calls.findById(ID).lean(), stored);
  });
});
