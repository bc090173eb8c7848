// What happens to signed transactions: dropped, too cheap, overtaken, reorganised, sent by two processes, lost on the way.
import { assert } from "chai";
import { createWalletClient, http, parseGwei } from "viem";
import type { Hash } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { escrowAbi } from "../../../../api/chain/abis.ts";
import { ChainUnavailableError } from "../../../../api/chain/errors.ts";
import { doorTo } from "../../../fixtures/outage.ts";
import { CONFIRMATIONS, NETWORK, RulingBench } from "../../../fixtures/rulings.ts";
import { until } from "../../../fixtures/until.ts";

const MINUTE_MS = 60_000;

describe("a ruling's transaction", () => {
  let bench: RulingBench;
  let aheadMs: number;
  const now = () => new Date(Date.now() + aheadMs);

  beforeEach(async () => {
    aheadMs = 0;
    bench = await RulingBench.open();
  });
  afterEach(async () => {
    await bench.close();
  });

  const manually = () => bench.chain.client.setAutomine(false);
  const hashesOf = ({ attempts }: { attempts: { hash: Hash }[] }) => attempts.map(({ hash }) => hash);
  const isPooled = (hash: Hash) =>
    bench.chain.client.getTransaction({ hash }).then(
      (transaction) => (transaction.blockNumber as bigint | null) === null,
      () => false,
    );

  async function assertOneResolution(ruling: { escrowId: `0x${string}`; rationaleHash: string }, txHash?: Hash) {
    const [resolution, ...others] = await bench.chain.resolutionsOf(ruling.escrowId);
    assert.deepEqual(others, []);
    assert.strictEqual(resolution?.rationaleHash, ruling.rationaleHash);
    if (txHash !== undefined) assert.strictEqual(resolution?.txHash, txHash);
  }

  /** A ruling whose transaction waits for a block. */
  async function pending(sender = bench.sender({ now })) {
    const ruling = await bench.ruled();
    await manually();
    await sender.step(NETWORK);
    const [hash] = hashesOf(await bench.record(ruling));
    assert.ok(hash !== undefined && (await isPooled(hash)));
    return { ruling, hash, sender };
  }

  it("that the node dropped is sent again unchanged", async () => {
    const { ruling, hash, sender } = await pending();
    await bench.chain.client.dropTransaction({ hash });
    assert.isFalse(await isPooled(hash));
    await sender.step(NETWORK);
    assert.isTrue(await isPooled(hash));
    const final = await bench.finish(ruling, sender);
    assert.deepEqual([hashesOf(final), final.txHash], [[hash], hash]);
    await assertOneResolution(ruling, hash);
  });

  /** Raises the base fee above what the transaction offers, and lets a minute pass. */
  async function tooCheap() {
    await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("20") });
    await bench.chain.mine();
    aheadMs += MINUTE_MS + 1;
  }

  it("that is too cheap is replaced by one with the same nonce and both fees at least 12.5% higher", async () => {
    const { ruling, hash, sender } = await pending();
    await tooCheap();
    await sender.step(NETWORK);
    const [first, second, ...others] = (await bench.record(ruling)).attempts;
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(others, []);
    assert.deepEqual([first.hash, second.nonce], [hash, first.nonce]);
    for (const fee of ["maxFeePerGas", "maxPriorityFeePerGas"] as const) {
      assert.isTrue(BigInt(second[fee]) * 8n >= BigInt(first[fee]) * 9n, fee);
    }
    assert.strictEqual((await bench.finish(ruling, sender)).txHash, second.hash);
    await assertOneResolution(ruling, second.hash);
  });

  it("may be mined though a dearer one was sent after it", async () => {
    const { ruling, hash, sender } = await pending();
    await tooCheap();
    await sender.step(NETWORK);
    const record = await bench.record(ruling);
    const [first, second] = record.attempts;
    assert.ok(first !== undefined && second !== undefined);
    await bench.chain.client.dropTransaction({ hash: second.hash });
    await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1n });
    await bench.chain.client.sendRawTransaction({ serializedTransaction: first.raw });
    await bench.chain.mine();
    assert.strictEqual((await bench.finish(ruling, sender)).txHash, hash);
    await assertOneResolution(ruling, hash);
  });

  it("never offers more than the cap, and is mined once the market falls", async () => {
    const { ruling, hash } = await pending();
    const sender = bench.sender({ now, timings: { feeCapMultiple: 1 } });
    await tooCheap();
    await sender.step(NETWORK);
    const held = await bench.record(ruling);
    assert.deepEqual([held.state, held.problem, hashesOf(held)], ["held", "fee_cap", [hash]]);
    await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: 1n });
    assert.strictEqual((await bench.finish(ruling, sender)).txHash, hash);
  });

  it("whose nonce another transaction of the key has used gets a new one, only after enough blocks", async () => {
    const { ruling, hash, sender } = await pending();
    const account = privateKeyToAccount(bench.chain.keyOf("system"));
    const { nonce = -1 } = await bench.record(ruling);
    const wallet = createWalletClient({
      account,
      chain: bench.chain.client.chain,
      transport: http(bench.chain.rpcUrl),
    });
    const fees = { maxFeePerGas: parseGwei("90"), maxPriorityFeePerGas: parseGwei("80") };
    await wallet.sendTransaction({ to: account.address, nonce, ...fees });
    for (let block = 1; block <= CONFIRMATIONS; block += 1) {
      await bench.chain.mine();
      await sender.step(NETWORK);
      const record = await bench.record(ruling);
      assert.deepEqual([record.state, record.problem, hashesOf(record)], ["held", "nonce_taken", [hash]]);
    }
    const final = await bench.finish(ruling, sender);
    assert.deepEqual(
      final.attempts.map((attempt) => attempt.nonce),
      [nonce, nonce + 1],
    );
    await assertOneResolution(ruling, final.attempts[1]?.hash);
  });

  it("that waits for a nonce that nobody uses is reported, and mined once somebody does", async () => {
    const account = privateKeyToAccount(bench.chain.keyOf("system"));
    const { ruling, sender } = await pending();
    await bench.chain.mine();
    await sender.step(NETWORK);
    assert.strictEqual((await bench.record(ruling)).state, "mined");
    // An earlier transaction that only another program knows is lost in a reorganisation.
    const nonce = await bench.chain.client.getTransactionCount({ address: account.address });
    await bench.chain.client.setNonce({ address: account.address, nonce: nonce + 1 });
    await bench.chain.client.setAutomine(true);
    const next = await bench.ruling();
    await manually();
    await bench.put(next);
    await sender.step(NETWORK);
    await bench.chain.client.setNonce({ address: account.address, nonce });
    await until("the gap is noticed", async () => {
      await sender.step(NETWORK);
      return (await bench.record(next)).problem === "nonce_gap";
    });
    await bench.chain.client.setNonce({ address: account.address, nonce: nonce + 1 });
    await bench.finish(next, sender);
    await assertOneResolution(next);
  });

  it("that a reorganisation removed is sent again unchanged, even if it is old", async () => {
    const sender = bench.sender({ now });
    const ruling = await bench.ruled();
    await sender.step(NETWORK);
    await sender.step(NETWORK);
    const mined = await bench.record(ruling);
    assert.strictEqual(mined.state, "mined");
    await manually();
    await bench.chain.reorganise(1);
    await bench.chain.mine();
    aheadMs += MINUTE_MS + 1;
    assert.strictEqual(await bench.chain.escrowState(ruling.escrowId), 5);
    await sender.step(NETWORK);
    const again = await bench.record(ruling);
    assert.deepEqual([again.state, again.txHash, hashesOf(again)], ["sending", undefined, hashesOf(mined)]);
    assert.strictEqual((await bench.finish(ruling, sender)).txHash, mined.txHash);
    await assertOneResolution(ruling, mined.txHash);
  });

  it("waits if a reorganisation removed the dispute too, until that is open again", async () => {
    const sender = bench.sender();
    const dispute = await bench.chain.openDispute();
    const ruling = await bench.ruled({ escrowId: dispute.escrowId });
    await sender.step(NETWORK);
    await sender.step(NETWORK);
    const mined = await bench.record(ruling);
    await bench.chain.reorganise(2);
    await sender.step(NETWORK);
    const held = await bench.record(ruling);
    assert.deepEqual([held.state, held.problem, held.inFlight], ["held", "not_disputed", true]);
    assert.isFalse(await isPooled(hashesOf(mined)[0] ?? "0x"));
    await bench.chain.disputeAgain(dispute);
    assert.strictEqual((await bench.finish(ruling, sender)).txHash, mined.txHash);
    await assertOneResolution(ruling, mined.txHash);
  });

  it("whose dispute is gone is sent all the same if later nonces wait for it, and signed again afterwards", async () => {
    const sender = bench.sender();
    const [first, second] = [await bench.chain.openDispute(), await bench.chain.openDispute()];
    const rulings = [
      await bench.ruled({ escrowId: first.escrowId }),
      await bench.ruled({ escrowId: second.escrowId }),
    ] as const;
    await sender.step(NETWORK);
    await sender.step(NETWORK);
    // Both rulings and the second dispute are removed; the ruling of the first has the lower nonce.
    await manually();
    await bench.chain.reorganise(3);
    const order = (await Promise.all(rulings.map((ruling) => bench.record(ruling)))).map(({ nonce = -1 }) => nonce);
    assert.isBelow(order[0] ?? 0, order[1] ?? 0);
    await sender.step(NETWORK);
    assert.strictEqual((await bench.record(rulings[1])).problem, "not_disputed");
    await bench.chain.client.setAutomine(true);
    await bench.chain.disputeAgain(second);
    for (const ruling of rulings) {
      await bench.finish(ruling, sender);
      await assertOneResolution(ruling);
    }
  });

  it("is one for each dispute, with consecutive nonces, when two senders work at once", async () => {
    const rulings = [];
    for (let index = 0; index < 6; index += 1) rulings.push(await bench.ruling());
    const senders = ["one", "another"].map((processId) => bench.sender({ processId, timings: { leaseMs: 0 } }));
    await Promise.all(rulings.map((ruling) => bench.put(ruling)));
    for (let round = 0; round < 4; round += 1) {
      await Promise.all(senders.map((sender) => sender.step(NETWORK)));
      await bench.chain.mine();
    }
    const records = [];
    for (const ruling of rulings) {
      records.push(await bench.finish(ruling, senders[0]));
      await assertOneResolution(ruling);
    }
    const nonces = records.flatMap(({ attempts }) => attempts.map(({ nonce }) => nonce)).sort((a, b) => a - b);
    assert.deepEqual(
      nonces.map((nonce) => nonce - (nonces[0] ?? 0)),
      [0, 1, 2, 3, 4, 5],
    );
  });

  it("isn't signed while as many as allowed wait for a block", async () => {
    const rulings = [await bench.ruled(), await bench.ruled(), await bench.ruled()];
    await manually();
    const sender = bench.sender({ timings: { maxInFlight: 2 } });
    await sender.step(NETWORK);
    await sender.step(NETWORK);
    const records = await Promise.all(rulings.map((ruling) => bench.record(ruling)));
    assert.deepEqual(records.map(({ state }) => state).sort(), ["queued", "sending", "sending"]);
    for (const ruling of rulings) await bench.finish(ruling, sender);
  });

  it("is recognised on chain if the node's answer to it was lost", async () => {
    const door = await doorTo(bench.chain.rpcUrl);
    try {
      const sender = bench.sender({ rpcUrl: door.url });
      const ruling = await bench.ruled();
      door.translate = (request, answer) => {
        if (JSON.stringify(request).includes("eth_sendRawTransaction")) throw new Error("the answer is lost");
        return answer;
      };
      await assert.isRejected(sender.step(NETWORK), ChainUnavailableError);
      delete door.translate;
      assert.lengthOf((await bench.finish(ruling, sender)).attempts, 1);
      await assertOneResolution(ruling);
    } finally {
      await door.close();
    }
  });

  it("waits out an unreachable chain without losing or changing anything", async () => {
    const door = await doorTo(bench.chain.rpcUrl);
    try {
      const sender = bench.sender({ rpcUrl: door.url });
      const ruling = await bench.ruled();
      const before = await bench.record(ruling);
      door.isOpen = false;
      await assert.isRejected(sender.step(NETWORK), ChainUnavailableError);
      assert.deepEqual(await bench.record(ruling), before);
      door.isOpen = true;
      await bench.finish(ruling, sender);
    } finally {
      await door.close();
    }
  });

  it("is sent by a loop, which waits out an unreachable chain and hands its lease over at the end", async () => {
    const door = await doorTo(bench.chain.rpcUrl);
    const ending = new AbortController();
    const timings = { leaseMs: 60_000, pollMs: 20, retryMinMs: 20, retryMaxMs: 20 };
    const sender = bench.sender({ rpcUrl: door.url, processId: "loop", timings });
    const ruling = await bench.ruled();
    door.isOpen = false;
    const running = Promise.all(sender.loops.map((loop) => loop.run(ending.signal)));
    try {
      await until("the loop has met the outage", async () => (await bench.leaseHolder()) === "loop");
      door.isOpen = true;
      await until("the ruling is final", async () => {
        await bench.chain.mine();
        return (await bench.record(ruling)).state === "final";
      });
      await assertOneResolution(ruling);
    } finally {
      ending.abort();
      await running;
      await door.close();
    }
    // Another process needn't wait for the end of the lease.
    const next = await bench.ruled();
    await bench.finish(next, bench.sender({ processId: "successor", timings }));
  });

  it("has gas enough for both payouts and the scores", async () => {
    const ruling = await bench.ruled({ outcome: "Split", buyerPercent: 50 });
    const { txHash, attempts } = await bench.finish(ruling);
    const receipt = await bench.chain.client.getTransactionReceipt({ hash: txHash ?? "0x" });
    assert.isAbove(Number(attempts[0]?.gas), Number(receipt.gasUsed));
    const failures = await bench.chain.client.getContractEvents({
      address: bench.chain.deployment.escrow,
      abi: escrowAbi,
      eventName: "ScoreUpdateFailed",
      args: { escrowId: ruling.escrowId },
      fromBlock: 0n,
    });
    assert.deepEqual(failures, []);
    if (process.env["TEST_LOG_LEVEL"] !== undefined) console.log({ gas: attempts[0]?.gas, used: receipt.gasUsed });
  });
});
