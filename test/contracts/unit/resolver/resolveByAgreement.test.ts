import { expect } from "chai";

import { AGREEMENT_TYPES, FAR_DEADLINE, signAgreement } from "../../fixtures/agreements.ts";
import { ethers, loadFixture, networkHelpers } from "../../fixtures/chain.ts";
import { Method, Outcome, ResolvedBy, State, dealIn, disputed, moveTo, newId } from "../../fixtures/deals.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

async function disputedMarket() {
  const market = await marketplace();
  return { ...market, deal: await disputed(market) };
}

describe("ResolverV2.resolveByAgreement", () => {
  for (const buyerPercent of [0n, 25n, 100n]) {
    it(`ends a dispute at once as a split with ${buyerPercent}% for the buyer, by both signatures, for any submitter [D8]`, async () => {
      const market = await loadFixture(disputedMarket);
      const { escrow, resolver, score, usdc, actors, deal } = market;
      const { escrowId } = deal;
      const signatures: [string, string] = [
        await signAgreement(market, actors.buyer, escrowId, buyerPercent),
        await signAgreement(market, actors.seller, escrowId, buyerPercent),
      ];
      const settlement = resolver
        .connect(actors.stranger)
        .resolveByAgreement(escrowId, buyerPercent, FAR_DEADLINE, signatures);
      await expect(settlement).to.changeTokenBalances(
        ethers,
        usdc,
        [actors.buyer, actors.seller, actors.stranger],
        [9_800n * buyerPercent, 9_800n * (100n - buyerPercent), 0n],
      );
      await expect(settlement)
        .to.emit(resolver, "DisputeResolved")
        .withArgs(
          escrowId,
          Outcome.Split,
          buyerPercent,
          ResolvedBy.System,
          Method.Agreement,
          ethers.ZeroHash,
          actors.stranger,
        );
      expect((await escrow.getEscrow(escrowId)).state).to.equal(State.Resolved);
      expect([await score.scoreOf(actors.buyer), await score.scoreOf(actors.seller)]).to.deep.equal([0n, 0n]);
    });
  }

  it("takes the signature of a wallet that is a contract (ERC-1271)", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, usdc, actors } = market;
    const wallet = await ethers.deployContract("SmartWallet", [actors.stranger]);
    const { escrowId } = await (async () => {
      const terms = await dealIn(market, "Funded", { seller: await wallet.getAddress() });
      const owner = wallet.connect(actors.stranger);
      const delivery = escrow.interface.encodeFunctionData("submitDelivery", [terms.escrowId, ethers.id("proof")]);
      await owner.execute(escrow, delivery);
      await escrow.connect(actors.buyer).openDispute(terms.escrowId);
      return terms;
    })();
    const signatures: [string, string] = [
      await signAgreement(market, actors.buyer, escrowId, 40n),
      await signAgreement(market, actors.stranger, escrowId, 40n),
    ];
    await expect(resolver.resolveByAgreement(escrowId, 40, FAR_DEADLINE, signatures)).to.changeTokenBalance(
      ethers,
      usdc,
      wallet,
      9_800n * 60n,
    );
  });

  it("refuses a signature of anyone else, of other terms, of another contract or chain", async () => {
    const market = await loadFixture(disputedMarket);
    const { resolver, actors, deal } = market;
    const { escrowId } = deal;
    const [buyer, seller] = [actors.buyer, actors.seller];
    const good = {
      buyer: await signAgreement(market, buyer, escrowId, 50n),
      seller: await signAgreement(market, seller, escrowId, 50n),
    };
    const bad: [string, string, string][] = [
      [await signAgreement(market, actors.stranger, escrowId, 50n), good.seller, buyer.address],
      [good.buyer, await signAgreement(market, actors.stranger, escrowId, 50n), seller.address],
      [good.seller, good.buyer, buyer.address],
      [good.buyer, good.buyer, seller.address],
      [await signAgreement(market, buyer, escrowId, 49n), good.seller, buyer.address],
      [good.buyer, await signAgreement(market, seller, newId(), 50n), seller.address],
      [await signAgreement(market, buyer, escrowId, 50n, { chainId: 1n }), good.seller, buyer.address],
      [
        good.buyer,
        await signAgreement(market, seller, escrowId, 50n, { verifyingContract: buyer.address }),
        seller.address,
      ],
      ["0x", good.seller, buyer.address],
      [good.buyer, "0x", seller.address],
    ];
    for (const [first, second, party] of bad) {
      await expect(resolver.resolveByAgreement(escrowId, 50, FAR_DEADLINE, [first, second]))
        .to.be.revertedWithCustomError(resolver, "InvalidSignature")
        .withArgs(party);
    }
  });

  it("refuses more than 100 percent, signed or not", async () => {
    const market = await loadFixture(disputedMarket);
    const { escrow, resolver, actors, deal } = market;
    for (const buyerPercent of [101n, ethers.MaxUint256]) {
      const signatures: [string, string] = [
        await signAgreement(market, actors.buyer, deal.escrowId, buyerPercent),
        await signAgreement(market, actors.seller, deal.escrowId, buyerPercent),
      ];
      await expect(resolver.resolveByAgreement(deal.escrowId, buyerPercent, FAR_DEADLINE, signatures))
        .to.be.revertedWithCustomError(escrow, "InvalidPercentages")
        .withArgs(Outcome.Split, buyerPercent, 0n);
    }
  });

  it("holds until its deadline, the second itself included, and not after it [D8]", async () => {
    const market = await loadFixture(disputedMarket);
    const { resolver, actors, deal } = market;
    const deadline = deal.disputedAt + 3_600n;
    const signatures: [string, string] = [
      await signAgreement(market, actors.buyer, deal.escrowId, 50n, { deadline }),
      await signAgreement(market, actors.seller, deal.escrowId, 50n, { deadline }),
    ];
    await moveTo(deadline);
    await resolver.resolveByAgreement.staticCall(deal.escrowId, 50, deadline, signatures);
    await expect(resolver.resolveByAgreement.staticCall(deal.escrowId, 50, deadline + 1n, signatures))
      .to.be.revertedWithCustomError(resolver, "InvalidSignature")
      .withArgs(actors.buyer);
    await moveTo(deadline + 1n);
    await expect(resolver.resolveByAgreement.staticCall(deal.escrowId, 50, deadline, signatures))
      .to.be.revertedWithCustomError(resolver, "AgreementExpired")
      .withArgs(deadline + 1n, deadline);
  });

  it("takes the key's signature of a wallet that delegates to code without ERC-1271 (EIP-7702) [D8]", async () => {
    const market = await loadFixture(disputedMarket);
    const { escrow, resolver, usdc, actors, deal } = market;
    // A delegate that answers no call at all, and one that answers every call with a refusal.
    for (const delegate of [
      await usdc.getAddress(),
      await (await ethers.deployContract("SmartWallet", [actors.stranger])).getAddress(),
    ]) {
      await networkHelpers.setCode(actors.seller.address, `0xef0100${delegate.slice(2)}`);
      const signatures: [string, string] = [
        await signAgreement(market, actors.buyer, deal.escrowId, 50n),
        await signAgreement(market, actors.seller, deal.escrowId, 50n),
      ];
      await resolver.resolveByAgreement.staticCall(deal.escrowId, 50, FAR_DEADLINE, signatures);
      const forged = await signAgreement(market, actors.otherBuyer, deal.escrowId, 50n);
      await expect(resolver.resolveByAgreement(deal.escrowId, 50, FAR_DEADLINE, [signatures[0], forged]))
        .to.be.revertedWithCustomError(resolver, "InvalidSignature")
        .withArgs(actors.seller);
    }
    expect((await escrow.getEscrow(deal.escrowId)).state).to.equal(State.Disputed);
  });

  it("works once: the same signatures end no second dispute", async () => {
    const market = await loadFixture(disputedMarket);
    const { escrow, resolver, actors, deal } = market;
    const signatures: [string, string] = [
      await signAgreement(market, actors.buyer, deal.escrowId, 50n),
      await signAgreement(market, actors.seller, deal.escrowId, 50n),
    ];
    await resolver.resolveByAgreement(deal.escrowId, 50, FAR_DEADLINE, signatures);
    await expect(resolver.resolveByAgreement(deal.escrowId, 50, FAR_DEADLINE, signatures))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(deal.escrowId, State.Resolved, State.Disputed);
    const other = await disputed(market);
    await expect(resolver.resolveByAgreement(other.escrowId, 50, FAR_DEADLINE, signatures))
      .to.be.revertedWithCustomError(resolver, "InvalidSignature")
      .withArgs(actors.buyer);
  });

  it("takes signatures from before the dispute, and every one that was given since, until the dispute has ended", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const { escrowId } = await dealIn(market, "Delivered");
    const bothSign = async (buyerPercent: bigint): Promise<[string, string]> => [
      await signAgreement(market, actors.buyer, escrowId, buyerPercent),
      await signAgreement(market, actors.seller, escrowId, buyerPercent),
    ];
    const beforeTheDispute = await bothSign(60n);
    await expect(resolver.resolveByAgreement(escrowId, 60, FAR_DEADLINE, beforeTheDispute))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Delivered, State.Disputed);
    await escrow.connect(actors.buyer).openDispute(escrowId);
    const bettered = await bothSign(40n);
    const { disputedAt } = await escrow.getEscrow(escrowId);
    await moveTo(disputedAt + 365n * 86_400n);
    await resolver.resolveByAgreement.staticCall(escrowId, 40, FAR_DEADLINE, bettered);
    await resolver.resolveByAgreement(escrowId, 60, FAR_DEADLINE, beforeTheDispute);
    await expect(resolver.resolveByAgreement(escrowId, 40, FAR_DEADLINE, bettered))
      .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
      .withArgs(escrowId, State.Resolved, State.Disputed);
  });

  it("refuses an escrow without an open dispute, signed or not [S7.29]", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver } = market;
    const missing = newId();
    await expect(resolver.resolveByAgreement(missing, 50, FAR_DEADLINE, ["0x", "0x"]))
      .to.be.revertedWithCustomError(escrow, "EscrowNotFound")
      .withArgs(missing);
    for (const state of ["Funded", "Delivered", "Released", "Refunded", "Resolved", "Abandoned"] as const) {
      const { escrowId } = await dealIn(market, state);
      await expect(resolver.resolveByAgreement(escrowId, 50, FAR_DEADLINE, ["0x", "0x"]))
        .to.be.revertedWithCustomError(escrow, "EscrowNotInState")
        .withArgs(escrowId, State[state], State.Disputed);
    }
  });

  it("publishes the digest that the parties sign", async () => {
    const market = await loadFixture(disputedMarket);
    const { resolver, deal } = market;
    const domain = {
      name: "AgentMarketplaceResolver",
      version: "2",
      chainId: (await ethers.provider.getNetwork()).chainId,
      verifyingContract: await resolver.getAddress(),
    };
    const message = { escrowId: deal.escrowId, buyerPercent: 7n, deadline: FAR_DEADLINE };
    expect(await resolver.agreementDigest(deal.escrowId, 7, FAR_DEADLINE)).to.equal(
      ethers.TypedDataEncoder.hash(domain, AGREEMENT_TYPES, message),
    );
  });
});
