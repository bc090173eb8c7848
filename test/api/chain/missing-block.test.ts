import { assert } from "chai";

import { ChainUnavailableError } from "../../../api/chain/errors.ts";
import { createRpc } from "../../../api/chain/rpc.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { startScriptedServer } from "../../fixtures/scripted-server.ts";
import type { ScriptedServer } from "../../fixtures/scripted-server.ts";

/** What servers answer if a load balancer has passed a call to one that is behind. */
const BEHIND = {
  "Geth's words": { code: -32_000, message: "header not found" },
  "Reth's words": { code: -32_001, message: "block not found: 0x1b4" },
  "a range of logs": {
    code: -32_000,
    message: "One of the blocks specified in filter (fromBlock, toBlock) cannot be found",
  },
};
const REFUSED = { code: -32_602, message: "invalid argument 0: hex string without 0x prefix" };
const ATTEMPTS = 3;

// The client sends calls of one tick as a batch.
const answer = (content: object) => ({ status: 200, body: [{ jsonrpc: "2.0", id: 0, ...content }] });

describe("a JSON-RPC server that lacks a block", () => {
  let server: ScriptedServer;
  afterEach(() => server.close());

  const read = () => {
    const rpc = createRpc({ network: "base", rpcUrl: server.url, timeoutMs: 5_000, attempts: ATTEMPTS });
    return rpc((client) => client.getBalance({ address: `0x${"1".repeat(40)}`, blockNumber: 436n }));
  };

  for (const [name, error] of Object.entries(BEHIND)) {
    it(`is asked again, and then counts as unavailable: ${name}`, async () => {
      server = await startScriptedServer(answer({ error }), answer({ result: "0x7" }), answer({ error }));
      assert.strictEqual(await read(), 7n);
      assert.strictEqual(server.seen.length, 2);
      await rejectionOf(read(), ChainUnavailableError);
      assert.strictEqual(server.seen.length, 2 + ATTEMPTS);
    });
  }

  it("is not what refuses a bad call: that isn't asked again", async () => {
    server = await startScriptedServer(answer({ error: REFUSED }));
    assert.match((await rejectionOf(read(), Error)).message, /without 0x prefix/);
    assert.strictEqual(server.seen.length, 1);
  });
});
