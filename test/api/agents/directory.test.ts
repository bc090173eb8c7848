import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { ClientSession, Connection } from "mongoose";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createAgentDirectory } from "../../../api/features/agents/directory.ts";
import { createAgentModels } from "../../../api/features/agents/model.ts";
import type { AgentModels } from "../../../api/features/agents/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";

describe("the agents of wallets", () => {
  let connection: Connection;
  let models: AgentModels;

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_directory_${randomBytes(6).toString("hex")}`);
    models = createAgentModels(connection);
    await models.agents.createCollection();
  });
  beforeEach(() => models.agents.deleteMany({}));
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  const walletOf = (n: number) => `0x${"ab".repeat(19)}${String(n).padStart(2, "0")}`;
  const register = (numbers: readonly number[], session?: ClientSession) =>
    models.agents.collection.insertMany(
      numbers.map((n) => ({ _id: `agt_${n}`, walletKey: walletOf(n) }) as never),
      session === undefined ? {} : { session },
    );

  it("are found whatever the case of an address, once each, and not where nobody has registered", async () => {
    await register([1, 2]);
    const asked = [walletOf(1).toUpperCase().replace("X", "x"), walletOf(1), walletOf(2), walletOf(3)];
    const found = await createAgentDirectory(models).agentIdsByWallet(asked);
    assert.deepEqual(
      [...found].sort(),
      [1, 2].map((n) => [walletOf(n), `agt_${n}`]),
    );
  });

  it("are remembered, and a wallet without one is looked up again", async () => {
    const directory = createAgentDirectory(models);
    await register([1]);
    const both = [walletOf(1), walletOf(2)];
    assert.deepEqual([...(await directory.agentIdsByWallet(both)).values()], ["agt_1"]);
    // Nothing deletes agents; without its record, only memory can know it.
    await models.agents.deleteMany({});
    await register([2]);
    assert.deepEqual([...(await directory.agentIdsByWallet(both)).values()], ["agt_1", "agt_2"]);
  });

  it("are forgotten before there are more than the memory is for", async () => {
    const directory = createAgentDirectory(models, 2);
    await register([1, 2, 3]);
    await directory.agentIdsByWallet([walletOf(1), walletOf(2)]);
    await directory.agentIdsByWallet([walletOf(3)]);
    await models.agents.deleteMany({});
    const found = await directory.agentIdsByWallet([1, 2, 3].map(walletOf));
    assert.deepEqual([...found.values()], ["agt_3"]);
  });

  it("aren't remembered from a transaction, which may be undone", async () => {
    const directory = createAgentDirectory(models);
    const session = await connection.startSession();
    session.startTransaction();
    await register([1], session);
    assert.deepEqual([...(await directory.agentIdsByWallet([walletOf(1)], session)).values()], ["agt_1"]);
    await session.abortTransaction();
    await session.endSession();
    assert.strictEqual((await directory.agentIdsByWallet([walletOf(1)])).size, 0);
  });
});
