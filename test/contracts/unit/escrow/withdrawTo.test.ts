import { expect } from "chai";

import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { delivered } from "../../fixtures/deals.ts";
import { TokenMood, hostileMarketplace } from "../../fixtures/hostile.ts";

/** A market whose seller has been credited, because the token denies it. */
async function marketWithCredit() {
  const market = await hostileMarketplace();
  const { escrow, token, actors, inToken } = market;
  const { escrowId, locked } = await delivered(market, inToken);
  await token.setDenied(actors.seller, true);
  await escrow.connect(actors.buyer).accept(escrowId);
  return { ...market, locked };
}

describe("EscrowV2.withdrawTo", () => {
  it("draws the whole credit to another address, once, for a wallet that the token denies [D9]", async () => {
    const { escrow, token, actors, locked } = await loadFixture(marketWithCredit);
    const { seller, stranger } = actors;
    expect(await escrow.creditOf(seller, token)).to.equal(locked);
    await expect(escrow.connect(seller).withdraw(token)).to.be.revertedWithCustomError(token, "AccountDenied");

    const withdrawal = escrow.connect(seller).withdrawTo(token, stranger);
    await expect(withdrawal).to.changeTokenBalances(ethers, token, [seller, stranger, escrow], [0n, locked, -locked]);
    await expect(withdrawal).to.emit(escrow, "CreditWithdrawn").withArgs(seller, token, stranger, locked);
    expect(await escrow.creditOf(seller, token)).to.equal(0n);
    await expect(escrow.connect(seller).withdrawTo(token, stranger))
      .to.be.revertedWithCustomError(escrow, "NothingToWithdraw")
      .withArgs(seller, token);
  });

  it("refuses the zero address and the contract itself, and keeps the credit when the token still refuses", async () => {
    const { escrow, token, actors, locked } = await loadFixture(marketWithCredit);
    const { seller, stranger } = actors;
    for (const recipient of [ethers.ZeroAddress, await escrow.getAddress()]) {
      await expect(escrow.connect(seller).withdrawTo(token, recipient))
        .to.be.revertedWithCustomError(escrow, "InvalidRecipient")
        .withArgs(recipient);
      // A wallet without credit learns the same: the recipient is looked at first.
      await expect(escrow.connect(stranger).withdrawTo(token, recipient))
        .to.be.revertedWithCustomError(escrow, "InvalidRecipient")
        .withArgs(recipient);
    }
    await token.setMood(TokenMood.Paused);
    await expect(escrow.connect(seller).withdrawTo(token, stranger)).to.be.revertedWithCustomError(
      token,
      "TransfersPaused",
    );
    expect(await escrow.creditOf(seller, token)).to.equal(locked);
  });

  it("draws nobody else's credit", async () => {
    const { escrow, token, actors, locked } = await loadFixture(marketWithCredit);
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.seller.address) continue;
      await expect(escrow.connect(actor).withdrawTo(token, actor))
        .to.be.revertedWithCustomError(escrow, "NothingToWithdraw")
        .withArgs(actor, token);
    }
    expect(await escrow.creditOf(actors.seller, token)).to.equal(locked);
  });
});
