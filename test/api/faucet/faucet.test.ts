// The faucet of the local stack: money arrives, as much as an hour allows, and nowhere else.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { assert } from "chai";
import { erc20Abi, parseEther } from "viem";
import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

import { NETWORKS } from "../../../api/config/constants.ts";
import type { Network } from "../../../api/config/constants.ts";
import { ConfigurationError, loadEnv } from "../../../api/config/env.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { movedClock } from "../../fixtures/limits.ts";
import { oddNodeTo } from "../../fixtures/odd-node.ts";
import type { OddNode, Oddity } from "../../fixtures/odd-node.ts";
import { errorOf } from "../../fixtures/rejection.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const run = promisify(execFile);
const FAUCET = "/api/v1/faucet";
const HOUR_MS = 3_600_000;
const newWallet = () => privateKeyToAddress(generatePrivateKey());

describe("the faucet", () => {
  let chains: Record<Network, TestChain>;
  before(async () => {
    chains = { "base-sepolia": await openChain("base-sepolia"), base: await openChain("base") };
  });

  /** What a wallet has, in wei and token units. */
  async function wealthOf(network: Network, owner: Hex) {
    const chain = chains[network];
    const { client, deployment } = chain;
    const weth = deployment.tokens.find(({ symbol }) => symbol === "WETH");
    const read = { abi: erc20Abi, functionName: "balanceOf", args: [owner] } as const;
    return {
      ether: await client.getBalance({ address: owner }),
      usdc: await chain.usdcOf(owner),
      weth: weth === undefined ? 0n : await client.readContract({ ...read, address: weth.address }),
    };
  }

  describe("on the local stack", () => {
    const clock = movedClock();
    let api: TestApi;
    before(async () => {
      api = await startTestApi({ env: { isLocalStack: true }, clock });
    });
    after(() => api.close());
    // Each test has the whole hour of its address.
    beforeEach(() => {
      clock.pass(HOUR_MS);
    });

    const ask = (address: unknown, network: unknown = "base-sepolia") =>
      api.request("POST", FAUCET, { body: { address, network } });

    for (const network of NETWORKS) {
      it(`gives 1 ether, 1,000 USDC and the WETH of ${network}, each with its transaction`, async () => {
        const address = newWallet();
        const { status, body, text } = await ask(address, network);
        assert.strictEqual(status, 200, text);
        const expected = {
          ether: parseEther("1"),
          usdc: 1_000_000_000n,
          weth: network === "base" ? parseEther("1") : 0n,
        };
        assert.deepEqual(await wealthOf(network, address), expected);
        const { gifts, ...facts } = body.data;
        assert.deepEqual(facts, { address, network });
        const tokens = chains[network].deployment.tokens;
        assert.deepEqual(
          gifts.map(({ symbol, token, amount }: Record<string, string>) => [symbol, token, amount]),
          [
            ["ETH", null, "1000000000000000000"],
            ...tokens.map(({ symbol, address: token }) => [
              symbol,
              token,
              symbol === "USDC" ? "1000000000" : "1000000000000000000",
            ]),
          ],
        );
        for (const { transactionHash } of gifts) {
          const { status: outcome } = await chains[network].client.getTransactionReceipt({ hash: transactionHash });
          assert.strictEqual(outcome, "success");
        }
      });
    }

    it("adds to what a wallet has", async () => {
      const address = newWallet();
      await Promise.all([ask(address), ask(address.toLowerCase())]);
      assert.deepEqual(await wealthOf("base-sepolia", address), {
        ether: parseEther("2"),
        usdc: 2_000_000_000n,
        weth: 0n,
      });
    });

    it("names the field that is wrong, and counts no call for it", async () => {
      const address = newWallet();
      const [last = ""] = address.slice(-1);
      const mistyped = address.slice(0, -1) + (last === "0" ? "1" : "0");
      const wrongCase = address.replace(/[a-f]/i, (letter) =>
        letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
      );
      for (const wrong of [undefined, 7, "", "0x1", address.slice(2), mistyped, wrongCase, `0x${"0".repeat(40)}`]) {
        assertInvalid(await ask(wrong), "body.address");
      }
      for (const network of [null, "", "84532", "Base", "polygon"]) {
        assertInvalid(await ask(address, network), "body.network");
      }
      const body = { address, network: "base", amount: "1000", to: address };
      assertInvalid(await api.request("POST", FAUCET, { body }), "body.amount", "body.to");
      assertInvalid(await api.request("POST", FAUCET, { body: {} }), "body.address", "body.network");
      assert.deepEqual(await wealthOf("base-sepolia", address), { ether: 0n, usdc: 0n, weth: 0n });
      for (let call = 0; call < 3; call += 1) assert.strictEqual((await ask(address)).status, 200);
    });

    it("gives nothing to a contract that takes no ether", async () => {
      const { score } = chains["base-sepolia"].deployment;
      const before = await wealthOf("base-sepolia", score);
      const answer = await ask(score);
      assertInvalid(answer, "body.address");
      assert.match(answer.body.details[0].message, /takes no ether/);
      assert.deepEqual(await wealthOf("base-sepolia", score), before);
    });

    it("gives a wallet three times in an hour on all networks together, and says when again", async () => {
      const address = newWallet();
      for (const network of ["base", "base-sepolia", "base"]) {
        assert.strictEqual((await ask(address, network)).status, 200);
        clock.pass(60_000);
      }
      const refused = await ask(address.toLowerCase());
      assertError(refused, 429, "rate_limit_exceeded");
      assert.deepEqual(refused.body.details, { window: "faucet", countedBy: "wallet", limit: 3 });
      const seconds = Number(refused.headers.get("retry-after"));
      assert.isAtLeast(seconds, 3_300);
      // The database rounds times up to its own milliseconds.
      assert.isAtMost(seconds, 3_425);
      clock.pass((seconds - 60) * 1_000);
      assertError(await ask(address), 429, "rate_limit_exceeded");
      clock.pass(120_000);
      assert.strictEqual((await ask(address)).status, 200);
    });

    it("gives a client twenty times in an hour, and uses up no wallet's calls for it afterwards", async () => {
      for (let call = 0; call < 20; call += 1) assert.strictEqual((await ask(newWallet())).status, 200, String(call));
      const address = newWallet();
      for (let call = 0; call < 4; call += 1) {
        const refused = await ask(address);
        assertError(refused, 429, "rate_limit_exceeded");
        assert.deepEqual(refused.body.details, { window: "faucet", countedBy: "address", limit: 20 });
        assert.match(refused.headers.get("retry-after") ?? "", /^3\d\d\d$/);
      }
      assert.deepEqual(await wealthOf("base-sepolia", address), { ether: 0n, usdc: 0n, weth: 0n });
      const { clientWindows } = api.container.features.limits.models;
      assert.isNull(await clientWindows.findById(`faucet:wallet:${address.toLowerCase()}`));
    });

    it("is asked by `npm run faucet`", async () => {
      const dir = mkdtempSync(join(tmpdir(), "faucet-"));
      try {
        const stack = join(dir, "stack.json");
        writeFileSync(stack, JSON.stringify({ api: api.url }));
        const address = newWallet();
        const command = (...args: string[]) =>
          run(process.execPath, ["scripts/faucet.ts", ...args, "--stack", stack]).catch((error: unknown) => {
            return error as { code: number; stdout: string; stderr: string };
          });
        const { stdout } = await command(address, "--network", "base");
        assert.match(stdout, /^ {4}1 ETH {3}0x\w{64}\n 1000 USDC {2}0x\w{64}\n {4}1 WETH {2}0x\w{64}\n/);
        assert.include(stdout, `${address} has them on base.`);
        assert.strictEqual((await wealthOf("base", address)).usdc, 1_000_000_000n);
        for (let call = 0; call < 2; call += 1) await command(address);
        const refused = await command(address);
        assert.include(refused, { code: 1, stdout: "" });
        assert.match(
          refused.stderr,
          /^The faucet gave nothing: 429 Rate limit exceeded: .*"wallet".*, again in 3\d\d\d s\n$/,
        );
        assert.match((await command("0x1")).stderr, /400 .*body\.address/);
        for (const args of [[], [address, address], [address, "--network", "polygon"]]) {
          assert.include(await command(...args), { code: 2 }, args.join(" "));
        }
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    });
  });

  describe("raced", () => {
    it("gives exactly as often as an hour allows over two processes", async () => {
      const api = await startTestApi({ oneProcess: "only makes the database; the test starts two processes itself" });
      const { name } = api.container.connection;
      const start = () => startApiProcess(name, { LOCAL_STACK: "true", TRUST_PROXY: "1" });
      const processes = await Promise.all([start(), start()]);
      const call = async (index: number, address: Hex, client: string) => {
        const response = await fetch(`${processes[index % 2]?.url ?? ""}${FAUCET}`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-forwarded-for": client },
          body: JSON.stringify({ address, network: "base-sepolia" }),
        });
        await response.arrayBuffer();
        return response.status;
      };
      const count = (statuses: readonly number[]) =>
        Object.fromEntries([200, 429].map((status) => [status, statuses.filter((one) => one === status).length]));
      try {
        const address = newWallet();
        const ofWallet = await Promise.all(
          Array.from({ length: 12 }, (_, index) => call(index, address, `203.0.113.${String(index)}`)),
        );
        assert.deepEqual(count(ofWallet), { 200: 3, 429: 9 });
        assert.strictEqual((await wealthOf("base-sepolia", address)).ether, parseEther("3"));
        const wallets = Array.from({ length: 26 }, newWallet);
        const ofClient = await Promise.all(wallets.map((wallet, index) => call(index, wallet, "203.0.113.99")));
        assert.deepEqual(count(ofClient), { 200: 20, 429: 6 });
        const ether = await Promise.all(wallets.map(async (wallet) => (await wealthOf("base-sepolia", wallet)).ether));
        assert.strictEqual(
          ether.reduce((sum, one) => sum + one, 0n),
          parseEther("20"),
        );
      } finally {
        await Promise.all(processes.map((process) => process.stop()));
        await api.close();
      }
    });
  });

  describe("anywhere else", () => {
    let node: OddNode;
    before(async () => {
      node = await oddNodeTo(chains.base.rpcUrl);
    });
    after(() => node.close());

    const body = { address: newWallet(), network: "base" };
    async function answerOf(api: TestApi, sent: unknown = body) {
      const unknown = await api.request("POST", "/api/v1/no-such-route", { body: sent });
      const answer = await api.request("POST", FAUCET, { body: sent });
      return { unknown: [unknown.status, unknown.body], answer: [answer.status, answer.body] };
    }

    it("doesn't exist without the stack's own flag, although the nodes are anvil on loopback", async () => {
      const api = await startTestApi();
      const { unknown, answer } = await answerOf(api);
      assert.deepEqual(answer, unknown);
      assertError(await api.request("GET", FAUCET), 404, "not_found");
      await api.close();
      assert.deepEqual(await wealthOf("base", body.address), { ether: 0n, usdc: 0n, weth: 0n });
    });

    it("doesn't exist while a node is another program with the chain's id, and sends it nothing", async () => {
      const { rpcUrl } = chains["base-sepolia"];
      const env = { isLocalStack: true, rpcUrls: { "base-sepolia": rpcUrl, base: node.url } };
      const api = await startTestApi({ env });
      const answers: Oddity[] = [
        ...["Geth/v1.16.0-stable/linux-amd64/go1.24", "not-anvil/v1", "reth/anvil/v1", ""].map(
          (result) => ({ kind: "result", result }) as const,
        ),
        { kind: "error", message: "the method web3_clientVersion does not exist", code: -32_601 },
        { kind: "status", status: 503 },
      ];
      for (const oddity of answers) {
        node.odd = (method) => (method === "web3_clientVersion" ? oddity : undefined);
        for (const sent of [body, { ...body, network: "base-sepolia" }, { nonsense: true }]) {
          const { unknown, answer } = await answerOf(api, sent);
          assert.deepEqual(answer, unknown, JSON.stringify(oddity));
        }
      }
      const sent = node.seen.filter((method) => /^anvil_|send/i.test(method));
      assert.deepEqual(sent, []);
      node.odd = undefined;
      assert.strictEqual((await answerOf(api)).answer[0], 200);
      await api.close();
    });

    it("answers 503 when a node that said it is anvil doesn't take its transactions", async () => {
      const { rpcUrl } = chains["base-sepolia"];
      const env = { isLocalStack: true, rpcUrls: { "base-sepolia": rpcUrl, base: node.url } };
      const api = await startTestApi({ env });
      node.odd = (method) => (method === "eth_sendRawTransaction" ? { kind: "status", status: 502 } : undefined);
      const answer = await api.request("POST", FAUCET, { body: { ...body, address: newWallet() } });
      assertError(answer, 503, "chain_unavailable");
      node.recover();
      await api.close();
    });

    it("needs the flag and nodes on loopback, and is refused in production", async () => {
      const stack = await readStack();
      const variables = { ...testVariables(stack), MONGODB_URI: stack.mongodbUri };
      const isLocal = (fields: Record<string, string>) => loadEnv({ ...variables, ...fields }).isLocalStack;
      assert.isFalse(isLocal({}));
      assert.isFalse(isLocal({ LOCAL_STACK: "false" }));
      assert.isTrue(isLocal({ LOCAL_STACK: "true" }));
      for (const url of ["http://localhost:8545", "http://[::1]:8545", "https://127.9.9.9"]) {
        assert.isTrue(isLocal({ LOCAL_STACK: "true", RPC_URL_BASE: url }), url);
      }
      for (const host of [
        "10.0.0.1",
        "rpc.example",
        "127.0.0.1.example",
        "localhost.example",
        "0.0.0.0",
        "127.0.0.1@rpc.example",
      ]) {
        for (const name of ["RPC_URL_BASE", "RPC_URL_BASE_SEPOLIA"]) {
          assert.isFalse(isLocal({ LOCAL_STACK: "true", [name]: `http://${host}` }), `${name} ${host}`);
        }
      }
      assert.throws(() => isLocal({ LOCAL_STACK: "yes" }), ConfigurationError, "LOCAL_STACK must be true or false");
      const { message } = errorOf(() => isLocal({ LOCAL_STACK: "true", NODE_ENV: "production" }), ConfigurationError);
      assert.match(message, /LOCAL_STACK must not be true with NODE_ENV=production/);
    });
  });
});
