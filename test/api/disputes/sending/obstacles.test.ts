// What keeps a ruling off the chain: the contract's errors, missing keys and empty wallets, and other resolutions.
import { assert } from "chai";
import { parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";

import { withTransaction } from "../../../../api/db/connection.ts";
import { CONFIRMATIONS, NETWORK, RulingBench } from "../../../fixtures/rulings.ts";

const SYSTEM = 0;
const ZERO_HASH = `0x${"00".repeat(32)}` as const;
const OTHER_HASH = `0x${"77".repeat(32)}` as const;

describe("a ruling with an obstacle", () => {
  let bench: RulingBench;

  beforeEach(async () => {
    bench = await RulingBench.open();
  });
  afterEach(async () => {
    await bench.close();
  });

  /** Steps once and expects the ruling to be held, with nothing signed. */
  async function assertHeld(ruling: { disputeId: string }, problem: string, sender = bench.sender()): Promise<void> {
    await sender.step(NETWORK);
    const record = await bench.record(ruling);
    assert.deepEqual([record.state, record.problem], ["held", problem], record.detail ?? "");
    assert.deepEqual(record.attempts, []);
    assert.isFalse(record.inFlight);
    assert.strictEqual((await sender.readStates([ruling.disputeId])).get(ruling.disputeId)?.problem, problem);
    const { count, problems } = await sender.waiting(NETWORK);
    assert.deepEqual([count, problems], [1, { [problem]: 1 }]);
  }

  async function assertOneResolution(escrowId: `0x${string}`, rationaleHash: string): Promise<void> {
    const resolutions = await bench.chain.resolutionsOf(escrowId);
    assert.deepEqual(
      resolutions.map((resolution) => resolution.rationaleHash),
      [rationaleHash],
    );
  }

  it("waits while rulings are paused, and is made once they aren't [D14]", async () => {
    const ruling = await bench.ruled();
    await bench.chain.sendAs("pauser", "pauseRulings");
    await assertHeld(ruling, "rulings_paused");
    await bench.chain.sendAs("pauser", "unpauseRulings");
    await bench.finish(ruling);
    await assertOneResolution(ruling.escrowId, ruling.rationaleHash);
  });

  it("waits with a key that never was a resolver, or that was revoked", async () => {
    const ruling = await bench.ruled();
    const stranger = { system: generatePrivateKey(), admin: undefined };
    await assertHeld(ruling, "not_resolver", bench.sender({ keys: stranger }));
    await bench.chain.sendAs("owner", "revokeResolver", [SYSTEM, privateKeyToAddress(bench.chain.keyOf("system"))]);
    await assertHeld(ruling, "not_resolver");
  });

  it("waits with the key of a later tenure, and is made with the one of its own [D14]", async () => {
    const ruling = await bench.ruled();
    const successor = generatePrivateKey();
    await bench.chain.sendAs("owner", "transferResolver", [SYSTEM, privateKeyToAddress(successor)]);
    await bench.chain.acceptAs(successor, SYSTEM);
    await assertHeld(ruling, "outside_tenure", bench.sender({ keys: { system: successor, admin: undefined } }));
    await bench.finish(ruling);
    await assertOneResolution(ruling.escrowId, ruling.rationaleHash);
  });

  it("waits if the resolver's wallet is a party [D8]", async () => {
    const buyer = privateKeyToAccount(bench.chain.keyOf("system"));
    const { escrowId } = await bench.chain.openDispute(buyer);
    await assertHeld(await bench.ruled({ escrowId }), "resolver_is_party");
  });

  it("waits if the chain knows no such dispute", async () => {
    await assertHeld(await bench.ruled({ escrowId: OTHER_HASH }), "not_disputed");
  });

  it("waits if the contract rejects its percentages, or if it has no hash", async () => {
    const percentages = await bench.ruled({ role: "admin", outcome: "BuyerRefund", buyerPercent: 30 });
    await assertHeld(percentages, "invalid_ruling");
    await bench.connection.collection("ruling_transactions").deleteMany({});
    await assertHeld(await bench.ruled({ rationaleHash: ZERO_HASH }), "invalid_ruling");
  });

  it("waits without a key, and is made once there is one", async () => {
    const ruling = await bench.ruled();
    await assertHeld(ruling, "no_key", bench.sender({ keys: { system: undefined, admin: undefined } }));
    await bench.finish(ruling);
  });

  it("waits without ether, and is made once there is some", async () => {
    const ruling = await bench.ruled();
    const address = privateKeyToAddress(bench.chain.keyOf("system"));
    await bench.chain.client.setBalance({ address, value: 1n });
    await assertHeld(ruling, "no_ether");
    await bench.chain.client.setBalance({ address, value: parseEther("1") });
    await bench.finish(ruling);
  });

  it("is superseded by another resolution, and revived if a reorganisation removes that", async () => {
    const ruling = await bench.ruled();
    const txHash = await bench.chain.sendAs("admin", "resolveByAdmin", [ruling.escrowId, 2, 30n, 70n, OTHER_HASH]);
    await bench.sender().step(NETWORK);
    const superseded = await bench.record(ruling);
    assert.deepEqual([superseded.state, superseded.txHash], ["superseded", txHash]);
    await bench.chain.reorganise(1);
    await bench.finish(ruling);
    await assertOneResolution(ruling.escrowId, ruling.rationaleHash);
  });

  it("stays superseded once enough blocks follow, and isn't looked at any more", async () => {
    const ruling = await bench.ruled();
    await bench.chain.sendAs("admin", "resolveByAdmin", [ruling.escrowId, 2, 30n, 70n, OTHER_HASH]);
    await bench.chain.mine(CONFIRMATIONS);
    await bench.sender().step(NETWORK);
    const { state, dueAt, attempts } = await bench.record(ruling);
    assert.deepEqual([state, dueAt, attempts], ["superseded", undefined, []]);
    await assertOneResolution(ruling.escrowId, OTHER_HASH);
  });

  it("counts as made if the same ruling is on chain by a transaction that isn't stored", async () => {
    const ruling = await bench.ruled();
    const args = [ruling.escrowId, 0, ruling.rationaleHash];
    const txHash = await bench.chain.sendAs("system", "resolveBySystem", args);
    assert.strictEqual((await bench.finish(ruling)).txHash, txHash);
  });

  it("that was mined and reverted gets another nonce, only after enough blocks", async () => {
    const { client } = bench.chain;
    const sender = bench.sender();
    const ruling = await bench.ruled();
    await client.setAutomine(false);
    await sender.step(NETWORK);
    await bench.chain.queueAs("pauser", "pauseRulings");
    await client.mine({ blocks: 1 });
    await sender.step(NETWORK);
    const reverted = await bench.record(ruling);
    assert.deepEqual([reverted.state, reverted.problem], ["held", "reverted"], reverted.detail ?? "");
    await client.setAutomine(true);
    await bench.chain.sendAs("pauser", "unpauseRulings");
    await sender.step(NETWORK);
    assert.lengthOf((await bench.record(ruling)).attempts, 1);
    const { attempts, reverts } = await bench.finish(ruling, sender);
    assert.deepEqual(
      attempts.map(({ nonce }) => nonce - (reverted.attempts[0]?.nonce ?? 0)),
      [0, 1],
    );
    assert.strictEqual(reverts, 1);
    await assertOneResolution(ruling.escrowId, ruling.rationaleHash);
  });

  it("whose transaction reverts behind another resolution is superseded", async () => {
    const { client } = bench.chain;
    const sender = bench.sender();
    const ruling = await bench.ruled();
    await client.setAutomine(false);
    await sender.step(NETWORK);
    await bench.chain.queueAs("admin", "resolveByAdmin", [ruling.escrowId, 2, 30n, 70n, OTHER_HASH]);
    await client.mine({ blocks: 1 });
    await sender.step(NETWORK);
    assert.strictEqual((await bench.record(ruling)).state, "superseded");
    await client.mine({ blocks: CONFIRMATIONS });
    await sender.step(NETWORK);
    const { state, inFlight, dueAt } = await bench.record(ruling);
    assert.deepEqual([state, inFlight, dueAt], ["superseded", false, undefined]);
    await assertOneResolution(ruling.escrowId, OTHER_HASH);
  });

  it("whose transaction was dropped before another resolution is superseded, and uses its nonce up", async () => {
    const { client } = bench.chain;
    const sender = bench.sender();
    const ruling = await bench.ruled();
    await client.setAutomine(false);
    await sender.step(NETWORK);
    const [{ hash } = { hash: OTHER_HASH }] = (await bench.record(ruling)).attempts;
    await client.dropTransaction({ hash });
    await bench.chain.queueAs("admin", "resolveByAdmin", [ruling.escrowId, 2, 30n, 70n, OTHER_HASH]);
    await client.mine({ blocks: 1 });
    await sender.step(NETWORK);
    const superseded = await bench.record(ruling);
    assert.deepEqual([superseded.state, superseded.inFlight], ["superseded", true]);
    await client.mine({ blocks: 1 });
    assert.strictEqual((await client.getTransactionReceipt({ hash })).status, "reverted");
    await client.mine({ blocks: CONFIRMATIONS });
    await sender.step(NETWORK);
    const { state, inFlight, dueAt, attempts } = await bench.record(ruling);
    assert.deepEqual([state, inFlight, dueAt, attempts.length], ["superseded", false, undefined, 1]);
    await assertOneResolution(ruling.escrowId, OTHER_HASH);
  });

  it("is replaced by an admin's while nothing is signed, and not afterwards [D8]", async () => {
    const sender = bench.sender();
    const ruling = await bench.ruled();
    const admins = { ...ruling, role: "admin", outcome: "Split", buyerPercent: 70, rationaleHash: OTHER_HASH } as const;
    const replace = () => withTransaction(bench.connection, (session) => sender.replace(admins, session));
    assert.isTrue(await replace());
    assert.isFalse(await replace(), "it is an admin's already");
    await bench.finish(ruling);
    await assertOneResolution(ruling.escrowId, OTHER_HASH);

    await bench.chain.client.setAutomine(true);
    const second = await bench.ruled();
    await bench.chain.client.setAutomine(false);
    await sender.step(NETWORK);
    const late = { ...admins, disputeId: second.disputeId, escrowId: second.escrowId };
    assert.isFalse(await withTransaction(bench.connection, (session) => sender.replace(late, session)));
  });
});
