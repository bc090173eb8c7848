import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { now, State, termsOf } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const AMOUNT = 10n ** 15n;

describe("createEscrowWithAuthorization in a token whose unknown functions succeed (WETH9)", () => {
  it("refuses the deposit that did not come, although the call succeeded and the buyer has money and approval [D10] [D13]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, weth, actors } = market;
    const { buyer, otherBuyer, stranger, treasury } = actors;
    // Money of others in the contract must not pass for this deposit.
    const others = await termsOf(market, { token: await weth.getAddress(), amount: AMOUNT });
    await escrow
      .connect(otherBuyer)
      .createEscrow(others.escrowId, others.seller, AMOUNT, weth, others.deadline, 0n, 0n, others.criteriaHash);
    const parties = [escrow, buyer, treasury] as const;
    const before = await Promise.all(parties.map((party) => weth.balanceOf(party)));

    const terms = await termsOf(market, { token: await weth.getAddress(), amount: AMOUNT });
    await expect(
      escrow.connect(stranger).createEscrowWithAuthorization(terms, 0n, (await now()) + 900n, `0x${"00".repeat(65)}`),
    )
      .to.be.revertedWithCustomError(escrow, "TransferAmountMismatch")
      .withArgs(weth, AMOUNT, 0n);
    expect(await Promise.all(parties.map((party) => weth.balanceOf(party)))).to.deep.equal(before);
    expect((await escrow.getEscrow(terms.escrowId)).state).to.equal(State.None);
    expect(await escrow.creditOf(treasury, weth)).to.equal(0n);
  });

  it("has such a token: the same call from a wallet succeeds and moves nothing", async () => {
    const { weth, actors } = await loadFixture(marketplace);
    const { interface: escrowAbi } = await ethers.getContractAt("IReceiveWithAuthorization", weth);
    const data = escrowAbi.encodeFunctionData("receiveWithAuthorization", [
      actors.buyer.address,
      actors.stranger.address,
      AMOUNT,
      0n,
      ethers.MaxUint256,
      ethers.ZeroHash,
      "0x",
    ]);
    const sent = actors.stranger.sendTransaction({ to: await weth.getAddress(), data });
    await expect(sent).to.emit(weth, "Deposit").withArgs(actors.stranger, 0n);
    expect(await weth.balanceOf(actors.stranger)).to.equal(0n);
  });
});
