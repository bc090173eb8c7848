import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { CliHome, openTrader } from "../fixtures/cli.ts";
import type { Trader } from "../fixtures/cli.ts";
import { listService, openMarket } from "../fixtures/deals.ts";
import { inheritedVariables } from "../fixtures/environment.ts";
import { openChain } from "../fixtures/stack.ts";
import { PASSWORD } from "../fixtures/wallets.ts";
import { toolsFor } from "../../tools/src/index.ts";

describe("the MCP server of the command line", () => {
  let api: TestApi;
  let buyer: Trader;
  let serviceId: string;
  let client: Client;
  let logged = "";

  before(async () => {
    api = await startTestApi();
    const chain = await openChain("base-sepolia");
    buyer = await openTrader(api, chain);
    const market = await openMarket(api, chain);
    serviceId = await listService(api, market.seller);
    client = new Client({ name: "test", version: "1" });
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: ["cli/src/main.ts", "mcp"],
      env: { ...inheritedVariables(), ...buyer.home.env } as Record<string, string>,
      stderr: "pipe",
    });
    transport.stderr?.on("data", (chunk: Buffer) => {
      logged += chunk.toString();
    });
    await client.connect(transport);
  });
  after(async () => {
    await client.close();
    await buyer.home.remove();
    await api.close();
  });

  const call = async (name: string, args: Record<string, unknown>): Promise<any> =>
    client.callTool({ name, arguments: args });

  it("has the tools of the catalogue, and says on standard error whose wallet signs", async () => {
    const { tools } = await client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      toolsFor("mcp").map(({ name }) => name),
    );
    assert.include(logged, `Serving the tools as ${buyer.address}`);
    assert.notInclude(logged, PASSWORD);
  });

  it("hires within the limits of the wallet, pays once, and is refused above them", async () => {
    const order = { intentId: "m1", serviceId, maxPrice: "5", waitSeconds: 0 };
    const { structuredContent } = await call("hire", order);
    assert.include(structuredContent, { result: "pending", state: "funded" });
    assert.strictEqual((await call("hire", order)).structuredContent.dealId, structuredContent.dealId);
    await buyer.home.ask(["limits", "set", "--per-deal", "1"]);
    const refused = await call("hire", { ...order, intentId: "m2", again: true });
    assert.isTrue(refused.isError);
    assert.include(JSON.stringify(refused.content), "limit_exceeded");
  });

  it("needs a wallet", async () => {
    const home = await CliHome.make({ password: PASSWORD });
    const { code, stdout } = await home.run(["mcp"]);
    assert.deepEqual([code, stdout], [4, ""]);
    await home.remove();
  });
});
