// The copies of escrows and scores beside the contracts (decision 15): real deals, whose copies the tests then change.
import { assert } from "chai";

import { createLogger } from "../../../api/lib/logger.ts";
import { reconciliationModule } from "../../../api/features/reconciliation/module.ts";
import { recheckQueueOf } from "../../../api/features/chain-follower/module.ts";
import type { ReconciliationModuleDeps } from "../../../api/features/reconciliation/module.ts";
import type { TransactionRecord } from "../../../api/features/transactions/model.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const NETWORK = "base-sepolia";
/** The level of error lines. */
const ERROR = 50;

interface LogLine {
  level: number;
  msg: string;
  kind?: string;
  subject?: string;
  fields?: { field: string; copy: string | null; contract: string | null }[];
  subgraph?: Record<string, unknown>;
}

/** A logger whose lines a test reads. */
function readableLog() {
  const lines: LogLine[] = [];
  const destination = { write: (line: string) => lines.push(JSON.parse(line) as LogLine) };
  return { lines, log: createLogger({ level: "info", name: "test", destination }) };
}

describe("the daily comparison of copies with the contracts", () => {
  let api: TestApi;
  let market: Market;
  before(async () => {
    // Every run is due. A second look is due when a test says so: other tests' deals on the chain aren't its business.
    api = await startTestApi({ runsLoops: true, timings: { reconcileEveryMs: 0 } });
    market = await openMarket(api, await openChain(NETWORK));
  });
  after(() => api.close());

  const transactions = () => api.container.features.transactions.models.transactions;
  const models = () => api.container.features.reconciliation.models;
  const standings = () => api.container.features.agents.models.standings;
  const copyOf = async (transactionId: string) => {
    const record = await transactions().findById(transactionId).lean<TransactionRecord | null>();
    assert.ok(record !== null);
    return record;
  };
  /** Waits until the follower has come to a copy's status and has nothing more to apply. */
  const settled = (transactionId: string, status: string) =>
    until(`the copy is ${status}`, async () => (await copyOf(transactionId)).status === status);
  const differencesOf = (subject: string) => models().differences.find({ subject }).lean();
  /** Compares once, with a second look at what is known of a subject; returns the errors about it. */
  const run = async (subject: string) => {
    await models().differences.updateMany({ subject, isOpen: true }, { checkAt: new Date(0) });
    const { lines, log } = readableLog();
    await api.container.features.reconciliation.networks[NETWORK].run(log);
    return errorsOf(lines, subject);
  };
  const errorsOf = (lines: LogLine[], about: string) =>
    lines.filter(({ msg, subject }) => msg === "a copy differs from its contract" && subject === about);
  /** Runs until a difference is open no more, as the job does; the follower reads the copy again in between. */
  const repaired = (subject: string) =>
    until("the copy is repaired", async () => {
      await run(subject);
      return (await models().differences.exists({ subject, state: "repaired" })) !== null;
    });
  const gauge = async (name: string, kind: string) => {
    const { body } = await api.container.metrics.text();
    const line = body.split("\n").find((text) => text.startsWith(`${name}{network="${NETWORK}",kind="${kind}"}`));
    return Number(line?.split(" ").at(-1));
  };

  async function delivered(): Promise<string> {
    const { transactionId } = await fundedDeal(market);
    await deliverDeal(market, transactionId);
    await settled(transactionId, "delivered");
    return transactionId;
  }
  async function released(): Promise<string> {
    const transactionId = await delivered();
    await act(api, market.chain, market.buyer, transactionId, "accept");
    await settled(transactionId, "released");
    return transactionId;
  }

  /** Waits until the seller's last score is copied, and returns it. */
  async function scoreIsCopied(): Promise<number> {
    const { walletAddress } = market.seller;
    const score = Number(await api.container.chains[NETWORK].scoreOf(walletAddress));
    const _id = `${NETWORK}:${walletAddress.toLowerCase()}`;
    const isCopied = async () => (await standings().findById(_id).lean())?.score === score;
    await until("the score of the last deal is copied", isCopied);
    return score;
  }

  afterEach(async () => {
    await models().differences.deleteMany({});
  });

  it("[D15] finds nothing where every copy is what the chain says, in every state", async () => {
    const { transactionId: pending } = await checkOut(market);
    const funded = (await fundedDeal(market)).transactionId;
    await settled(funded, "funded");
    const disputed = await delivered();
    await act(api, market.chain, market.buyer, disputed, "openDispute");
    await settled(disputed, "disputed");
    const refunded = (await fundedDeal(market)).transactionId;
    await act(api, market.chain, market.seller, refunded, "refund");
    await settled(refunded, "refunded");
    const wallet = market.seller.walletAddress.toLowerCase();
    const all = [pending, funded, await delivered(), disputed, await released(), refunded, wallet];
    await scoreIsCopied();
    for (const subject of all) assert.deepEqual(await run(subject), []);
    for (const subject of all) assert.deepEqual(await differencesOf(subject), []);
    const { value: pass } = await models().passes[NETWORK].read();
    assert.strictEqual(pass?.running, null);
    assert.isAtLeast(pass?.finished?.escrows ?? 0, 6);
    assert.isAtLeast(pass?.finished?.scores ?? 0, 2);
  });

  it("[D15] has a wrong copy of an open escrow read again, after a second look and with both sides in the log", async () => {
    const transactionId = await delivered();
    const right = await copyOf(transactionId);
    await transactions().updateOne(
      { _id: transactionId },
      { $set: { status: "funded", "escrow.state": "Funded", "escrow.deliveredAt": null } },
    );
    assert.deepEqual(await run(transactionId), [], "it may only be late");
    const before = await gauge("reconciliation_differences_total", "escrow");
    const [error, ...others] = await run(transactionId);
    assert.deepEqual([error?.level, error?.subject, others.length], [ERROR, transactionId, 0]);
    assert.deepEqual(error?.fields, [
      { field: "status", copy: "funded", contract: "delivered" },
      { field: "state", copy: "Funded", contract: "Delivered" },
      { field: "deliveredAt", copy: null, contract: String(right.escrow?.deliveredAt) },
    ]);
    assert.deepInclude(error?.subgraph, { state: "Delivered", deliveredAt: right.escrow?.deliveredAt });
    assert.strictEqual(await gauge("reconciliation_differences_total", "escrow"), before + 1);
    await repaired(transactionId);
    const { updatedAt, ...copy } = await copyOf(transactionId);
    const { updatedAt: updatedBefore, ...expected } = right;
    assert.deepEqual(copy, expected);
    assert.isAbove(updatedAt.getTime(), updatedBefore.getTime());
    assert.strictEqual(await gauge("reconciliation_differences", "escrow"), 0);
    assert.strictEqual(await gauge("reconciliation_differences_total", "escrow"), before + 1);
  });

  it("[D15] finds a closed escrow whose copy is still open, and an open one whose copy is closed", async () => {
    const [closed, open] = [await released(), await delivered()];
    await transactions().updateOne({ _id: closed }, { $set: { status: "delivered", "escrow.state": "Delivered" } });
    await transactions().updateOne({ _id: open }, { $set: { status: "released", "escrow.state": "Released" } });
    await Promise.all([repaired(closed), repaired(open)]);
    assert.strictEqual((await copyOf(closed)).status, "released");
    assert.strictEqual((await copyOf(open)).status, "delivered");
  });

  it("[D15] finds an escrow that its copy lacks, and a copy of an escrow that isn't on chain", async () => {
    const lacking = await delivered();
    const right = await copyOf(lacking);
    await transactions().updateOne({ _id: lacking }, { $set: { status: "pending_funding", escrow: null } });
    const { transactionId: invented } = await checkOut(market);
    await transactions().updateOne({ _id: invented }, { $set: { status: "delivered", escrow: right.escrow } });
    await Promise.all([repaired(lacking), repaired(invented)]);
    assert.deepEqual((await copyOf(lacking)).escrow, right.escrow);
    assert.include(await copyOf(invented), { status: "pending_funding", escrow: null });
  });

  it("[D15] a copy that was only late leaves nothing behind", async () => {
    const transactionId = await delivered();
    await transactions().updateOne({ _id: transactionId }, { $set: { status: "funded", "escrow.state": "Funded" } });
    await run(transactionId);
    assert.deepEqual(
      (await differencesOf(transactionId)).map(({ state }) => state),
      ["suspected"],
    );
    await transactions().updateOne(
      { _id: transactionId },
      { $set: { status: "delivered", "escrow.state": "Delivered" } },
    );
    assert.deepEqual(await run(transactionId), []);
    assert.deepEqual(await differencesOf(transactionId), []);
  });

  it("[D20] has a wrong copy of a score read again", async () => {
    await released();
    const wallet = market.seller.walletAddress.toLowerCase();
    const _id = `${NETWORK}:${wallet}`;
    const score = await scoreIsCopied();
    await standings().updateOne({ _id }, { $inc: { score: 7 } });
    await run(wallet);
    const [error] = await run(wallet);
    assert.deepEqual([error?.kind, error?.subject], ["score", wallet]);
    assert.deepEqual(error?.fields, [{ field: "score", copy: String(score + 7), contract: String(score) }]);
    await repaired(wallet);
    assert.strictEqual((await standings().findById(_id).lean())?.score, score);
    assert.strictEqual(await gauge("reconciliation_differences_total", "score"), 1);
  });

  describe("if the subgraph is what differs", () => {
    it("[D15] the difference stays, is looked at less and less often, and the log shows all three sides", async () => {
      const transactionId = await delivered();
      const { container } = api;
      const { escrowId } = await copyOf(transactionId);
      const { [NETWORK]: chain } = container.chains;
      await container.connection.collection("stored_states").deleteMany({ _id: `reconciliation:${NETWORK}` as never });
      let clock = new Date();
      // A contract that says something else about this escrow.
      const otherwise: ReconciliationModuleDeps["chains"][typeof NETWORK] = {
        head: () => chain.head(),
        scoreAt: (wallet, block) => chain.scoreAt(wallet, block),
        escrowAt: async (id, block) => {
          const escrow = await chain.escrowAt(id, block);
          return id === escrowId && escrow !== null ? { ...escrow, state: 5, disputedAt: 1n } : escrow;
        },
      };
      const parts = reconciliationModule.create({
        ...container,
        chains: { ...container.chains, [NETWORK]: otherwise },
        transactions: transactions(),
        standings: standings(),
        progress: { reached: async () => new Map([[NETWORK, (await chain.head()).number]]) },
        rechecks: { ...recheckQueueOf(container.connection), request: () => Promise.resolve() },
        syncScores: () => Promise.resolve(),
        metrics: { addGauge: () => undefined },
        now: () => clock,
        timings: { reconcileEveryMs: 86_400_000, recheckAfterMs: 60_000 },
      });
      const pauses: number[] = [];
      for (let look = 0; look < 9; look += 1) {
        const { lines, log } = readableLog();
        await parts.networks[NETWORK].run(log);
        const [error] = errorsOf(lines, transactionId);
        if (look > 0) {
          assert.deepEqual(error?.fields, [
            { field: "status", copy: "delivered", contract: "disputed" },
            { field: "state", copy: "Delivered", contract: "Disputed" },
            { field: "disputedAt", copy: null, contract: "1" },
          ]);
          assert.deepInclude(error?.subgraph, { state: "Delivered", disputedAt: null });
        }
        const open = await models().differences.findOne({ subject: transactionId, isOpen: true }).lean();
        assert.strictEqual(open?.state, look === 0 ? "suspected" : "found");
        pauses.push((open?.checkAt.getTime() ?? 0) - clock.getTime());
        clock = open?.checkAt ?? clock;
      }
      assert.deepEqual(
        pauses,
        [1, 2, 4, 8, 16, 32, 60, 60, 60].map((minutes) => minutes * 60_000),
      );
    });
  });
});
