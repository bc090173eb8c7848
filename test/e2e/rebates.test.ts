// Moves the mainnet's clock into another month, so it starts a stack of its own.
import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { assert } from "chai";
import { erc20Abi, formatUnits, getAddress, keccak256, maxUint256, parseEther, stringToHex } from "viem";
import type { Address } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { PrivateKeyAccount } from "viem/accounts";

import { hashStatement, windowOf } from "../../api/features/fees/rebate.ts";
import { statementIdOf } from "../../api/features/fees/statements.ts";
import type { StatementRecord } from "../../api/features/fees/model.ts";
import { feesModule } from "../../api/features/fees/module.ts";
import { monthAfter, monthAt, monthNamed } from "../../api/features/fees/months.ts";
import type { Month } from "../../api/features/fees/months.ts";
import { canonicalJson } from "../../api/lib/canonical-json.ts";
import { createLogger } from "../../api/lib/logger.ts";
import { findFreePorts } from "../../scripts/local/ports.ts";
import { startStack } from "../../scripts/local/stack.ts";
import type { Stack } from "../../scripts/local/stack.ts";
import { PORTS_PER_STACK } from "../../scripts/local/stack-ports.ts";
import { collect, Marketplace as Client } from "../../sdk/src/index.ts";
import { assertError, startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { inheritedVariables } from "../fixtures/environment.ts";
import { atNight } from "../fixtures/nightly.ts";
import { seededRandom } from "../fixtures/random.ts";
import { signInMessage } from "../fixtures/sign-in.ts";
import { openChain } from "../fixtures/stack.ts";
import type { TestChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";
import { Marketplace } from "../subgraph/support/marketplace.ts";

const ONE_USDC = 1_000_000n;
const DAY_SECONDS = 86_400;
const FULL_SCORE = 100;
/** Kills of the command that pays, and how many of them must leave payments open. */
const KILLS = atNight({ all: 8, leastAtWork: 3 }, { all: 3, leastAtWork: 1 });
const PATH = "/api/v1/agents/rebates";
const log = createLogger({ level: "silent", name: "test" });
const sha256 = (text: string) => `0x${createHash("sha256").update(text).digest("hex")}`;

describe("rebates on a stack of its own", () => {
  const random = seededRandom();
  let dir: string;
  let stack: Stack;
  let market: Marketplace;
  let chain: TestChain;
  let api: TestApi;
  let databaseName: string;
  let payer: PrivateKeyAccount;
  const payerKey = generatePrivateKey();
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "marketplace-rebates-"));
    const portBase = await findFreePorts(PORTS_PER_STACK);
    stack = await startStack({ dir, portBase, only: ["graph", "mongo"], disposable: true });
    process.env["TEST_STACK"] = stack.factsPath;
    market = new Marketplace(stack.facts, "base");
    chain = await openChain("base");
    databaseName = `rebates_${randomBytes(4).toString("hex")}`;
    api = await startTestApi({ databaseName, timings: { statementConfirmations: 1 } });
    payer = privateKeyToAccount(payerKey);
  });
  after(async () => {
    await api.close();
    await stack.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  /** How the command ended. */
  interface Ended {
    code: number | null;
    stdout: string;
    stderr: string;
  }
  /** Starts `npm run rebates:pay` with the stack's addresses. */
  function command(args: string[], variables: Record<string, string> = { REBATE_PAYER_KEY_BASE: payerKey }) {
    const { mongodbUri = "", networks } = stack.facts;
    const uri = new URL(mongodbUri);
    uri.pathname = `/${databaseName}`;
    const child = spawn(process.execPath, ["api/commands/rebates-pay.ts", "--confirmations", "2", ...args], {
      env: { ...inheritedVariables(), MONGODB_URI: uri.href, RPC_URL_BASE: networks.base?.rpcUrl, ...variables },
    });
    const ended: Ended = { code: null, stdout: "", stderr: "" };
    child.stdout.on("data", (chunk: Buffer) => (ended.stdout += chunk.toString("utf8")));
    child.stderr.on("data", (chunk: Buffer) => (ended.stderr += chunk.toString("utf8")));
    const exit = once(child, "close").then((): Ended => ({ ...ended, code: child.exitCode }));
    return { child, exit };
  }
  const pay = (args: string[], variables?: Record<string, string>): Promise<Ended> => command(args, variables).exit;

  const moveTo = async (timestamp: number): Promise<void> => {
    await chain.moveClockTo(timestamp);
  };
  /** Blocks that the statements' read waits for, indexed. */
  async function settleChain(): Promise<void> {
    await chain.client.mine({ blocks: 3 });
    const height = Number(await chain.client.getBlockNumber({ cacheTime: 0 }));
    const { indexers } = api.container;
    await until("the subgraph has the blocks", async () => (await indexers.base.head()).number >= height);
  }
  const write = () => api.container.features.fees.statementWriter.writeDue(log);
  const rebatesOf = async ({ apiKey }: TestAgent, query = "") =>
    (await api.request("GET", `${PATH}${query}`, { key: apiKey })).body;

  /** Registers a wallet that has traded before. */
  async function register(account: PrivateKeyAccount): Promise<TestAgent> {
    const message = signInMessage(account.address);
    const signature = await account.signMessage({ message });
    const body = { agentName: "Late", walletAddress: account.address, message, signature };
    const answer = await api.request("POST", "/api/v1/auth/register", { body });
    assert.strictEqual(answer.status, 201, answer.text);
    return { ...answer.body, account } as TestAgent;
  }

  it("nothing is written while the blocks to be read are older than the contracts", async () => {
    const { connection, chains, indexers, clock } = api.container;
    const young = feesModule.create({
      connection,
      chain: chains.base,
      indexer: indexers.base,
      clock,
      timings: { statementConfirmations: 1_000_000 },
    });
    assert.deepEqual(await young.statementWriter.writeDue(log), []);
  });

  describe("statements", () => {
    let month: Month;
    let grown: TestAgent;
    let small: TestAgent;
    let stranger: PrivateKeyAccount;
    let accruedUsd: string;

    before(async () => {
      month = monthAfter(monthAt(await market.timeOf()));
      const buyer = await market.newParty();
      await chain.endow(buyer, { usdc: 1_000_000n * ONE_USDC });
      grown = await api.registerAgent();
      small = await api.registerAgent();
      stranger = await market.newParty();
      for (const { address } of [buyer, grown.account, stranger]) await chain.raiseScore(address, FULL_SCORE);
      for (const { account } of [grown, small]) await chain.endow(account);
      const sell = (seller: PrivateKeyAccount, amount: bigint) => market.createReleased(buyer, seller, { amount });

      // The first of 31 days: it has a rebate and is before the 30 days of the tier. The deal of the month before has neither.
      await sell(grown.account, 7n * ONE_USDC);
      await moveTo(month.start + 60);
      await sell(grown.account, 1_000_001n);
      await moveTo(month.windowStart + DAY_SECONDS);
      await sell(grown.account, 99_999n * ONE_USDC);
      await sell(grown.account, 10_033n);
      await sell(small.account, 9n * ONE_USDC);
      await sell(stranger, 500_000n * ONE_USDC);
      const { id } = await market.createDisputed(buyer, grown.account);
      const rationale = keccak256(stringToHex("Half of it does what was asked."));
      const admin = market.resolverAs(market.role("adminResolver"));
      await market.confirmed(admin.write.resolveByAdmin([id, 2, 67n, 33n, rationale]));
      const weth = market.tokens["WETH"] as Address;
      const wrapped = market.tokenAs(buyer, weth);
      await market.confirmed(wrapped.write.deposit({ value: parseEther("1") }));
      await market.confirmed(wrapped.write.approve([market.escrow, maxUint256]));
      const inEther = await market.createDelivered(buyer, stranger, { token: weth, amount: parseEther("0.5") });
      await market.confirmed(market.escrowAs(buyer).write.accept([inEther.id]));
      await moveTo(month.end - 60);
      await settleChain();
      const tier = await api.request("GET", "/api/v1/agents/fee-tier", { key: grown.apiKey });
      accruedUsd = tier.body.data.rebateAccruedUsd as string;
    });

    it("aren't written before the month has ended on the chain", async () => {
      // The month before is over, and had one settlement.
      assert.deepEqual(await write(), [monthAt(month.start - 1).name]);
      assert.deepEqual(await write(), []);
      const { code, stderr } = await pay(["--month", month.name]);
      assert.strictEqual(code, 1);
      assert.include(stderr, `The statements of ${month.name} aren't written.`);
    });

    it("[S2.9.02] [D22] are written once after the month's end, by the volume of the 30 days before it", async () => {
      await moveTo(month.end);
      await settleChain();
      const [first, second] = await Promise.all([write(), write()]);
      assert.include([...first, ...second], month.name);
      assert.deepEqual(await write(), []);
      const { data } = await rebatesOf(grown);
      assert.deepEqual(
        data.map((one: { month: string }) => one.month),
        [month.name, monthAt(month.start - 1).name],
      );
      const [statement] = data;
      assert.deepEqual(
        [statement.tier, statement.effectiveRateBps, statement.settledVolumeUsd, statement.settlementCount],
        // 99,999 + 0.010033 + 33% of 5
        ["Growth", 150, "100000.660033", 4],
      );
      // A quarter of the fees, the last of them by the share that was paid.
      assert.strictEqual(statement.fee, String(20_001n + 1_999_980_000n + 201n + 33_000n));
      assert.strictEqual(statement.rebate, "500008300");
      assert.deepEqual(statement.payment, { state: "due", txHash: null, blockNumber: null });
    });

    it("[D22] have the rebate that the fee tier showed at the end of the month", async () => {
      const [{ rebate }] = (await rebatesOf(grown)).data;
      assert.strictEqual(accruedUsd, formatUnits(BigInt(rebate), 6));
    });

    it("[D22] list the settlements they count, and both hashes can be computed from the answers", async () => {
      const { data } = await rebatesOf(grown);
      const [statement] = data;
      const settlements: Record<string, string>[] = [];
      let cursor = "";
      do {
        const path = `${PATH}/${statement.statementId}/settlements?limit=3${cursor}`;
        const { body } = await api.request("GET", path, { key: grown.apiKey });
        settlements.push(...body.data);
        cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
      } while (cursor !== "");
      assert.strictEqual(settlements.length, statement.settlementCount);
      assert.strictEqual(
        sha256(settlements.map((one) => `${canonicalJson(one)}\n`).join("")),
        statement.settlementsHash,
      );
      const sum = settlements.reduce((total, { countedFee = "" }) => total + BigInt(countedFee), 0n);
      assert.strictEqual(String(sum), statement.fee);
      const { network, wallet, token, tier, effectiveRateBps, windowStart, windowEnd, block } = statement;
      const { settledVolumeUsd, settlementCount, settlementsHash, fee, rebate } = statement;
      const terms = {
        network,
        month: month.name,
        wallet: wallet.toLowerCase(),
        token: token.address.toLowerCase(),
        tier,
        effectiveRateBps,
        windowStart,
        windowEnd,
        block,
        settlementCount,
        settlementsHash,
        fee,
        rebate,
        settledVolumeUsdUnits: settledVolumeUsd.replace(/\.(\d+)$/, (_: string, part: string) => part.padEnd(6, "0")),
      };
      assert.strictEqual(sha256(canonicalJson(terms)), statement.hash);
    });

    it("[D22] have no rebate for a Standard seller", async () => {
      const [statement, ...others] = (await rebatesOf(small)).data;
      assert.deepEqual([statement.tier, statement.fee, statement.rebate], ["Standard", "180000", "0"]);
      assert.deepEqual([statement.payment.state, others.length], ["none", 0]);
    });

    it("wait for a wallet that registers later, one for each token, page by page", async () => {
      const late = await register(stranger);
      const one = await rebatesOf(late, "?limit=1");
      const two = await rebatesOf(late, `?limit=1&cursor=${one.nextCursor}`);
      assert.isNull(two.nextCursor);
      const found = [...one.data, ...two.data];
      assert.sameDeepMembers(
        found.map(({ token, tier, rebate }) => [token.symbol, tier, rebate]),
        [
          ["USDC", "Scale", String(5_000n * ONE_USDC)],
          ["WETH", "Scale", String(parseEther("0.005"))],
        ],
      );
      assert.deepEqual(new Set(found.map(({ wallet }) => wallet)), new Set([late.walletAddress]));
    });

    it("are walked by the client", async () => {
      const { account } = new Client({ url: api.url }).agent({ apiKey: grown.apiKey });
      const [statement, ...earlier] = await collect(account.rebates());
      assert.ok(statement !== undefined && earlier.length === 1);
      const settlements = await collect(account.rebateSettlements(statement.statementId));
      assert.strictEqual(settlements.length, statement.settlementCount);
    });

    it("are read by nobody else, and need a key", async () => {
      const [{ statementId }] = (await rebatesOf(grown)).data;
      const path = `${PATH}/${statementId}/settlements`;
      assertError(await api.request("GET", path, { key: small.apiKey }), 404, "not_found");
      assertError(await api.request("GET", path), 401, "invalid_api_key");
      assertError(await api.request("GET", PATH), 401, "invalid_api_key");
    });

    it("aren't paid by a wallet that lacks a token or ether, and a dry run sends nothing", async () => {
      const short = await pay(["--month", month.name]);
      assert.strictEqual(short.code, 1);
      assert.match(short.stderr, /doesn't hold enough, so nothing was sent/);
      const dry = await pay(["--month", month.name, "--dry-run"]);
      assert.strictEqual(dry.code, 0, dry.stderr);
      for (const text of ["500.0083 USDC", "5000 USDC", "0.005 WETH", "to pay", "Nothing was sent."]) {
        assert.include(dry.stdout, text);
      }
      const keyless = await pay(["--month", month.name], {});
      assert.match(keyless.stderr, /REBATE_PAYER_KEY_BASE is missing/);
      assert.strictEqual(await chain.client.getTransactionCount({ address: payer.address }), 0);
    });

    it("[D22] are paid to the sellers in the same token, once however often the command runs", async () => {
      await chain.endow(payer, { usdc: 10_000n * ONE_USDC, weth: parseEther("1") });
      const before = await chain.usdcOf(grown.account.address);
      const outcomes = [await pay(["--month", month.name]), await pay(["--month", month.name])];
      for (const { code, stderr } of outcomes) assert.strictEqual(code, 0, stderr);
      assert.strictEqual((await chain.usdcOf(grown.account.address)) - before, 500_008_300n);
      const [{ payment }] = (await rebatesOf(grown)).data;
      assert.strictEqual(payment.state, "paid");
      const receipt = await chain.client.getTransactionReceipt({ hash: payment.txHash });
      assert.deepEqual([receipt.status, Number(receipt.blockNumber)], ["success", payment.blockNumber]);
    });
  });

  describe("payments", () => {
    const MONTH = monthNamed("2026-01");
    /** A month's statements with rebates for wallets, as the job would have written them. */
    async function owe(month: Month, wallets: readonly Address[], rebate: bigint): Promise<void> {
      const { statements, months } = api.container.features.fees.models;
      const token = market.usdc.toLowerCase() as Address;
      const records = wallets.map((address): StatementRecord => {
        const wallet = address.toLowerCase() as Address;
        const terms = {
          network: "base" as const,
          month: month.name,
          wallet,
          token,
          tier: "Growth" as const,
          effectiveRateBps: 150,

          ...windowOf(month),
          settledVolumeUsdUnits: "100000000000",
          block: { number: 1, hash: keccak256("0x01") },

          settlementCount: 0,
          settlementsHash: keccak256("0x02"),
          fee: String(rebate * 4n),
          rebate: String(rebate),
        };
        return {
          _id: statementIdOf("base", month.name, wallet, token),
          ...terms,
          hash: hashStatement(terms),
          tokenSymbol: "USDC",
          tokenDecimals: 6,
          isPayable: true,
          createdAt: new Date(),
        };
      });
      await statements.insertMany(records);
      await months.create([
        {
          _id: `base|${month.name}`,
          network: "base",
          month: month.name,
          statements: records.length,
          writtenAt: new Date(),
        },
      ]);
    }
    const newWallets = (count: number): Address[] =>
      Array.from({ length: count }, () => privateKeyToAccount(generatePrivateKey()).address);

    it("[D22] reach each seller exactly once, although the command is killed at random again and again", async () => {
      const wallets = newWallets(24);
      await owe(MONTH, wallets, 7_000_003n);
      await chain.endow(payer, { usdc: 10_000n * ONE_USDC });
      const { payments } = api.container.features.fees.models;
      const from = await chain.client.getBlockNumber({ cacheTime: 0 });
      const inMonth = { month: MONTH.name };
      let atWork = 0;
      for (let kills = 0; kills < KILLS.all; kills += 1) {
        const before = await payments.countDocuments({ ...inMonth, "attempts.0": { $exists: true } });
        const { child, exit } = command(["--month", MONTH.name]);
        const isWorking = async () => {
          const signed = await payments.countDocuments({ ...inMonth, "attempts.0": { $exists: true } });
          return signed > before || signed === wallets.length || child.exitCode !== null;
        };
        await until("the command has signed something", isWorking);
        await sleep(random() * 300);
        child.kill("SIGKILL");
        await exit;
        const open = await payments.countDocuments({ ...inMonth, state: { $ne: "final" } });
        if (open > 0) atWork += 1;
        await api.container.connection.collection("leases").deleteMany({});
      }
      assert.isAtLeast(atWork, KILLS.leastAtWork);
      const { code, stdout, stderr } = await pay(["--month", MONTH.name]);
      assert.strictEqual(code, 0, stderr + stdout);
      const transfers = await chain.client.getContractEvents({
        address: market.usdc,
        abi: erc20Abi,
        eventName: "Transfer",
        args: { from: payer.address },
        fromBlock: from,
      });
      assert.deepEqual(
        transfers.map(({ args }) => getAddress(args.to ?? "0x")).sort(),
        wallets.map((wallet) => getAddress(wallet)).sort(),
      );
      for (const { args } of transfers) assert.strictEqual(args.value, 7_000_003n);
    });

    it("go on to the others when the token refuses one, and the command names it", async () => {
      const month = monthNamed("2026-02");
      const wallets = newWallets(3);
      const zero: Address = "0x0000000000000000000000000000000000000000";
      await owe(month, [...wallets, zero], 1_000_000n);
      const { code, stdout, stderr } = await pay(["--month", month.name]);
      assert.strictEqual(code, 1);
      assert.match(stderr, /1 of 4 couldn't be paid/);
      assert.match(stdout, new RegExp(`${zero} .*to pay`));
      for (const wallet of wallets) assert.strictEqual(await chain.usdcOf(wallet), 1_000_000n);
    });
  });
});
