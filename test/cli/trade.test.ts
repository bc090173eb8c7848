import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";
import type { Address } from "viem";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { CliHome, openTrader } from "../fixtures/cli.ts";
import type { Trader } from "../fixtures/cli.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { PASSWORD } from "../fixtures/wallets.ts";

const LISTING = {
  title: "Token risk report",
  description: "Reads a token's contracts and writes a report on what could go wrong.",
  category: "risk_assessment",
  price: 2.5,
};

describe("trading on the command line", () => {
  let api: TestApi;
  let chain: TestChain;
  let buyer: Trader;
  let seller: Trader;
  let serviceId: string;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    [buyer, seller] = await Promise.all([openTrader(api, chain), openTrader(api, chain)]);
    serviceId = String((await seller.home.ask(["offer", "--input", "-"], JSON.stringify(LISTING))).serviceId);
  });
  after(async () => {
    await Promise.all([buyer.home.remove(), seller.home.remove()]);
    await api.close();
  });

  const sentBy = ({ address }: { address: Address }) => chain.client.getTransactionCount({ address });
  const hire = (intent: string, ...more: string[]) => ["hire", serviceId, "--input", "-", "--intent", intent, ...more];
  const REQUEST = '{"token":"0x1"}';

  it("finds, hires, delivers, reviews and accepts, and every repeat sends nothing more", async () => {
    const { services } = await buyer.home.ask(["search", "token risk"]);
    assert.strictEqual(services[0].serviceId, serviceId);

    const before = await sentBy(buyer);
    const dry = await buyer.home.ask(hire("one", "--max", "5", "--dry-run"), REQUEST);
    assert.strictEqual(dry.result, "signature_required");
    assert.lengthOf(dry.signature.calls, 2);
    assert.strictEqual(await sentBy(buyer), before);

    // A process of its own, as a shell starts it; the others run in this one.
    const process = buyer.home.start([...hire("one", "--max", "5", "--yes"), "--json"], REQUEST);
    const { code, stdout, stderr } = await process.ended;
    assert.strictEqual(code, 0, stderr);
    assert.include(stderr, "To be signed: pay 2.50 USDC into escrow, of which 0.05 USDC is the fee");
    assert.match(stderr, /^intent: one$/m);
    const { dealId, state } = JSON.parse(stdout);
    assert.strictEqual(state, "funded");
    const sent = await sentBy(buyer);
    assert.strictEqual((await buyer.home.ask(hire("one", "--max", "5", "--yes"), REQUEST)).dealId, dealId);
    assert.strictEqual(await sentBy(buyer), sent);

    const deliver = ["deliver", dealId, "--input", "-", "--yes"];
    const sentBySeller = await sentBy(seller);
    const draft = await seller.home.ask([...deliver, "--dry-run"], '{"summary":"Three."}');
    assert.strictEqual(draft.result, "signature_required");
    assert.strictEqual(await sentBy(seller), sentBySeller);
    assert.strictEqual((await seller.home.ask(deliver, '{"summary":"Two risks."}')).state, "delivered");

    const waited = await buyer.home.ask(hire("one", "--max", "5", "--yes", "--wait", "30"), REQUEST);
    assert.deepInclude(waited.result, { untrusted: true, text: '{"summary":"Two risks."}' });
    assert.match(await buyer.home.show(["accept", dealId, "--yes"]), /state +released/);
    const balances: { token: string; amount: string }[] = (await seller.home.ask(["balance"])).balances;
    assert.include(
      balances.find(({ token }) => token === "USDC"),
      { amount: "102.45" },
    );
  });

  it("signs nothing without --yes where there is no terminal to ask on", async () => {
    const sent = await sentBy(buyer);
    const { code, exitCode } = await buyer.home.refusal(hire("two", "--max", "5", "--again"), REQUEST);
    assert.deepEqual([code, exitCode], ["not_confirmed", 2]);
    assert.strictEqual(await sentBy(buyer), sent);
  });

  it("ends with 3 above --max and above the limits of the wallet, which only the password changes", async () => {
    const sent = await sentBy(buyer);
    const dear = await buyer.home.refusal(hire("three", "--max", "2.49", "--again", "--yes"), REQUEST);
    assert.deepEqual([dear.code, dear.exitCode], ["above_max_price", 3]);
    const set = await buyer.home.ask(["limits", "set", "--per-deal", "2"]);
    assert.strictEqual(set.limits.perDealUsd, "2");
    const refused = await buyer.home.refusal(hire("three", "--max", "5", "--again", "--yes"), REQUEST);
    assert.deepEqual([refused.code, refused.exitCode], ["limit_exceeded", 3]);
    assert.strictEqual(await sentBy(buyer), sent);
    assert.match(await buyer.home.show(["limits"]), /a deal +\$2\n/);
    await writeFile(join(buyer.home.folder, "wrong"), "wrong\n", { mode: 0o600 });
    const wrong = ["limits", "set", "--per-deal", "9", "--password-file", join(buyer.home.folder, "wrong")];
    assert.strictEqual((await buyer.home.refusal(wrong)).code, "wrong_password");
    assert.strictEqual((await buyer.home.refusal(["approve", "ask-1"])).exitCode, 3);
    await buyer.home.ask(["limits", "set", "--per-deal", "10"]);
  });

  it("ends with 5 and the command to repeat when it is interrupted or gets no answer", async () => {
    const profile = JSON.parse(await readFile(buyer.home.profileFile, "utf8"));
    const silent = await buyer.home.silentCopy(profile);
    const args = ["messages", "send", seller.agentId, "--text", "it's me"];
    const unknown = await silent.home.refusal(args);
    assert.strictEqual(unknown.exitCode, 5);
    assert.match(unknown.whatToDo, /agent-marketplace messages send agt_\w+ --text 'it'\\''s me' --json --intent \S+$/);
    silent.hang();
    const running = silent.home.start([...args, "--json"]);
    await silent.asked();
    running.child.kill("SIGINT");
    const { code, stdout } = await running.ended;
    assert.strictEqual(code, 5);
    assert.include(JSON.parse(stdout).error.whatToDo, "--intent");
    await silent.close();
  });

  it("keeps keys and passwords to itself", async () => {
    const text = JSON.stringify([await buyer.home.run(["limits"]), await buyer.home.run(["keys", "new"])]);
    assert.notInclude(text, PASSWORD);
    const { apiKey } = JSON.parse(await readFile(buyer.home.profileFile, "utf8"));
    assert.notInclude(text, apiKey);
    await chmod(buyer.home.env["AGENT_MARKETPLACE_PASSWORD_FILE"] ?? "", 0o644);
    assert.strictEqual((await buyer.home.refusal(["limits"])).code, "open_to_others");
    await chmod(buyer.home.env["AGENT_MARKETPLACE_PASSWORD_FILE"] ?? "", 0o600);
  });
});

