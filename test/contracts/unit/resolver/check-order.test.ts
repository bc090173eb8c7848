import { expect } from "chai";

import { FAR_DEADLINE } from "../../fixtures/agreements.ts";
import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { Outcome, RATIONALE, ResolvedBy, dealIn, disputed } from "../../fixtures/deals.ts";
import { impersonate, marketplace } from "../../fixtures/marketplace.ts";

const SPLIT = Outcome.Split;

describe("ResolverV2 and EscrowV2.resolve, when several checks fail", () => {
  it("ask who rules first, then whether rulings are suspended, for the rationale, the dispute, the tenure and the parties", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const delivered = await dealIn(market, "Delivered");
    const dispute = await disputed(market);
    // The buyer of both escrows comes to rule only later ones.
    await resolver.connect(actors.owner).transferResolver(ResolvedBy.System, actors.buyer);
    await resolver.connect(actors.buyer).acceptResolver(ResolvedBy.System);
    const rule = (caller: typeof actors.buyer, { escrowId }: { escrowId: string }, rationale = RATIONALE) =>
      expect(resolver.connect(caller).resolveBySystem(escrowId, SPLIT, rationale)).to.be;
    await resolver.connect(actors.pauser).pauseRulings();
    await rule(actors.seller, dispute, ethers.ZeroHash).revertedWithCustomError(resolver, "CallerNotResolver");
    await rule(actors.buyer, delivered, ethers.ZeroHash).revertedWithCustomError(resolver, "RulingsArePaused");
    await resolver.connect(actors.pauser).unpauseRulings();
    await rule(actors.buyer, delivered, ethers.ZeroHash).revertedWithCustomError(resolver, "MissingRationale");
    await rule(actors.buyer, delivered).revertedWithCustomError(escrow, "EscrowNotInState");
    await rule(actors.buyer, dispute).revertedWithCustomError(resolver, "EscrowOutsideTenure");
  });

  it("ask for an agreement's deadline first, then for the dispute, the buyer's signature and the seller's", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const delivered = await dealIn(market, "Delivered");
    const dispute = await disputed(market);
    const agree = ({ escrowId }: { escrowId: string }, deadline: bigint) =>
      expect(resolver.resolveByAgreement(escrowId, 50, deadline, ["0x", "0x"])).to.be;
    await agree(delivered, 1n).revertedWithCustomError(resolver, "AgreementExpired");
    await agree(delivered, FAR_DEADLINE).revertedWithCustomError(escrow, "EscrowNotInState");
    await agree(dispute, FAR_DEADLINE).revertedWithCustomError(resolver, "InvalidSignature").withArgs(actors.buyer);
  });

  it("ask for the state of an escrow first, then who resolves it, then for the percentages", async () => {
    const market = await loadFixture(marketplace);
    const { escrow, resolver, actors } = market;
    const delivered = await dealIn(market, "Delivered");
    const dispute = await disputed(market);
    const asResolver = await impersonate(await resolver.getAddress());
    const resolve = (caller: typeof actors.buyer, { escrowId }: { escrowId: string }) =>
      expect(escrow.connect(caller).resolve(escrowId, SPLIT, 100, 100, ResolvedBy.System, 0, RATIONALE)).to.be;
    await resolve(actors.buyer, delivered).revertedWithCustomError(escrow, "EscrowNotInState");
    await resolve(actors.buyer, dispute).revertedWithCustomError(escrow, "CallerNotResolverContract");
    await resolve(asResolver, dispute).revertedWithCustomError(escrow, "InvalidPercentages");
  });
});
