import { assert } from "chai";

import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { CliHome, openTrader } from "../fixtures/cli.ts";
import type { Trader } from "../fixtures/cli.ts";
import { listService } from "../fixtures/deals.ts";
import { openChain } from "../fixtures/stack.ts";

const MANDATE = ["keys", "mandate", "--per-deal", "1", "--per-day", "20", "--total", "100", "--days", "30"];

describe("keys with a mandate on the command line", () => {
  let api: TestApi;
  let owner: Trader;
  let seller: TestAgent;
  let serviceId: string;
  /** The program that has the bounded key, and no wallet. */
  let program: CliHome;

  before(async () => {
    api = await startTestApi();
    owner = await openTrader(api, await openChain("base-sepolia"));
    seller = await api.registerAgent();
    serviceId = await listService(api, seller);
    const { apiKey } = await owner.home.ask([...MANDATE, "--scopes", "read,buy", "--ask-above"]);
    program = new CliHome(owner.home.folder, {
      ...owner.home.env,
      AGENT_MARKETPLACE_API_KEY: apiKey,
      AGENT_MARKETPLACE_URL: api.url,
    });
  });
  after(async () => {
    await owner.home.remove();
    await api.close();
  });

  const hire = (intent: string) => ["hire", serviceId, "--max", "5", "--intent", intent, "--input", "-", "--dry-run"];
  const orderOf = (intent: string) => JSON.stringify({ topic: intent });

  /** What the program asks for by trying to buy it. @returns the approval's id */
  const askFor = async (intent: string): Promise<string> => {
    const refused = await program.refusal(hire(intent), orderOf(intent));
    assert.strictEqual(refused.code, "approval_required");
    assert.strictEqual(refused.exitCode, 3);
    const { approvals } = await owner.home.ask(["approvals"]);
    return String(approvals[0].id);
  };

  it("are listed with what is left of them", async () => {
    const { keys } = await owner.home.ask(["keys"]);
    const bounded = keys.find(({ mandate }: { mandate: unknown }) => mandate !== null);
    assert.deepEqual(bounded.mandate.scopes, ["read", "buy"]);
    assert.deepInclude(bounded.mandate.left, { perDealUsd: "1", todayUsd: "20", totalUsd: "100" });
    const days = (Date.parse(bounded.expiresAt) - Date.now()) / 86_400_000;
    assert.isTrue(days > 29.9 && days <= 30, String(days));
  });

  it("buy above it once a person has granted that on a terminal, and once alone", async () => {
    const id = await askFor("granted");
    assert.strictEqual((await owner.home.refusal(["approvals", "grant", id])).code, "terminal_required");
    const refused = await owner.home.answer(["approvals", "grant", id], "n");
    assert.strictEqual(refused.code, 1, refused.stderr);
    assert.include(refused.stderr, serviceId);
    const granted = await owner.home.answer(["approvals", "grant", id, "--max", "4", "--json"], "y");
    assert.strictEqual(granted.code, 0, granted.stderr);
    assert.deepInclude(JSON.parse(granted.stdout).approval, { id, status: "granted", maxUsd: "4" });
    assert.strictEqual((await owner.home.ask(["approvals"])).approvals.length, 0);

    // The wallet is the owner's: the key alone gets the calls, which it can't sign.
    const bought = await program.ask(hire("granted"), orderOf("granted"));
    assert.strictEqual(bought.result, "signature_required");
    const [used] = (await owner.home.ask(["approvals", "--all"])).approvals;
    assert.deepInclude(used, { id, status: "used" });
    assert.notStrictEqual(await askFor("another"), id);
  });

  it("are refused what a person has declined", async () => {
    const id = await askFor("declined");
    const shown = await owner.home.show(["approvals"]);
    assert.match(shown, new RegExp(`${id} {2}\\$2\\.5\\n`));
    for (const part of ["Token risk report", seller.walletAddress]) assert.include(shown, part);
    assert.include(await owner.home.show(["approvals", "decline", id]), "Declined.");
    const refused = await program.refusal(hire("declined"), orderOf("declined"));
    assert.strictEqual(refused.code, "mandate_exceeded");
    assert.strictEqual((await owner.home.answer(["approvals", "grant", id], "y")).code, 1);
  });

  it("need amounts, scopes and an end that make sense, and nothing is signed otherwise", async () => {
    const withOption = (name: string, value: string) =>
      [...MANDATE, "--scopes", "read"].map((arg, index, all) => (all[index - 1] === name ? value : arg));
    for (const [name, value] of [
      ["--per-deal", "0"],
      ["--per-day", "1.1234567"],
      ["--days", "366"],
    ] as const) {
      const { code, stderr } = await owner.home.run(withOption(name, value));
      assert.strictEqual(code, 2);
      assert.include(stderr, name);
    }
    assert.strictEqual((await owner.home.run(MANDATE)).code, 2);
    assert.include((await owner.home.refusal(withOption("--scopes", "fly"))).message, "scopes");
    assert.strictEqual((await owner.home.refusal(["approvals", "decline", "apr_none"])).code, "not_found");
    assert.strictEqual((await owner.home.answer(["approvals", "grant", "apr_none"], "y")).code, 2);
  });
});
