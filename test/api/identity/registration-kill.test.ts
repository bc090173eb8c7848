// A registration whose process is killed in the middle: the agent and the note that brings it its earlier moves are one.
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { connectDatabase } from "../../../api/db/connection.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { readStack } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";
import { routeTo } from "../../fixtures/stall.ts";

const log = createLogger({ level: "silent", name: "test" });

describe("a registration whose process is killed", () => {
  const databaseName = `test_register_${randomBytes(6).toString("hex")}`;
  let connection: Connection;

  before(async () => {
    connection = await connectDatabase((await readStack()).mongodbUri, log, databaseName);
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  /** Networks whose follower is to give the wallet its earlier moves, and whether it has an agent. */
  async function stored(wallet: string) {
    const agent = await connection.collection("agents").findOne({ walletKey: wallet.toLowerCase() });
    const notes = await connection.collection("chain_newcomers").find({ wallet: wallet.toLowerCase() }).toArray();
    return {
      hasAgent: agent !== null,
      networks: notes.filter(({ agentId }) => agentId === agent?._id).map((note) => String(note["network"])),
      strangers: notes.filter(({ agentId }) => agentId !== agent?._id).length,
    };
  }

  async function register(url: string, body: object): Promise<number> {
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${url}/api/v1/auth/register`, { method: "POST", headers, body: JSON.stringify(body) });
    return answer.status;
  }

  /** Kills a process before its message with this text reaches the database, and registers again with another. */
  async function killAndRepeat(moment: string) {
    const direct = new URL((await readStack()).mongodbUri);
    const route = await routeTo(Number(direct.port));
    direct.port = String(route.port);
    direct.pathname = `/${databaseName}`;
    direct.searchParams.set("directConnection", "true");
    const api = await startApiProcess(databaseName, { MONGODB_URI: direct.href });
    const { body } = await registrationBody();
    try {
      const reached = route.stallAt(moment);
      const lost = register(api.url, body);
      lost.catch(() => undefined);
      await reached;
      api.kill();
      await assert.isRejected(lost);
    } finally {
      api.kill();
      await route.close();
    }
    assert.deepEqual(await stored(body.walletAddress), { hasAgent: false, networks: [], strangers: 0 }, moment);

    const next = await startApiProcess(databaseName, {});
    try {
      // Waits for the end of the transaction that the killed process left open.
      assert.strictEqual(await register(next.url, body), 201);
    } finally {
      next.kill();
    }
    const both = { hasAgent: true, networks: ["base-sepolia", "base"], strangers: 0 };
    assert.deepEqual(await stored(body.walletAddress), both, moment);
  }

  it("between the agent and the note, or before both are committed, leaves neither; another attempt leaves both", async () => {
    await Promise.all(["chain_newcomers", "commitTransaction"].map(killAndRepeat));
  });
});
