import { execFile } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";

import { assert } from "chai";
import { decodeFunctionData, erc20Abi, parseTransaction } from "viem";
import type { Hex } from "viem";

import { escrowAbi } from "../../../sdk/src/index.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { inheritedVariables } from "../../fixtures/environment.ts";
import type { HiringJob } from "../../fixtures/hiring-process.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { openTestWallet, PASSWORD, startLyingServer } from "../../fixtures/wallets.ts";
import type { LyingServer, TestWallet } from "../../fixtures/wallets.ts";

const PRICE = 2_500_000n;

describe("a wallet whose process is killed", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let node: LyingServer;
  let buyer: TestWallet;

  before(async () => {
    api = await startTestApi();
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    node = await startLyingServer(chain.rpcUrl);
    buyer = await openTestWallet(api.url, { ...chain, rpcUrl: node.url });
  });
  afterEach(() => {
    node.onRequest = undefined;
    node.lie = undefined;
  });
  after(async () => {
    await node.close();
    await buyer.remove();
    await api.close();
  });

  const order = () => ({
    intentId: randomUUID(),
    serviceId: market.serviceId,
    maxPrice: "2.50",
    request: { n: randomUUID() },
    waitSeconds: 0,
  });

  /** Starts a hire in a process of its own. */
  function hireElsewhere(job: Pick<HiringJob, "order" | "dieAt">): { child: ChildProcess; ended: Promise<string> } {
    const program = fileURLToPath(new URL("../../fixtures/hiring-process.ts", import.meta.url));
    const whole: HiringJob = { place: buyer.place, password: PASSWORD, apiKey: buyer.apiKey, ...job };
    let end: (output: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (end = resolve));
    const options = { env: inheritedVariables() };
    const child = execFile(process.execPath, [program, JSON.stringify(whole)], options, (_error, stdout, stderr) => {
      end(stdout + stderr);
    });
    return { child, ended };
  }

  const kills: [when: string, arrange: (kill: () => void) => HiringJob["dieAt"]][] = [
    ["once the spend is written down", () => "after-record"],
    [
      "before the approval of the token is sent",
      (kill) => {
        killAt("approve", "before", kill);
        return undefined;
      },
    ],
    [
      "before the escrow is sent",
      (kill) => {
        killAt("createEscrow", "before", kill);
        return undefined;
      },
    ],
    [
      "once the escrow is sent",
      (kill) => {
        killAt("createEscrow", "after", kill);
        return undefined;
      },
    ],
  ];
  for (const [when, arrange] of kills) {
    it(`pays once when it dies ${when}`, async () => {
      const [money, spent] = [await chain.usdcOf(buyer.wallet.address), await buyer.wallet.spent()];
      const wish = order();
      const dieAt = arrange(() => hiring.child.kill("SIGKILL"));
      const hiring = hireElsewhere({ order: wish, ...(dieAt === undefined ? {} : { dieAt }) });
      assert.strictEqual(await hiring.ended, "");
      assert.strictEqual(hiring.child.signalCode, "SIGKILL");
      node.onRequest = undefined;
      node.lie = undefined;
      assert.strictEqual((await buyer.wallet.spent()).totalUsd - spent.totalUsd, PRICE);

      assert.include(await buyer.caller.ask("hire", wish), { state: "funded" });
      assert.strictEqual(money - (await chain.usdcOf(buyer.wallet.address)), PRICE);
      assert.strictEqual((await buyer.wallet.spent()).totalUsd - spent.totalUsd, PRICE);
    });
  }

  it("pays once when two processes hire at the same time", async () => {
    const money = await chain.usdcOf(buyer.wallet.address);
    const wish = order();
    await Promise.all([hireElsewhere({ order: wish }).ended, buyer.caller.call("hire", wish)]);
    assert.include(await buyer.caller.ask("hire", wish), { state: "funded" });
    assert.strictEqual(money - (await chain.usdcOf(buyer.wallet.address)), PRICE);
  });

  /** Kills when the node is sent a call, before it gets it or once it has answered. */
  function killAt(name: string, when: "before" | "after", kill: () => void): void {
    let isSent = false;
    node.onRequest = (body) => {
      isSent = functionsIn(body).includes(name);
      if (!isSent || when === "after") return;
      kill();
      throw new Error("the process that asked is dead");
    };
    node.lie = (_path, body) => {
      if (isSent) kill();
      return body as unknown;
    };
  }
});

/** Names of the functions that the transactions of a JSON-RPC request call. */
function functionsIn(body: string): string[] {
  const parsed = JSON.parse(body) as { method: string; params?: [Hex] } | { method: string; params?: [Hex] }[];
  return [parsed].flat().flatMap(({ method, params }) => {
    if (method !== "eth_sendRawTransaction" || params === undefined) return [];
    const { data = "0x" } = parseTransaction(params[0]);
    return [decodeFunctionData({ abi: [...erc20Abi, ...escrowAbi], data }).functionName];
  });
}
