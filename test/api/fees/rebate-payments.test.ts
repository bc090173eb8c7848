// Statements that are stored, as their sellers read them and as the operator's command pays them. How they are written is
// tested in test/e2e/rebates.test.ts.
import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { StatementLineRecord, StatementRecord } from "../../../api/features/fees/model.ts";
import { rebatePayments } from "../../../api/features/fees/module.ts";
import { statementIdOf } from "../../../api/features/fees/statements.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";

const PATH = "/api/v1/agents/rebates";
const MONTH = "2026-09";
const REBATE = 250_000n;
const BYTES32 = `0x${"11".repeat(32)}` as const;

describe("statements of rebates", () => {
  let api: TestApi;
  let chain: TestChain;
  let seller: TestAgent;
  let stranger: TestAgent;
  before(async () => {
    api = await startTestApi();
    chain = await openChain("base");
  });
  beforeEach(async () => {
    seller = await api.registerAgent();
    stranger = await api.registerAgent();
    const { statements, lines, payments } = api.container.features.fees.models;
    for (const model of [statements, lines, payments]) await model.collection.deleteMany({});
  });
  after(() => api.close());

  const tokenOf = (symbol: string) => {
    const token = chain.deployment.tokens.find((known) => known.symbol === symbol);
    assert.ok(token !== undefined);
    return token;
  };

  /** Stores an agent's statement of a month in a token; returns its id. */
  async function stored(agent: TestAgent, month: string, symbol: string, rebate: bigint): Promise<string> {
    const wallet = agent.walletAddress.toLowerCase() as `0x${string}`;
    const { address, decimals } = tokenOf(symbol);
    const token = address.toLowerCase() as `0x${string}`;
    const record: StatementRecord = {
      _id: statementIdOf("base", month, wallet, token),
      network: "base",
      month,
      wallet,
      token,
      tokenSymbol: symbol,
      tokenDecimals: decimals,
      tier: "Growth",
      effectiveRateBps: 150,
      windowStart: "2026-09-01T00:00:00.000Z",
      windowEnd: "2026-10-01T00:00:00.000Z",
      settledVolumeUsdUnits: "100000000000",
      block: { number: 1, hash: BYTES32 },
      settlementCount: 3,
      settlementsHash: BYTES32,
      fee: String(4n * rebate),
      rebate: String(rebate),
      hash: BYTES32,
      isPayable: rebate > 0n,
      createdAt: new Date(),
    };
    await api.container.features.fees.models.statements.create([record]);
    return record._id;
  }

  /** The entries of a list, page by page. */
  async function paged(path: string, limit: number, { apiKey }: TestAgent = seller): Promise<any[][]> {
    const pages: any[][] = [];
    for (let cursor: string | null = ""; cursor !== null && pages.length < 10;) {
      const query = `?limit=${limit}${cursor === "" ? "" : `&cursor=${cursor}`}`;
      const { status, body, text } = await api.request("GET", `${path}${query}`, { key: apiKey });
      assert.strictEqual(status, 200, text);
      pages.push(body.data);
      cursor = body.nextCursor;
    }
    return pages;
  }

  it("[D22] [D23] are listed to their seller alone, newest month first, and none is lost or repeated between pages", async () => {
    const months = ["2026-07", "2026-08", MONTH];
    for (const month of months) for (const symbol of ["USDC", "WETH"]) await stored(seller, month, symbol, REBATE);
    const other = await stored(stranger, MONTH, "USDC", REBATE);
    for (const limit of [1, 2, 4, 6]) {
      const pages = await paged(PATH, limit);
      const found = pages.flat().map(({ month, token }) => `${month} ${token.symbol}`);
      assert.sameMembers(
        found,
        months.flatMap((month) => [`${month} USDC`, `${month} WETH`]),
        `${limit} a page`,
      );
      assert.deepEqual(
        found.map((name) => name.slice(0, MONTH.length)),
        [MONTH, MONTH, "2026-08", "2026-08", "2026-07", "2026-07"],
      );
      assert.lengthOf(pages, Math.ceil(found.length / limit));
    }
    assert.deepEqual(
      (await paged(PATH, 1, stranger)).flat().map(({ statementId }) => statementId as string),
      [other],
    );
  });

  it("[D22] [D23] show their settlements to their seller alone, in pages", async () => {
    const statementId = await stored(seller, MONTH, "USDC", REBATE);
    const escrowIds = [1, 2, 3].map((n) => `0x${String(n).repeat(64)}` as const);
    const lines = escrowIds.map((escrowId, position): StatementLineRecord => ({
      _id: `${statementId}|${position}`,
      statementId,
      position,
      escrowId,
      settledAt: "2026-09-10T00:00:00.000Z",
      amount: "10",
      fee: "1",
      locked: "9",
      sellerAmount: "9",
      valueUsdUnits: "10",
      volumeUsdUnits: "10",
      countedFee: "1",
    }));
    await api.container.features.fees.models.lines.insertMany(lines);
    const path = `${PATH}/${statementId}/settlements`;
    for (const limit of [1, 2, 3]) {
      const pages = await paged(path, limit);
      assert.deepEqual(
        pages.flat().map(({ escrowId }) => escrowId as string),
        escrowIds,
      );
      assert.lengthOf(pages, Math.ceil(lines.length / limit));
    }
    assertError(await api.request("GET", path, { key: stranger.apiKey }), 404, "not_found");
  });

  describe("are paid", () => {
    const payerKey = generatePrivateKey();
    const payer = privateKeyToAccount(payerKey);
    const log = createLogger({ level: "silent", name: "test" });
    before(() => chain.endow(payer, { usdc: 10n * REBATE }));

    /** As each run of the command does. */
    async function pay(): Promise<void> {
      const payments = rebatePayments(api.container.connection, {
        rpcUrl: chain.rpcUrl,
        log,
        now: () => new Date(),
        processId: "test",
        confirmations: 1,
      });
      await payments.takeTurn();
      try {
        await payments.pay(MONTH, payerKey);
      } finally {
        await payments.release();
      }
    }
    const statesOf = async (agent: TestAgent) =>
      (await paged(PATH, 10, agent)).flat().map(({ payment }) => payment.state as string);
    const transfers = () => chain.client.getTransactionCount({ address: payer.address });

    it("[D22] if they have a rebate, once however often the command runs", async () => {
      await stored(seller, MONTH, "USDC", REBATE);
      await stored(stranger, MONTH, "USDC", 0n);
      const before = await transfers();
      await pay();
      await pay();
      assert.strictEqual(await transfers(), before + 1);
      assert.deepEqual([await chain.usdcOf(seller.walletAddress), await statesOf(seller)], [REBATE, ["paid"]]);
      assert.deepEqual([await chain.usdcOf(stranger.walletAddress), await statesOf(stranger)], [0n, ["none"]]);
    });

    it("[D22] not again if an earlier transfer of theirs is on chain, whatever became of its nonce", async () => {
      const _id = await stored(seller, MONTH, "USDC", REBATE);
      await pay();
      const { payments } = api.container.features.fees.models;
      const { attempts } = await payments.findById(_id).lean().orFail();
      assert.lengthOf(attempts, 1);
      // As after a reorganisation that moved the transfer behind another use of its nonce: nothing is in flight any more.
      await payments.updateOne(
        { _id },
        { $set: { state: "queued", dueAt: new Date() }, $unset: { from: 1, nonce: 1, txHash: 1, blockNumber: 1 } },
      );
      const before = await transfers();
      await pay();
      assert.strictEqual(await transfers(), before);
      assert.deepEqual([await chain.usdcOf(seller.walletAddress), await statesOf(seller)], [REBATE, ["paid"]]);
      assert.strictEqual((await payments.findById(_id).lean())?.txHash, attempts[0]?.hash);
    });
  });
});
