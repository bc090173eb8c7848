import { assert } from "chai";

import type { Marketplace } from "./support/marketplace.ts";
import { ownStack } from "./support/own-stack.ts";
import { findEscrow, readAgent, readEscrow } from "./support/records.ts";

const DAY_SECONDS = 86_400;

// These tests move the chain's clock and roll it back, so they start a stack of their own.
describe("the subgraph follows what time and reorganisations do", () => {
  const stack = ownStack();
  let market: Marketplace;
  before(() => {
    ({ market } = stack);
  });

  it("[S3.2.20][S3.2.32] a delivery nobody answers is Released automatically, with a point for both", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createDelivered(buyer, seller);
    await market.passTime(301);
    const { blockNumber } = await market.confirmed(market.escrowAs(seller).write.finalize([id]));
    const escrow = await readEscrow(market, id, blockNumber);
    assert.deepEqual(
      [escrow.state, escrow.automatic, escrow.sellerAmount, escrow.events[2]?.automatic],
      ["Released", true, "4900000", true],
    );
    assert.strictEqual((await readAgent(market, buyer, blockNumber)).score, "1");
    assert.strictEqual((await readAgent(market, seller, blockNumber)).score, "1");
  });

  it("[S3.2.10][S3.2.36] a job that was never delivered is Abandoned, at a loss of 5 for the seller alone", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createEscrow(buyer, seller);
    await market.passTime(DAY_SECONDS + 3_601);
    const { blockNumber } = await market.confirmed(market.escrowAs(buyer).write.claimAbandoned([id]));
    const escrow = await readEscrow(market, id, blockNumber);
    assert.deepEqual(
      [escrow.state, escrow.buyerAmount, escrow.sellerAmount, escrow.events[1]?.type],
      ["Abandoned", "4900000", "0", "EscrowAbandoned"],
    );
    const loser = await readAgent(market, seller, blockNumber);
    assert.deepEqual([loser.abandoned, loser.score, loser.escrowsAsSeller], [1, "-5", 1]);
    assert.strictEqual((await readAgent(market, buyer, blockNumber)).score, "0");
  });

  it("a job declined after its deadline is counted as a late decline", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createEscrow(buyer, seller);
    await market.passTime(DAY_SECONDS + 60);
    const { blockNumber } = await market.confirmed(market.escrowAs(seller).write.refund([id]));
    const agent = await readAgent(market, seller, blockNumber);
    assert.deepEqual([agent.declined, agent.lateDeclines, agent.score], [1, 1, "0"]);
  });

  it("[D8] a dispute without a ruling within 30 days ends as Split by timeout, which nobody submitted", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const { id } = await market.createDisputed(buyer, seller);
    await market.passTime(30 * DAY_SECONDS + 1);
    const { blockNumber } = await market.confirmed(market.escrowAs(seller).write.resolveExpired([id]));
    const escrow = await readEscrow(market, id, blockNumber);
    assert.deepEqual(
      [escrow.state, escrow.outcome, escrow.resolutionMethod, escrow.resolvedBy, escrow.resolutionSubmitter],
      ["Resolved", "Split", "Timeout", "System", null],
    );
    assert.deepEqual([escrow.buyerPercent, escrow.buyerAmount, escrow.sellerAmount], [50, "2450000", "2450000"]);
  });

  it("a delisted token stays known as not listed, and can be listed again", async () => {
    const escrow = market.escrowAs(market.role("owner"));
    const listed = "query ($id: ID!) { token(id: $id) { listed symbol } }";
    const id = market.usdc.toLowerCase();
    const config = await escrow.read.tokenConfig([market.usdc]);
    const delisting = await market.confirmed(escrow.write.delistToken([market.usdc]));
    assert.deepEqual(await market.query(listed, { id }, delisting.blockNumber), {
      token: { listed: false, symbol: "USDC" },
    });
    const relisting = await market.confirmed(escrow.write.listToken([market.usdc, { ...config, listed: true }]));
    assert.deepEqual(await market.query(listed, { id }, relisting.blockNumber), {
      token: { listed: true, symbol: "USDC" },
    });
  });

  it("a reorganisation removes what its blocks wrote, and the new branch is indexed", async () => {
    const [buyer, seller] = [await market.newParty(), await market.newParty()];
    const kept = await market.createEscrow(buyer, seller);
    const lost = await market.createEscrow(buyer, seller);
    assert.strictEqual((await readEscrow(market, lost.id, lost.receipt.blockNumber)).state, "Funded");
    const grown = await market.takeBack(lost.receipt);

    assert.strictEqual(await findEscrow(market, lost.id, grown), null, "the escrow of the removed block is gone");
    const survivor = await readEscrow(market, kept.id, grown);
    assert.strictEqual(survivor.state, "Funded");
    assert.strictEqual(
      (await readAgent(market, buyer, grown)).escrowsAsBuyer,
      1,
      "the counts are those of the new chain",
    );

    const again = await market.createEscrow(buyer, seller);
    assert.strictEqual((await readEscrow(market, again.id, again.receipt.blockNumber)).state, "Funded");
    assert.strictEqual((await readAgent(market, buyer, again.receipt.blockNumber)).escrowsAsBuyer, 2);
  });
});
