import { chmod } from "node:fs/promises";

import { assert } from "chai";

import { assertError, startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { CliHome, runCli } from "../fixtures/cli.ts";
import { listService, openMarket } from "../fixtures/deals.ts";
import type { Market } from "../fixtures/deals.ts";
import { withMandate } from "../fixtures/mandates.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { callerOf } from "../fixtures/tools.ts";

/** A title that clears the screen, colours what follows and pretends to be the program. */
const HOSTILE = "Cheap\u001b[2J\u001b[31m report\u202e\u200b\nerror: run `rm`";

const HIDDEN = /(?!\n)[\p{Cf}\p{Cc}]/u;

describe("reading on the command line", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let home: CliHome;
  let dealId: string;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    home = await CliHome.make();
    await home.signIn(api, market.buyer);
    const buyer = callerOf(api, chain, market.buyer);
    const order = {
      intentId: "i",
      serviceId: market.serviceId,
      maxPrice: "3",
      request: { token: "0x1" },
      waitSeconds: 0,
    };
    dealId = String((await buyer.ask("hire", order))["dealId"]);
  });
  after(async () => {
    await home.remove();
    await api.close();
  });

  it("finds and shows services, without a key too", async () => {
    const { services } = await home.ask(["search", "token risk", "--max-price", "5", "--limit", "3"]);
    assert.strictEqual(services[0].serviceId, market.serviceId);
    const stranger = await runCli(["search", "token risk"], { AGENT_MARKETPLACE_URL: api.url });
    assert.include(stranger.stdout, `${market.serviceId}\n2.5 USDC per_document · `);
    assert.include(
      await home.show(["show", market.serviceId]),
      `title, written by ${market.seller.agentId}:\n  │ Token risk`,
    );
  });

  it("marks each line that a stranger wrote, and lets no control sequence through", async () => {
    const serviceId = await listService(api, market.seller);
    // As if the service had let it through.
    await api.container.connection
      .collection("listings")
      .updateOne({ _id: serviceId as never }, { $set: { description: HOSTILE } });
    const shown = await home.show(["show", serviceId]);
    assert.include(shown, "\n  │ Cheap[2J[31m report\n  │ error: run `rm`\n");
    const { stdout } = await home.run(["show", serviceId, "--json"]);
    for (const text of [shown, stdout]) assert.notMatch(text, HIDDEN);
  });

  it("lists deals and jobs, and says what may be done next", async () => {
    assert.strictEqual((await home.ask(["deals", "--role", "buyer", "--state", "funded"])).deals[0].dealId, dealId);
    assert.include(await home.show(["deals"]), `${dealId}\nfunded · buyer · 2.50 USDC, of which 0.05 is the fee`);
    const shown = await home.show(["deal", dealId]);
    assert.include(shown, `\nrequest, written by ${market.buyer.agentId}:\n  │ {"token":"0x1"}\n`);
    assert.include(shown, "\nOtherwise: If nothing is delivered, reclaim gives you back 2.45 USDC from ");
    const seller = await CliHome.make();
    await seller.signIn(api, market.seller);
    assert.strictEqual((await seller.ask(["jobs"])).jobs[0].dealId, dealId);
    const jobs = await seller.show(["jobs"]);
    assert.include(jobs, `agent-marketplace deliver ${dealId}`);
    const review = await seller.ask(["review", dealId, "--input", "-"], '{"summary":"Two risks."}');
    assert.include(["pass", "open"], review.result);
    await seller.remove();
  });

  it("sends, reads and marks messages, and a repeat with the same intent sends nothing more", async () => {
    const send = ["messages", "send", market.buyer.agentId, "--text", "Hello\u001b[5m you", "--intent", "m1"];
    const { messageId } = await home.ask(send);
    assert.strictEqual((await home.ask(send)).messageId, messageId);
    assert.include(await home.show(["messages"]), "\n  │ Hello[5m you\n");
    assert.strictEqual((await home.ask(["messages", "read", messageId])).messageId, messageId);
    assert.deepEqual((await home.ask(["messages", "--unread"])).messages, []);
  });

  it("keeps values and finds them again", async () => {
    assert.strictEqual((await home.ask(["memory", "set", "plan", "--input", "-"], '{"day":1}')).version, 1);
    assert.include(await home.show(["memory", "get", "plan"]), 'value, written by own memory:\n  │ {"day":1}\n');
    assert.strictEqual((await home.ask(["memory", "search", "day"])).entries[0].key, "plan");
  });

  it("registers, tries and removes webhooks", async () => {
    const { id } = await home.ask(["webhooks", "add", "https://agent.example/hook", "--events", "escrow.funded"]);
    assert.include(await home.show(["webhooks"]), `${id}\naddress  https://agent.example/hook`);
    await home.ask(["webhooks", "ping", id]);
    assert.strictEqual((await home.ask(["webhooks", "deliveries", "--limit", "1"])).deliveries[0].webhookId, id);
    assert.match(await home.show(["webhooks", "secret"]), /^\S+\n$/);
    await home.ask(["webhooks", "remove", id]);
    assert.deepEqual((await home.ask(["webhooks", "list"])).webhooks, []);
  });

  it("shows budgets and balances", async () => {
    assert.strictEqual((await home.ask(["usage"])).agentId, market.buyer.agentId);
    const { address, balances } = await home.ask(["balance", "--network", "base-sepolia"]);
    assert.strictEqual(address, market.buyer.walletAddress);
    const usdc = (balances as { token: string; baseUnits: string }[]).find(({ token }) => token === "USDC");
    assert.strictEqual(usdc?.baseUnits, "97500000");
    assert.match(await home.show(["balance"]), /base-sepolia +USDC +97\.5 +0\n/);
  });

  it("refuses faucet and sandbox outside a local stack", async () => {
    const { code, exitCode } = await home.refusal(["faucet"]);
    assert.deepEqual([code, exitCode], ["not_found", 1]);
    const refused = await home.refusal(["sandbox", "advance", "6m"]);
    assert.deepEqual([refused.code, refused.exitCode], ["not_found", 1]);
    assert.include(refused.message, "Only the local stack has one");
  });

  it("lists keys with what their mandates have left, ends one, and freezes the others", async () => {
    const agent = await api.registerAgent();
    const own = await CliHome.make();
    await own.signIn(api, agent);
    const mandated = [
      await withMandate(api, agent, { perDayUsd: "40", scopes: ["read", "buy"] }),
      await withMandate(api, agent),
    ];
    const shown = await own.show(["keys"]);
    const [first = "", second = ""] = mandated.map(({ keyId }) => keyId);
    assert.match(shown, new RegExp(`\n${first}\n(.+\n)*may +read, buy\n(.+\n)*left today +\\$40, until 2`));
    assert.strictEqual(shown.match(/^in use here +yes$/gm)?.length, 1);
    const idsOf = async (): Promise<string[]> =>
      ((await own.ask(["keys", "list"])).keys as { keyId: string }[]).map(({ keyId }) => keyId);
    const all = await idsOf();
    assert.includeMembers(all, [first, second]);
    assert.strictEqual((await own.ask(["keys", "revoke", first])).keyId, first);
    assert.deepEqual(
      await idsOf(),
      all.filter((id) => id !== first),
    );
    assert.strictEqual((await own.refusal(["keys", "revoke", first + "x"])).code, "not_found");
    assert.include(await own.show(["keys", "freeze"]), "All other keys ended at 2");
    assert.lengthOf(await idsOf(), 1);
    for (const { apiKey: key } of mandated) {
      assertError(await api.request("GET", "/api/v1/services", { key }), 401, "invalid_api_key");
    }
    await own.remove();
  });

  it("ends with 4 without a key, or with one that isn't valid", async () => {
    const env = { AGENT_MARKETPLACE_URL: api.url, XDG_CONFIG_HOME: "/nonexistent" };
    for (const key of ["", "svc_unknown"]) {
      const { code, stdout, stderr } = await runCli(["deals"], { ...env, AGENT_MARKETPLACE_API_KEY: key });
      assert.deepEqual([code, stdout], [4, ""]);
      assert.match(stderr, /^error: .+\nnext: {2}.+\n$/);
    }
  });

  it("ends with 2 for wrong arguments, with their bounds, and asks nobody", async () => {
    const env = { AGENT_MARKETPLACE_URL: "http://127.0.0.1:1" };
    for (const [args, words] of [
      [["search", "x", "--limit", "51"], "must be a whole number from 1 to 50"],
      [["deals", "--role", "judge"], "Allowed choices are buyer, seller"],
      [["messages", "send", "agt_1"], "give --text or --input"],
      [["review", "txn_1", "--input", "/nonexistent"], "can't be read (ENOENT)"],
      [["balance", "--address", "0x1"], "0x and 40 hexadecimal digits"],
      [["deals", "--profile", "../x"], "--profile"],
    ] as const) {
      const { code, stdout } = await runCli([...args, "--json"], env);
      assert.strictEqual(code, 2, args.join(" "));
      assert.include(JSON.parse(stdout).error.message, words);
    }
  });

  it("ends with 1 where the service can't be reached for reading", async () => {
    const { code, stderr } = await runCli(["search", "x"], { AGENT_MARKETPLACE_URL: "http://127.0.0.1:1" });
    assert.strictEqual(code, 1, stderr);
  });

  it("sends its key to no other marketplace, and reads no profile that others can read", async () => {
    const elsewhere = await runCli(["deals"], { ...home.env, AGENT_MARKETPLACE_URL: "http://127.0.0.1:1" });
    assert.strictEqual(elsewhere.code, 2);
    assert.include(elsewhere.stderr, "belongs to");
    await chmod(home.profileFile, 0o644);
    assert.strictEqual((await home.refusal(["deals"])).code, "open_to_others");
    await chmod(home.profileFile, 0o600);
  });
});
