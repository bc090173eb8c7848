// A registration whose process is killed at a write: the agent and the note that brings it its earlier moves are one.
import { assert } from "chai";

import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { registrationBody } from "../../fixtures/sign-in.ts";

const PATH = "/api/v1/auth/register";

describe("a registration whose process is killed at a write", () => {
  let route: FaultyRoute;
  let api: TestApi;
  /** Its process is killed. */
  let victim: TestApi;
  before(async () => {
    const oneProcess = "the kills are between this process and its database";
    route = await faultyDatabase((await readStack()).mongodbUri);
    api = await startTestApi({ oneProcess });
    const { name: databaseName } = api.container.connection;
    victim = await startTestApi({ oneProcess, databaseName, env: { mongodbUri: route.url } });
  });
  after(async () => {
    await victim.stop();
    await api.close();
    await route.close();
  });

  /** Networks whose follower is to give the wallet its earlier moves, and whether it has an agent. */
  async function stored(wallet: string) {
    const { connection } = api.container;
    const agent = await connection.collection("agents").findOne({ walletKey: wallet.toLowerCase() });
    const notes = await connection.collection("chain_newcomers").find({ wallet: wallet.toLowerCase() }).toArray();
    return {
      hasAgent: agent !== null,
      networks: notes.filter(({ agentId }) => agentId === agent?._id).map((note) => String(note["network"])),
      strangers: notes.filter(({ agentId }) => agentId !== agent?._id).length,
    };
  }

  it("leaves both or neither, and another attempt leaves both", async () => {
    const neither = { hasAgent: false, networks: [], strangers: 0 };
    const both = { hasAgent: true, networks: ["base-sepolia", "base"], strangers: 0 };
    let body: Awaited<ReturnType<typeof registrationBody>>["body"];
    const writes = await killAtEachWrite({
      route,
      async prepare() {
        ({ body } = await registrationBody());
      },
      work: () => victim.request("POST", PATH, { body }),
      async finish(what) {
        const found = await stored(body.walletAddress);
        assert.deepEqual(found, found.hasAgent ? both : neither, what);
        if (!found.hasAgent) assert.strictEqual((await api.request("POST", PATH, { body })).status, 201, what);
        assert.deepEqual(await stored(body.walletAddress), both, what);
      },
    });
    assert.includeMembers(
      [...writes],
      ["insert agents no. 1", "insert chain_newcomers no. 1", "commitTransaction 1 no. 1"],
    );
  });
});
