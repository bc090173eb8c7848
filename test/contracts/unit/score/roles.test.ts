import { expect } from "chai";

import { loadFixture } from "../../fixtures/chain.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

describe("ScoreV2, what the owner alone may do", () => {
  it("leaves the owner no function but ownership and the upgrade: no role forges a score [D14]", async () => {
    const { score, implementations, actors } = await loadFixture(marketplace);
    const writing: string[] = [];
    score.interface.forEachFunction((part) => {
      if (part.stateMutability === "nonpayable" || part.stateMutability === "payable") writing.push(part.name);
    });
    const ownership = ["transferOwnership", "acceptOwnership", "renounceOwnership", "upgradeToAndCall"];
    expect(writing.sort()).to.deep.equal(["initialize", "recordOutcome", ...ownership].sort());
    for (const actor of Object.values(actors)) {
      if (actor.address === actors.owner.address) continue;
      const contract = score.connect(actor);
      for (const call of [
        () => contract.transferOwnership.staticCall(actor),
        () => contract.renounceOwnership.staticCall(),
        () => contract.upgradeToAndCall.staticCall(implementations.score, "0x"),
      ]) {
        await expect(call()).to.be.revertedWithCustomError(score, "OwnableUnauthorizedAccount").withArgs(actor);
      }
    }
  });
});