describe("init on the command line", () => {
  let api: TestApi;
  let chain: TestChain;
  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
  });
  after(() => api.close());

  it("makes a wallet and its agent, and says so when it is run again", async () => {
    const home = await CliHome.make({ password: PASSWORD });
    const init = [
      "init",
      "--url",
      api.url,
      "--public-url",
      "https://market.test",
      "--rpc",
      `base-sepolia=${chain.rpcUrl}`,
    ];
    const made = await home.ask([...init, "--name", "Ann"]);
    assert.include(made, { isNew: true, isStackWallet: true });
    assert.strictEqual((await home.ask(["usage"])).agentName, "Ann");
    const again = await home.refusal(init);
    assert.strictEqual(again.exitCode, 2);
    assert.include(again.message, made.agentId);
    await home.remove();
  });

  it("lists the wallet with the local stack, and again after the stack has forgotten it", async () => {
    const stack = await startTestApi({ env: { isLocalStack: true } });
    const { stackWallets } = stack.container.features.stackWallets.models;
    const listed = async () => (await stackWallets.find().lean()).map(({ _id, madeBy }) => [_id, madeBy]);
    const home = await CliHome.make({ password: PASSWORD });
    const init = ["init", "--url", stack.url, "--public-url", "https://market.test"];
    const { address } = await home.ask([...init, "--rpc", `base-sepolia=${chain.rpcUrl}`]);
    const expected = [[String(address).toLowerCase(), "program"]];
    assert.deepEqual(await listed(), expected);
    await stackWallets.deleteMany({});
    await home.ask([...init, "--rpc", `base-sepolia=${chain.rpcUrl}`, "--repin"]);
    assert.deepEqual(await listed(), expected);
    await home.remove();
    await stack.close();
  });

  it("names the RPC server that doesn't answer, and how to name another", async () => {
    const home = await CliHome.make({ password: PASSWORD });
    const init = ["init", "--url", api.url, "--public-url", "https://market.test"];
    const refused = await home.refusal([...init, "--rpc", "base-sepolia=http://127.0.0.1:9/a-key"]);
    assert.include(refused, { exitCode: 1, code: "rpc_unreachable" });
    assert.strictEqual(refused.message, "The RPC server 127.0.0.1:9 doesn't answer.");
    assert.include(refused.whatToDo, "--rpc NETWORK=URL");
    await home.remove();
  });

  it("imports no wallet that wasn't made for the local stack", async () => {
    const home = await CliHome.make({ password: PASSWORD });
    const init = ["init", "--url", api.url, "--import", "-", "--rpc", `base-sepolia=${chain.rpcUrl}`];
    const { code } = await home.refusal(init, `0x${"42".repeat(32)}\n`);
    assert.strictEqual(code, "not_a_stack_wallet");
    await home.remove();
  });
});
