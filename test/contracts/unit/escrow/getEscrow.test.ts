import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import type { StateName } from "../../fixtures/deals.ts";
import { State, USDC, at, dealIn, disputed, fieldsOf, newId, now } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.getEscrow", () => {
  it("reads None and zeros for an id that was never created [S3.1.01]", async () => {
    const { escrow } = await loadFixture(marketplace);
    const record = fieldsOf(await escrow.getEscrow(newId()));
    expect(record).to.deep.equal({
      buyer: ethers.ZeroAddress,
      seller: ethers.ZeroAddress,
      token: ethers.ZeroAddress,
      amount: 0n,
      fee: 0n,
      locked: 0n,
      state: 0n,
      createdAt: 0n,
      deadline: 0n,
      deliveredAt: 0n,
      disputedAt: 0n,
      disputeWindow: 0n,
      abandonmentGrace: 0n,
      criteriaHash: ethers.ZeroHash,
    });
  });

  it("gives every field of the record, each from its own bits [S2.4.02] [S2.4.03] [S4.408] [D12]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    // Odd values at the far ends of their ranges, so that a field which strays into its neighbour shows.
    const deal = await disputed(market, { amount: 9_876_543n, disputeWindow: 86_399n, abandonmentGrace: 2_591_999n });
    const record = fieldsOf(await escrow.getEscrow(deal.escrowId));
    expect(record).to.deep.equal({
      buyer: actors.buyer.address,
      seller: actors.seller.address,
      token: await usdc.getAddress(),
      amount: 9_876_543n,
      fee: 197_531n,
      locked: 9_679_012n,
      state: State.Disputed,
      createdAt: deal.createdAt,
      deadline: deal.deadline,
      deliveredAt: deal.deliveredAt,
      disputedAt: deal.disputedAt,
      disputeWindow: 86_399n,
      abandonmentGrace: 2_591_999n,
      criteriaHash: deal.criteriaHash,
    });
  });

  it("gives the same record at the latest times that the terms allow [D12]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const createdAt = (await now()) + 1n;
    const deadline = createdAt + 2n ** 22n - 1n;
    await at(createdAt);
    const deal = await dealIn(market, "Funded", { deadline, disputeWindow: 86_400n, abandonmentGrace: 2_592_000n });
    await at(deadline);
    await escrow.connect(actors.seller).submitDelivery(deal.escrowId, ethers.id("proof"));
    await at(deadline + 86_400n);
    await escrow.connect(actors.buyer).openDispute(deal.escrowId);
    const record = await escrow.getEscrow(deal.escrowId);
    expect([record.createdAt, record.deadline, record.deliveredAt, record.disputedAt]).to.deep.equal([
      createdAt,
      deadline,
      deadline,
      deadline + 86_400n,
    ]);
    expect([record.buyer, record.seller, record.amount, record.disputeWindow, record.abandonmentGrace]).to.deep.equal([
      actors.buyer.address,
      actors.seller.address,
      USDC,
      86_400n,
      2_592_000n,
    ]);
  });

  const codes: [StateName, string][] = [
    ["None", "[S3.1.01]"],
    ["Funded", "[S3.1.02]"],
    ["Delivered", "[S3.1.03]"],
    ["Released", "[S3.1.04]"],
    ["Refunded", "[S3.1.05]"],
    ["Disputed", "[S3.1.06]"],
    ["Resolved", "[S3.1.07]"],
    ["Abandoned", "[S3.1.08]"],
  ];
  for (const [code, [state, cite]] of codes.entries()) {
    it(`says ${code} for ${state} and keeps the times that the state has ${cite} [S2.4.01]`, async () => {
      const market = await loadFixture(marketplace);
      const deal = await dealIn(market, state);
      const record = await market.escrow.getEscrow(deal.escrowId);
      expect(record.state).to.equal(BigInt(code));
      expect([record.deliveredAt, record.disputedAt]).to.deep.equal([deal.deliveredAt, deal.disputedAt]);
      expect([record.amount, record.criteriaHash]).to.deep.equal(
        state === "None" ? [0n, ethers.ZeroHash] : [USDC, deal.criteriaHash],
      );
    });
  }

  it("is a view that anyone can call [S4.406]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const deal = await dealIn(market, "Funded");
    expect(escrow.interface.getFunction("getEscrow").stateMutability).to.equal("view");
    expect(escrow.interface.getFunction("getEscrow").inputs.map(({ type }) => type)).to.deep.equal(["bytes32"]);
    for (const actor of Object.values(actors)) {
      expect((await escrow.connect(actor).getEscrow(deal.escrowId)).buyer).to.equal(actors.buyer.address);
    }
  });

  it("takes 32 bytes as the identifier, as each move does: no other type and nothing shorter [S7.30]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const face = escrow.interface;
    const types = new Map<string, string | undefined>();
    face.forEachFunction(({ name, inputs: [first] }) => {
      if (/^escrowIds?$/.test(first?.name ?? "")) types.set(name, first?.type);
    });
    for (const name of ["createEscrow", "submitDelivery", "accept", "claimAbandoned", "getEscrow"]) {
      expect(types.get(name), name).to.equal("bytes32");
    }
    expect(types.get("refundMany")).to.equal("bytes32[]");
    types.delete("refundMany");
    expect(new Set(types.values())).to.deep.equal(new Set(["bytes32"]));

    const { escrowId } = await dealIn(market, "Delivered");
    for (const name of ["getEscrow", "accept"] as const) {
      const data = ethers.concat([face.getFunction(name).selector, escrowId]);
      await actors.buyer.call({ to: escrow, data });
      for (const bytes of [0, 1, 20, 31]) {
        const short = { to: escrow, data: ethers.dataSlice(data, 0, 4 + bytes) };
        await expect(actors.buyer.call(short), `${name} of ${bytes} bytes`).to.revert(ethers);
      }
    }
  });
});
