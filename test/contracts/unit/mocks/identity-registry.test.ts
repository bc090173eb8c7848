import { expect } from "chai";

import { ethers, loadFixture, time } from "../../fixtures/chain.ts";
import { registries, signWallet, soon } from "../../fixtures/registries.ts";

const KEY = "agentWallet";
const UNKNOWN_AGENT = 99n;
const FIVE_MINUTES = 300n;

describe("The identity registry of local chains", () => {
  it("is an ERC-721 with the names of the live one, which gives ids in order", async () => {
    const { identity, actors } = await loadFixture(registries);
    expect([await identity.name(), await identity.symbol()]).to.deep.equal(["AgentIdentity", "AGENT"]);
    expect(await identity.supportsInterface("0x80ac58cd")).to.equal(true);
    const { stranger } = actors;
    await expect(identity.connect(stranger)["register()"]()).to.emit(identity, "Registered").withArgs(1n, "", stranger);
    expect([await identity.ownerOf(1n), await identity.tokenURI(1n)]).to.deep.equal([stranger.address, ""]);
  });

  it("registers with a file and facts, and makes the owner the agent's wallet", async () => {
    const { identity, actors } = await loadFixture(registries);
    const { stranger } = actors;
    const facts = [{ metadataKey: "colour", metadataValue: "0x1234" }];
    const sent = identity.connect(stranger)["register(string,(string,bytes)[])"]("ipfs://file", facts);
    await expect(sent).to.emit(identity, "MetadataSet").withArgs(1n, "colour", "colour", "0x1234");
    await expect(sent).to.emit(identity, "MetadataSet").withArgs(1n, KEY, KEY, stranger.address.toLowerCase());
    await expect(sent).to.emit(identity, "Registered").withArgs(1n, "ipfs://file", stranger);
    expect(await identity.tokenURI(1n)).to.equal("ipfs://file");
    expect(await identity.getAgentWallet(1n)).to.equal(stranger.address);
    expect([await identity.getMetadata(1n, "colour"), await identity.getMetadata(1n, "size")]).to.deep.equal([
      "0x1234",
      "0x",
    ]);
  });

  for (const name of ["owner", "ownersOperator", "agentsOperator"] as const) {
    it(`lets an agent's ${name} change its file, its facts and its wallet`, async () => {
      const { identity, agentId, actors } = await loadFixture(registries);
      const caller = identity.connect(actors[name]);
      const { owner, stranger } = actors;
      await expect(caller.setAgentURI(agentId, "ipfs://new"))
        .to.emit(identity, "URIUpdated")
        .withArgs(agentId, "ipfs://new", actors[name]);
      await caller.setMetadata(agentId, "colour", "0x12");
      expect([await identity.tokenURI(agentId), await identity.getMetadata(agentId, "colour")]).to.deep.equal([
        "ipfs://new",
        "0x12",
      ]);
      const deadline = await soon();
      const statement = { agentId, newWallet: stranger.address, owner: owner.address, deadline };
      const signature = await signWallet(identity, stranger, statement);
      await expect(caller.setAgentWallet(agentId, stranger, deadline, signature))
        .to.emit(identity, "MetadataSet")
        .withArgs(agentId, KEY, KEY, stranger.address.toLowerCase());
      expect(await identity.getAgentWallet(agentId)).to.equal(stranger.address);
      await caller.unsetAgentWallet(agentId);
      expect(await identity.getAgentWallet(agentId)).to.equal(ethers.ZeroAddress);
    });
  }

  it("refuses every change by anyone else, and of an agent that doesn't exist", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const { stranger } = actors;
    const deadline = await soon();
    const caller = identity.connect(stranger);
    const changes = (id: bigint) => [
      () => caller.setAgentURI(id, "ipfs://new"),
      () => caller.setMetadata(id, "colour", "0x12"),
      () => caller.setAgentWallet(id, stranger, deadline, "0x"),
      () => caller.unsetAgentWallet(id),
    ];
    for (const change of changes(agentId)) {
      await expect(change()).to.be.revertedWithCustomError(identity, "NotAuthorized").withArgs(stranger, agentId);
    }
    for (const change of changes(UNKNOWN_AGENT)) {
      await expect(change()).to.be.revertedWithCustomError(identity, "ERC721NonexistentToken").withArgs(UNKNOWN_AGENT);
    }
    expect(await identity.getAgentWallet(UNKNOWN_AGENT)).to.equal(ethers.ZeroAddress);
  });

  it("keeps the wallet's key for the wallet", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const caller = identity.connect(actors.owner);
    const facts = [{ metadataKey: KEY, metadataValue: actors.stranger.address }];
    for (const change of [
      () => caller.setMetadata(agentId, KEY, actors.stranger.address),
      () => caller["register(string,(string,bytes)[])"]("", facts),
    ]) {
      await expect(change()).to.be.revertedWithCustomError(identity, "ReservedMetadataKey").withArgs(KEY);
    }
  });

  it("takes a new wallet's own signature alone, for five minutes at most", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const { owner, stranger, client } = actors;
    const caller = identity.connect(owner);
    const deadline = await soon();
    const statement = { agentId, newWallet: stranger.address, owner: owner.address, deadline };
    const others = [
      await signWallet(identity, client, statement),
      await signWallet(identity, stranger, { ...statement, agentId: 1n }),
      await signWallet(identity, stranger, { ...statement, owner: client.address }),
      await signWallet(identity, stranger, { ...statement, deadline: deadline + 1n }),
      "0x",
    ];
    for (const signature of others) {
      await expect(caller.setAgentWallet(agentId, stranger, deadline, signature))
        .to.be.revertedWithCustomError(identity, "InvalidWalletSignature")
        .withArgs(stranger);
    }
    await expect(caller.setAgentWallet(agentId, ethers.ZeroAddress, deadline, "0x"))
      .to.be.revertedWithCustomError(identity, "InvalidWallet")
      .withArgs(ethers.ZeroAddress);
  });

  it("takes a signature up to its deadline, and no deadline beyond five minutes", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const { owner, stranger } = actors;
    const caller = identity.connect(owner);
    const sign = (deadline: bigint) =>
      signWallet(identity, stranger, { agentId, newWallet: stranger.address, owner: owner.address, deadline });
    const second = BigInt(await time.latest()) + 100n;
    const [early, late] = [await sign(second), await sign(second + FIVE_MINUTES + 1n)];
    await time.setNextBlockTimestamp(second);
    await expect(caller.setAgentWallet(agentId, stranger, second + FIVE_MINUTES + 1n, late))
      .to.be.revertedWithCustomError(identity, "DeadlineTooFar")
      .withArgs(second + FIVE_MINUTES + 1n, second + FIVE_MINUTES);
    await time.setNextBlockTimestamp(second + 1n);
    await expect(caller.setAgentWallet(agentId, stranger, second, early))
      .to.be.revertedWithCustomError(identity, "SignatureExpired")
      .withArgs(second + 1n, second);
    const last = second + 50n;
    const inTime = await sign(last);
    await time.setNextBlockTimestamp(last);
    await caller.setAgentWallet(agentId, stranger, last, inTime);
    expect(await identity.getAgentWallet(agentId)).to.equal(stranger.address);
  });

  it("asks a wallet that is a contract (ERC-1271)", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const { owner, client, stranger } = actors;
    const wallet = await ethers.deployContract("SmartWallet", [client]);
    const newWallet = await wallet.getAddress();
    const deadline = await soon();
    const statement = { agentId, newWallet, owner: owner.address, deadline };
    const caller = identity.connect(owner);
    const foreign = await signWallet(identity, stranger, statement);
    await expect(caller.setAgentWallet(agentId, newWallet, deadline, foreign))
      .to.be.revertedWithCustomError(identity, "InvalidWalletSignature")
      .withArgs(newWallet);
    await caller.setAgentWallet(agentId, newWallet, deadline, await signWallet(identity, client, statement));
    expect(await identity.getAgentWallet(agentId)).to.equal(newWallet);
  });

  it("takes the wallet away when the agent changes hands", async () => {
    const { identity, agentId, actors } = await loadFixture(registries);
    const { owner, stranger } = actors;
    expect(await identity.getAgentWallet(agentId)).to.equal(owner.address);
    await expect(identity.connect(owner).transferFrom(owner, stranger, agentId))
      .to.emit(identity, "MetadataSet")
      .withArgs(agentId, KEY, KEY, "0x");
    expect(await identity.getAgentWallet(agentId)).to.equal(ethers.ZeroAddress);
  });
});
