import { readFileSync } from "node:fs";

import { assert } from "chai";
import { concat, keccak256, stringToHex, zeroHash } from "viem";

import type { StackFacts } from "../../scripts/local/facts.ts";
import { littleEndian, Marketplace } from "./support/marketplace.ts";
import { readAgent, readEscrow } from "./support/records.ts";

const RATIONALE = keccak256(stringToHex("The delivery does what was asked."));
/** Unix seconds that no test reaches. */
const FAR_DEADLINE = 10n ** 11n;

function stackFacts(): StackFacts {
  const path = process.env["TEST_STACK"];
  if (path === undefined) throw new Error("These tests need a running stack: use `npm run test:subgraph`.");
  return JSON.parse(readFileSync(path, "utf8")) as StackFacts;
}

describe("the subgraph follows every move of an escrow", () => {
  let market: Marketplace;
  before(() => {
    market = new Marketplace(stackFacts(), "base-sepolia");
  });

  it("the tokens of both networks are known with symbol, decimals and feed", async () => {
    const query = "{ tokens(orderBy: symbol) { id symbol decimals listed minAmount feed } }";
    interface Answer {
      tokens: { id: string; symbol: string; decimals: number; listed: boolean; minAmount: string; feed: string }[];
    }
    const testnet = await market.query<Answer>(query, {}, 0n);
    assert.deepEqual(
      testnet.tokens.map(({ symbol, decimals, listed, minAmount }) => ({ symbol, decimals, listed, minAmount })),
      [{ symbol: "USDC", decimals: 6, listed: true, minAmount: "10000" }],
    );
    assert.strictEqual(testnet.tokens[0]?.id, market.usdc.toLowerCase());

    const mainnet = new Marketplace(stackFacts(), "base");
    const { tokens } = await mainnet.query<Answer>(query, {}, 0n);
    assert.deepEqual(
      tokens.map(({ symbol, decimals, listed }) => ({ symbol, decimals, listed })),
      [
        { symbol: "USDC", decimals: 6, listed: true },
        { symbol: "WETH", decimals: 18, listed: true },
      ],
    );
    assert.notStrictEqual(tokens[1]?.feed, `0x${"0".repeat(40)}`);
  });

  it("[S1.11][S3.2.01] a created escrow in USDC is Funded with all its terms, its fee and its value in USD", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const created = await market.createEscrow(buyer, seller, { amount: 5_000_001n });
    const { blockNumber, blockHash, transactionHash: hash } = created.receipt;
    const escrow = await readEscrow(market, created.id, blockNumber);

    const { events, ...fields } = escrow;
    assert.deepEqual(fields, {
      state: "Funded",
      buyer: { id: buyer.address.toLowerCase() },
      seller: { id: seller.address.toLowerCase() },
      token: { id: market.usdc.toLowerCase(), symbol: "USDC" },
      amount: "5000001",
      fee: "100001",
      locked: "4900000",
      valueUsd: "5000001",
      deadline: String(created.deadline),
      disputeWindow: "300",
      abandonmentGrace: "3600",
      criteriaHash: created.criteriaHash,
      proofHash: null,
      createdAt: String(await market.timeOf(blockNumber)),
      createdBlock: String(blockNumber),
      createdTxHash: hash,
      deliveredAt: null,
      disputedAt: null,
      settledAt: null,
      automatic: null,
      outcome: null,
      buyerPercent: null,
      resolvedBy: null,
      resolutionMethod: null,
      rationaleHash: null,
      resolutionSubmitter: null,
      buyerAmount: "0",
      sellerAmount: "0",
      updatedBlock: String(blockNumber),
    });

    const [event] = events;
    assert.ok(event !== undefined && events.length === 1);
    const logIndex = Number(event.logIndex);
    assert.strictEqual(
      event.id,
      concat([hash, littleEndian(logIndex)]),
      "transaction hash and log index, lowest byte first",
    );
    assert.strictEqual(event.ordinal, String(blockNumber * 1_000_000n + BigInt(logIndex)));
    assert.deepEqual(
      { type: event.type, amount: event.amount, fee: event.fee, blockHash: event.blockHash, txHash: event.txHash },
      { type: "EscrowCreated", amount: "5000001", fee: "100001", blockHash, txHash: hash },
    );
    assert.strictEqual((await readAgent(market, buyer, blockNumber)).escrowsAsBuyer, 1);
    assert.strictEqual((await readAgent(market, seller, blockNumber)).escrowsAsSeller, 1);
  });

  it("a delivery is stored with its proof hash and time, and an acceptance releases", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createEscrow(buyer, seller);
    const proofHash = keccak256(id);
    const delivery = await market.confirmed(market.escrowAs(seller).write.submitDelivery([id, proofHash]));
    const delivered = await readEscrow(market, id, delivery.blockNumber);
    assert.deepEqual(
      { state: delivered.state, proofHash: delivered.proofHash, settledAt: delivered.settledAt },
      { state: "Delivered", proofHash, settledAt: null },
    );
    assert.strictEqual(delivered.deliveredAt, String(await market.timeOf(delivery.blockNumber)));

    const acceptance = await market.confirmed(market.escrowAs(buyer).write.accept([id]));
    const released = await readEscrow(market, id, acceptance.blockNumber);
    assert.deepEqual(
      {
        state: released.state,
        automatic: released.automatic,
        buyerAmount: released.buyerAmount,
        sellerAmount: released.sellerAmount,
        updatedBlock: released.updatedBlock,
      },
      {
        state: "Released",
        automatic: false,
        buyerAmount: "0",
        sellerAmount: "4900000",
        updatedBlock: String(acceptance.blockNumber),
      },
    );
    assert.deepEqual(
      released.events.map(({ type }) => type),
      ["EscrowCreated", "DeliverySubmitted", "EscrowReleased"],
    );
    assert.strictEqual(released.events[1]?.proofHash, proofHash);
    assert.strictEqual(released.events[2]?.sellerAmount, "4900000");
  });

  it("[S1.04][S3.2.31] a release gives both parties their point by a ScoreChange of the score contract", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { blockNumber } = await market.createReleased(buyer, seller);
    for (const party of [buyer, seller]) {
      const agent = await readAgent(market, party, blockNumber);
      assert.strictEqual(agent.score, "1");
      assert.deepEqual(agent.scoreChanges, [{ outcome: "Released", delta: "1", score: "1" }]);
    }
  });

  it("counterparties, settled deals and volume are counted, repeated deals as one counterparty", async () => {
    const [seller, regular, other] = [await market.newParty(), await market.newParty(), await market.newParty()];
    await market.createReleased(regular, seller, { amount: 3_000_000n });
    await market.createReleased(regular, seller, { amount: 4_000_000n });
    const { blockNumber } = await market.createReleased(other, seller, { amount: 2_000_000n });
    const agent = await readAgent(market, seller, blockNumber);
    assert.deepEqual(
      {
        released: agent.released,
        settledCount: agent.settledCount,
        distinctCounterparties: agent.distinctCounterparties,
        topCounterpartyCount: agent.topCounterpartyCount,
        settledVolumeUsd: agent.settledVolumeUsd,
      },
      {
        released: 3,
        settledCount: 3,
        distinctCounterparties: 2,
        topCounterpartyCount: 2,
        settledVolumeUsd: "9000000",
      },
    );
    const buyer = await readAgent(market, regular, blockNumber);
    assert.deepEqual(
      { released: buyer.released, settledCount: buyer.settledCount, volume: buyer.settledVolumeUsd },
      { released: 0, settledCount: 2, volume: "0" },
      "a buyer settles, but sells nothing",
    );
  });

  it("[S3.2.15] a declined job is Refunded and counted as declined, before the deadline not as late", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createEscrow(buyer, seller);
    const { blockNumber } = await market.confirmed(market.escrowAs(seller).write.refund([id]));
    const escrow = await readEscrow(market, id, blockNumber);
    assert.deepEqual(
      { state: escrow.state, buyerAmount: escrow.buyerAmount, sellerAmount: escrow.sellerAmount },
      { state: "Refunded", buyerAmount: "4900000", sellerAmount: "0" },
    );
    assert.strictEqual(escrow.events[1]?.type, "EscrowRefunded");
    const agent = await readAgent(market, seller, blockNumber);
    assert.deepEqual(
      { declined: agent.declined, lateDeclines: agent.lateDeclines, score: agent.score },
      { declined: 1, lateDeclines: 0, score: "0" },
    );
  });

  const rulings = [
    {
      outcome: "BuyerRefund",
      code: 0,
      percent: 100,
      paid: ["4900000", "0"],
      scores: ["1", "-3"],
      won: "buyer",
      id: "S3.2.33",
    },
    {
      outcome: "SellerPaid",
      code: 1,
      percent: 0,
      paid: ["0", "4900000"],
      scores: ["-3", "1"],
      won: "seller",
      id: "S3.2.34",
    },
    {
      outcome: "Split",
      code: 2,
      percent: 50,
      paid: ["2450000", "2450000"],
      scores: ["0", "0"],
      won: "nobody",
      id: "S3.2.35",
    },
  ] as const;
  for (const ruling of rulings) {
    it(`[${ruling.id}][D8] a ruling of ${ruling.outcome} is stored with who, how and why, and moves the scores`, async () => {
      const [buyer, seller] = [await market.newParty(), await market.newParty()];
      const { id } = await market.createDisputed(buyer, seller);
      const system = market.role("systemResolver");
      const receipt = await market.confirmed(
        market.resolverAs(system).write.resolveBySystem([id, ruling.code, RATIONALE]),
      );
      const escrow = await readEscrow(market, id, receipt.blockNumber);
      assert.deepEqual(
        {
          state: escrow.state,
          outcome: escrow.outcome,
          buyerPercent: escrow.buyerPercent,
          resolvedBy: escrow.resolvedBy,
          resolutionMethod: escrow.resolutionMethod,
          rationaleHash: escrow.rationaleHash,
          resolutionSubmitter: escrow.resolutionSubmitter,
          paid: [escrow.buyerAmount, escrow.sellerAmount],
        },
        {
          state: "Resolved",
          outcome: ruling.outcome,
          buyerPercent: ruling.percent,
          resolvedBy: "System",
          resolutionMethod: "Ruling",
          rationaleHash: RATIONALE,
          resolutionSubmitter: system.address.toLowerCase(),
          paid: ruling.paid,
        },
      );
      assert.ok(escrow.disputedAt !== null && escrow.settledAt !== null);
      assert.deepEqual(
        escrow.events.slice(2).map(({ type, outcome }) => ({ type, outcome })),
        [
          { type: "DisputeOpened", outcome: null },
          { type: "EscrowResolved", outcome: ruling.outcome },
        ],
      );
      const agents = [
        await readAgent(market, buyer, receipt.blockNumber),
        await readAgent(market, seller, receipt.blockNumber),
      ];
      assert.deepEqual(
        agents.map(({ score }) => score),
        [...ruling.scores],
      );
      const tally = { buyer: [1, 0, 0], seller: [0, 1, 0], nobody: [0, 0, 1] }[ruling.won];
      assert.deepEqual([agents[0]?.disputesWon, agents[0]?.disputesLost, agents[0]?.disputesSplit], tally);
      assert.deepEqual([agents[1]?.disputesLost, agents[1]?.disputesWon, agents[1]?.disputesSplit], tally);
    });
  }

  it("[D8] a split by an admin keeps its percentages and says Admin", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createDisputed(buyer, seller);
    const admin = market.role("adminResolver");
    const receipt = await market.confirmed(market.resolverAs(admin).write.resolveByAdmin([id, 2, 30n, 70n, RATIONALE]));
    const escrow = await readEscrow(market, id, receipt.blockNumber);
    assert.deepEqual(
      [escrow.outcome, escrow.resolvedBy, escrow.buyerPercent, escrow.buyerAmount, escrow.sellerAmount],
      ["Split", "Admin", 30, "1470000", "3430000"],
    );
  });

  it("[D8] a split that both parties signed is stored as an agreement without a rationale", async () => {
    const [buyer, seller, relayer] = [await market.newParty(), await market.newParty(), await market.newParty()];
    const { id } = await market.createDisputed(buyer, seller);
    const resolver = market.resolverAs(relayer);
    const hash = await resolver.read.agreementDigest([id, 25n, FAR_DEADLINE]);
    const signatures = [await buyer.sign({ hash }), await seller.sign({ hash })] as const;
    const receipt = await market.confirmed(resolver.write.resolveByAgreement([id, 25n, FAR_DEADLINE, signatures]));
    const escrow = await readEscrow(market, id, receipt.blockNumber);
    assert.deepEqual(
      [escrow.outcome, escrow.resolutionMethod, escrow.buyerPercent, escrow.rationaleHash, escrow.resolutionSubmitter],
      ["Split", "Agreement", 25, zeroHash, relayer.address.toLowerCase()],
    );
  });
});
