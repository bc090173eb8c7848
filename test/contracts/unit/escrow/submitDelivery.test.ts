import { expect } from "chai";

import { ethers, loadFixture, networkHelpers, provider } from "../../fixtures/chain.ts";
import { PROOF, State, at, funded, sendCreate, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("EscrowV2.submitDelivery", () => {
  it("moves a funded escrow to Delivered, moves no money and announces the proof [S3.2.06] [S3.1.03] [S4.403]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, usdc, actors } = market;
    const { escrowId } = await funded(market);
    const delivery = escrow.connect(actors.seller).submitDelivery(escrowId, PROOF);
    await expect(delivery).to.emit(escrow, "DeliverySubmitted").withArgs(escrowId, actors.seller, PROOF);
    await expect(delivery).to.changeTokenBalances(ethers, usdc, [escrow, actors.seller, actors.buyer], [0n, 0n, 0n]);
    expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Delivered);
  });

  it("takes any 32 bytes as proof: a hash, a content identifier or zeros [S4.407]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const attestation = ethers.keccak256(await actors.seller.signMessage("delivered"));
    const contentIdentifier = ethers.encodeBytes32String("a content identifier");
    for (const proof of [PROOF, attestation, contentIdentifier, ethers.ZeroHash]) {
      const { escrowId } = await funded(market);
      await expect(escrow.connect(actors.seller).submitDelivery(escrowId, proof))
        .to.emit(escrow, "DeliverySubmitted")
        .withArgs(escrowId, actors.seller, proof);
    }
  });

  it("works in the last second before the deadline has passed, and starts the dispute window there [S3.2.08] [S3.2.09] [S2.4.02] [D7]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, deadline } = await funded(market);
    await at(deadline);
    await escrow.connect(actors.seller).submitDelivery(escrowId, PROOF);
    expect((await escrow.getEscrow(escrowId)).deliveredAt).to.equal(deadline);
    await at(deadline + 300n);
    await escrow.connect(actors.buyer).accept(escrowId);
  });

  it("works in the very second of the creation, in one block with it", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const terms = await termsOf(market);
    await provider.request({ method: "evm_setAutomine", params: [false] });
    try {
      await sendCreate(market, terms);
      await escrow.connect(actors.seller).submitDelivery(terms.escrowId, PROOF, { gasLimit: 100_000 });
      await networkHelpers.mine();
    } finally {
      await provider.request({ method: "evm_setAutomine", params: [true] });
    }
    const { state, createdAt, deliveredAt } = await escrow.getEscrow(terms.escrowId);
    expect([state, deliveredAt]).to.deep.equal([State.Delivered, createdAt]);
  });

  it("fails one second after the deadline [S3.2.08] [D7]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId, deadline } = await funded(market);
    await at(deadline + 1n);
    await expect(escrow.connect(actors.seller).submitDelivery(escrowId, PROOF))
      .to.be.revertedWithCustomError(escrow, "DeadlinePassed")
      .withArgs(deadline + 1n, deadline);
  });

  it("fails for anyone but the seller [S3.2.07]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await funded(market);
    const others = [
      actors.buyer,
      actors.owner,
      actors.systemResolver,
      actors.adminResolver,
      actors.pauser,
      actors.stranger,
    ];
    for (const other of others) {
      await expect(escrow.connect(other).submitDelivery(escrowId, PROOF))
        .to.be.revertedWithCustomError(escrow, "CallerNotSeller")
        .withArgs(other, actors.seller);
    }
  });

  it("fails a second time", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, actors } = market;
    const { escrowId } = await funded(market);
    await escrow.connect(actors.seller).submitDelivery(escrowId, PROOF);
    await expect(escrow.connect(actors.seller).submitDelivery(escrowId, PROOF))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Delivered, State.Funded);
  });
});
