import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

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
  const register = (numbers: readonly number[]) =>
    models.agents.collection.insertMany(numbers.map((n) => ({ _id: `agt_${n}`, walletKey: walletOf(n) }) as never));

  it("are found whatever the case of an address, once each, and not where nobody has registered", async () => {
    await register([1, 2]);
    const asked = [walletOf(1).toUpperCase().replace("X", "x"), walletOf(1), walletOf(2), walletOf(3)];
    const found = await createAgentDirectory(models).agentIdsByWallet(asked);
    assert.deepEqual(
      [...found].sort(),
      [1, 2].map((n) => [walletOf(n), `agt_${n}`]),
    );
  });
});
