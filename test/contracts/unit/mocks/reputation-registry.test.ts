import { expect } from "chai";

import { ReputationRegistry__factory } from "../../../../typechain-types/factories/contracts/mocks/ReputationRegistry__factory.ts";
import type { ReputationRegistry } from "../../../../typechain-types/contracts/mocks/ReputationRegistry.ts";
import { ethers, loadFixture } from "../../fixtures/chain.ts";
import { registries } from "../../fixtures/registries.ts";

const UNKNOWN_AGENT = 99n;
const MAX_VALUE = 10n ** 38n;

/** Feedback with what a test leaves out. */
const give = (
  reputation: ReputationRegistry,
  agentId: bigint,
  { value = 87n, decimals = 0n, tags = ["", ""] }: { value?: bigint; decimals?: bigint; tags?: [string, string] } = {},
) => reputation.giveFeedback(agentId, value, decimals, ...tags, "", "", ethers.ZeroHash);

describe("The reputation registry of local chains", () => {
  it("knows its identity registry, and isn't made without one", async () => {
    const { identity, reputation, actors } = await loadFixture(registries);
    expect(await reputation.getIdentityRegistry()).to.equal(await identity.getAddress());
    await expect(new ReputationRegistry__factory(actors.owner).deploy(ethers.ZeroAddress))
      .to.be.revertedWithCustomError(reputation, "InvalidIdentityRegistry")
      .withArgs(ethers.ZeroAddress);
  });

  it("takes any client's feedback, in order, and announces it", async () => {
    const { reputation, agentId, actors } = await loadFixture(registries);
    const { client } = actors;
    const hash = ethers.id("file");
    const caller = reputation.connect(client);
    const [tag, endpoint, file] = ["tradingYield", "https://a.example", "ipfs://file"];
    await expect(caller.giveFeedback(agentId, -32n, 1n, tag, "day", endpoint, file, hash))
      .to.emit(reputation, "NewFeedback")
      .withArgs(agentId, client, 1n, -32n, 1n, tag, tag, "day", endpoint, file, hash);
    await give(caller, agentId);
    expect([...(await reputation.readFeedback(agentId, client, 1n))]).to.deep.equal([
      -32n,
      1n,
      "tradingYield",
      "day",
      false,
    ]);
    expect([...(await reputation.readFeedback(agentId, client, 2n))]).to.deep.equal([87n, 0n, "", "", false]);
    expect(await reputation.getLastIndex(agentId, client)).to.equal(2n);
    expect(await reputation.getClients(agentId)).to.deep.equal([client.address]);
  });

  for (const name of ["owner", "ownersOperator", "agentsOperator"] as const) {
    it(`refuses the feedback of an agent's ${name}`, async () => {
      const { reputation, agentId, actors } = await loadFixture(registries);
      await expect(give(reputation.connect(actors[name]), agentId))
        .to.be.revertedWithCustomError(reputation, "SelfFeedback")
        .withArgs(actors[name], agentId);
    });
  }

  it("refuses feedback about an agent that doesn't exist", async () => {
    const { identity, reputation, actors } = await loadFixture(registries);
    await expect(give(reputation.connect(actors.client), UNKNOWN_AGENT))
      .to.be.revertedWithCustomError(identity, "ERC721NonexistentToken")
      .withArgs(UNKNOWN_AGENT);
  });

  it("takes values within their bounds alone", async () => {
    const { reputation, agentId, actors } = await loadFixture(registries);
    const caller = reputation.connect(actors.client);
    await expect(give(caller, agentId, { decimals: 19n }))
      .to.be.revertedWithCustomError(reputation, "TooManyDecimals")
      .withArgs(19n, 18n);
    for (const value of [MAX_VALUE + 1n, -MAX_VALUE - 1n]) {
      await expect(give(caller, agentId, { value }))
        .to.be.revertedWithCustomError(reputation, "ValueTooLarge")
        .withArgs(value, MAX_VALUE);
    }
    for (const value of [MAX_VALUE, -MAX_VALUE]) await give(caller, agentId, { value, decimals: 18n });
    expect([...(await reputation.getSummary(agentId, [actors.client], "", ""))]).to.deep.equal([2n, 0n, 18n]);
  });

  it("averages what the named clients said, with the most frequent decimals", async () => {
    const { reputation, agentId, actors } = await loadFixture(registries);
    const { client, otherClient, stranger } = actors;
    await give(reputation.connect(client), agentId, { value: 90n, tags: ["starred", "a"] });
    await give(reputation.connect(client), agentId, { value: 9_977n, decimals: 2n, tags: ["uptime", ""] });
    await give(reputation.connect(otherClient), agentId, { value: 81n, tags: ["starred", "b"] });
    const both = [client, otherClient];
    // (90 + 99.77 + 81) / 3, without decimals.
    expect([...(await reputation.getSummary(agentId, both, "", ""))]).to.deep.equal([3n, 90n, 0n]);
    // 85.5 is rounded towards zero.
    expect([...(await reputation.getSummary(agentId, both, "starred", ""))]).to.deep.equal([2n, 85n, 0n]);
    expect([...(await reputation.getSummary(agentId, both, "starred", "b"))]).to.deep.equal([1n, 81n, 0n]);
    expect([...(await reputation.getSummary(agentId, [client], "uptime", ""))]).to.deep.equal([1n, 9_977n, 2n]);
    expect([...(await reputation.getSummary(agentId, [stranger], "", ""))]).to.deep.equal([0n, 0n, 0n]);
    await expect(reputation.getSummary(agentId, [], "", "")).to.be.revertedWithCustomError(
      reputation,
      "NoClientAddresses",
    );
  });

  it("lets a client take its own feedback back, once", async () => {
    const { reputation, agentId, actors } = await loadFixture(registries);
    const { client, otherClient } = actors;
    await give(reputation.connect(client), agentId);
    for (const [caller, index, last] of [
      [otherClient, 1n, 0n],
      [client, 0n, 1n],
      [client, 2n, 1n],
    ] as const) {
      await expect(reputation.connect(caller).revokeFeedback(agentId, index))
        .to.be.revertedWithCustomError(reputation, "FeedbackNotFound")
        .withArgs(agentId, caller, index, last);
    }
    await expect(reputation.connect(client).revokeFeedback(agentId, 1n))
      .to.emit(reputation, "FeedbackRevoked")
      .withArgs(agentId, client, 1n);
    expect([...(await reputation.getSummary(agentId, [client], "", ""))]).to.deep.equal([0n, 0n, 0n]);
    expect((await reputation.readFeedback(agentId, client, 1n)).isRevoked).to.equal(true);
    await expect(reputation.connect(client).revokeFeedback(agentId, 1n))
      .to.be.revertedWithCustomError(reputation, "FeedbackAlreadyRevoked")
      .withArgs(agentId, client, 1n);
  });
});
