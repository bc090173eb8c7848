import { readFile } from "node:fs/promises";

import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { openTrader } from "../fixtures/cli.ts";
import type { Trader } from "../fixtures/cli.ts";
import { listService } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";

describe("disputes on the command line", () => {
  let api: TestApi;
  let buyer: Trader;
  let seller: Trader;

  before(async () => {
    api = await startTestApi();
    const chain = await openChain("base-sepolia");
    [buyer, seller] = await Promise.all([openTrader(api, chain), openTrader(api, chain)]);
  });
  after(async () => {
    await Promise.all([buyer.home.remove(), seller.home.remove()]);
    await api.close();
  });

  it("are opened with a reason and divided as both parties agree", async () => {
    const { apiKey } = JSON.parse(await readFile(seller.home.profileFile, "utf8"));
    const serviceId = await listService(api, { apiKey } as Parameters<typeof listService>[1]);
    const { dealId } = await buyer.home.ask(["hire", serviceId, "--max", "5", "--yes"]);
    await seller.home.ask(["deliver", dealId, "--input", "-", "--yes"], '{"summary":"No"}');
    const disputed = await buyer.home.ask(["dispute", dealId, "--reason", "It is one word.", "--yes"]);
    assert.strictEqual(disputed.state, "disputed");
    assert.include(await seller.home.show(["deal", dealId]), "\n  │ It is one word.\n");

    const share = ["--buyer-percent", "40"];
    assert.isFalse((await buyer.home.ask(["agree", dealId, ...share, "--dry-run"])).signed);
    assert.strictEqual((await buyer.home.ask(["agree", dealId, ...share, "--yes"])).state, "offered");
    assert.strictEqual((await buyer.home.ask(["agree", dealId, ...share, "--yes"])).state, "offered");
    assert.strictEqual((await seller.home.ask(["agree", dealId, ...share, "--yes"])).state, "paid");
    assert.strictEqual((await seller.home.refusal(["agree", dealId, ...share, "--yes"])).code, "dispute_resolved");
  });

  it("leave nothing to withdraw where every payout arrived", async () => {
    const { baseUnits } = await seller.home.ask(["withdraw", "--yes"]);
    assert.strictEqual(baseUnits, "0");
  });
});
