import type { HardhatEthersSigner } from "@nomicfoundation/hardhat-ethers/types";
import { expect } from "chai";

import { mintUsdc } from "../../../../deploy/run/local-tokens.ts";
import { ethers, loadFixture } from "../../fixtures/chain.ts";
import type { Terms } from "../../fixtures/deals.ts";
import { State, USDC, at, now, sendCreate, termsOf } from "../../fixtures/deals.ts";
import type { Marketplace } from "../../fixtures/marketplace.ts";
import { marketplace } from "../../fixtures/marketplace.ts";

const RECEIVE_TYPES = {
  ReceiveWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
};

interface Authorization {
  validAfter: bigint;
  validBefore: bigint;
  signature: string;
}

/** What a buyer signs at checkout: the token's EIP-3009 message, with the contract's nonce for the terms. */
async function authorize(
  { escrow, usdc }: Marketplace,
  terms: Terms,
  signer: HardhatEthersSigner,
  validBefore: bigint,
): Promise<Authorization> {
  const validAfter = 0n;
  const { chainId } = await ethers.provider.getNetwork();
  const domain = { name: "USD Coin", version: "2", chainId, verifyingContract: await usdc.getAddress() };
  const signature = await signer.signTypedData(domain, RECEIVE_TYPES, {
    from: terms.buyer,
    to: await escrow.getAddress(),
    value: terms.amount,
    validAfter,
    validBefore,
    nonce: await escrow.authorizationNonce(terms),
  });
  return { validAfter, validBefore, signature };
}

function relay({ escrow, actors }: Marketplace, terms: Terms, authorization: Authorization, relayer = actors.stranger) {
  const { validAfter, validBefore, signature } = authorization;
  return escrow.connect(relayer).createEscrowWithAuthorization(terms, validAfter, validBefore, signature);
}

async function signedMarket() {
  const market = await marketplace();
  // The authorization must suffice: no allowance stands.
  await market.usdc.connect(market.actors.buyer).approve(market.escrow, 0);
  const terms = await termsOf(market, { amount: 10n * USDC });
  const quoteEnd = (await now()) + 900n;
  return { ...market, terms, quoteEnd, authorization: await authorize(market, terms, market.actors.buyer, quoteEnd) };
}

describe("EscrowV2.createEscrowWithAuthorization", () => {
  it("lets anyone relay what the buyer signed: the deposit is the buyer's and needs no allowance [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, usdc, actors, terms, authorization } = market;
    const creation = relay(market, terms, authorization);
    await expect(creation).to.changeTokenBalances(
      ethers,
      usdc,
      [actors.buyer, actors.treasury, escrow, actors.stranger],
      [-10_000_000n, 200_000n, 9_800_000n, 0n],
    );
    await expect(creation)
      .to.emit(escrow, "EscrowCreated")
      .withArgs(
        terms.escrowId,
        actors.buyer,
        actors.seller,
        terms.token,
        10n * USDC,
        200_000n,
        terms.deadline,
        300n,
        3_600n,
        terms.criteriaHash,
        10n * USDC,
      );
    const record = await escrow.getEscrow(terms.escrowId);
    expect([record.state, record.buyer]).to.deep.equal([State.Funded, actors.buyer.address]);
  });

  it("takes the signature of a wallet that is a contract (ERC-1271) [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, usdc, actors, quoteEnd } = market;
    const wallet = await ethers.deployContract("SmartWallet", [actors.buyer]);
    await mintUsdc(usdc, actors.owner, await wallet.getAddress(), USDC);
    const terms = await termsOf(market, { buyer: await wallet.getAddress() });
    await relay(market, terms, await authorize(market, terms, actors.buyer, quoteEnd));
    expect((await escrow.getEscrow(terms.escrowId)).buyer).to.equal(await wallet.getAddress());
    expect(await usdc.balanceOf(wallet)).to.equal(0n);
  });

  const changes: [keyof Terms, (terms: Terms, market: Marketplace) => Terms[keyof Terms]][] = [
    ["escrowId", () => ethers.id("another escrow")],
    ["seller", (_, { actors }) => actors.stranger.address],
    ["amount", ({ amount }) => amount - 1n],
    ["deadline", ({ deadline }) => deadline + 1n],
    ["disputeWindow", ({ disputeWindow }) => disputeWindow + 1n],
    ["abandonmentGrace", ({ abandonmentGrace }) => abandonmentGrace + 1n],
    ["criteriaHash", () => ethers.id("other criteria")],
  ];
  for (const [field, change] of changes) {
    it(`refuses a relayer who changes ${field} [D13]`, async () => {
      const market = await loadFixture(signedMarket);
      const { terms, authorization } = market;
      const changed = { ...terms, [field]: change(terms, market) };
      await expect(relay(market, changed, authorization)).to.be.revertedWith("FiatTokenV2: invalid signature");
    });
  }

  it("refuses a relayer who names another buyer [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { actors, terms, authorization } = market;
    await expect(relay(market, { ...terms, buyer: actors.otherBuyer.address }, authorization)).to.be.revertedWith(
      "FiatTokenV2: invalid signature",
    );
  });

  it("refuses another's signature [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { actors, terms, quoteEnd } = market;
    const forged = await authorize(market, terms, actors.stranger, quoteEnd);
    await expect(relay(market, terms, forged)).to.be.revertedWith("FiatTokenV2: invalid signature");
  });

  it("ends with the quote: one second before validBefore works, validBefore does not [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, terms, quoteEnd, authorization } = market;
    await at(quoteEnd - 1n);
    await relay(market, terms, authorization);
    const late = await termsOf(market);
    const expired = await authorize(market, late, market.actors.buyer, quoteEnd);
    await at(quoteEnd);
    await expect(relay(market, late, expired)).to.be.revertedWith("FiatTokenV2: authorization is expired");
    expect((await escrow.getEscrow(late.escrowId)).state).to.equal(State.None);
  });

  it("works once: a second relay finds the escrow there, no matter which relayer was first", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, actors, terms, authorization } = market;
    await relay(market, terms, authorization);
    for (const relayer of [actors.stranger, actors.buyer]) {
      await expect(relay(market, terms, authorization, relayer))
        .to.be.revertedWithCustomError(escrow, "EscrowAlreadyExists")
        .withArgs(terms.escrowId);
    }
  });

  it("leaves the buyer's money when another took the escrow id: nothing is paid", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, usdc, actors, terms, authorization } = market;
    const squatted = { ...terms, amount: USDC };
    await sendCreate(market, squatted, actors.otherBuyer);
    const before = await usdc.balanceOf(actors.buyer);
    await expect(relay(market, terms, authorization))
      .to.be.revertedWithCustomError(escrow, "EscrowAlreadyExists")
      .withArgs(terms.escrowId);
    expect(await usdc.balanceOf(actors.buyer)).to.equal(before);
  });

  it("lets nobody but the escrow contract use the authorization", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, usdc, actors, terms, authorization } = market;
    const { validAfter, validBefore, signature } = authorization;
    const nonce = await escrow.authorizationNonce(terms);
    await expect(
      usdc
        .connect(actors.stranger)
        .getFunction("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")(
        actors.buyer,
        escrow,
        terms.amount,
        validAfter,
        validBefore,
        nonce,
        signature,
      ),
    ).to.be.revertedWith("FiatTokenV2: caller must be the payee");
  });

  it("keeps every check of createEscrow on the terms", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, actors, quoteEnd } = market;
    const own = await termsOf(market, { seller: actors.buyer.address });
    await expect(relay(market, own, await authorize(market, own, actors.buyer, quoteEnd)))
      .to.be.revertedWithCustomError(escrow, "BuyerIsSeller")
      .withArgs(actors.buyer);
    const dear = await termsOf(market, { amount: 10n * USDC + 1n });
    await expect(relay(market, dear, await authorize(market, dear, actors.buyer, quoteEnd)))
      .to.be.revertedWithCustomError(escrow, "JobValueCapExceeded")
      .withArgs(actors.buyer, 10n * USDC + 1n, 10n * USDC);
    await escrow.connect(actors.pauser).pause();
    await expect(relay(market, market.terms, market.authorization)).to.be.revertedWithCustomError(
      escrow,
      "NewEscrowsPaused",
    );
  });

  it("fails with a token that knows no authorizations", async () => {
    const market = await loadFixture(signedMarket);
    const { weth, authorization } = market;
    const terms = await termsOf(market, { token: await weth.getAddress(), amount: 10n ** 15n });
    await expect(relay(market, terms, authorization)).to.revert(ethers);
  });

  it("binds the nonce to every term, to the contract and to the chain [D13]", async () => {
    const market = await loadFixture(signedMarket);
    const { escrow, terms } = market;
    const nonces = new Set([await escrow.authorizationNonce(terms)]);
    for (const [field, change] of changes) {
      nonces.add(await escrow.authorizationNonce({ ...terms, [field]: change(terms, market) }));
    }
    nonces.add(await escrow.authorizationNonce({ ...terms, buyer: terms.seller }));
    nonces.add(await escrow.authorizationNonce({ ...terms, token: terms.seller }));
    expect(nonces.size).to.equal(changes.length + 3);

    const { chainId } = await ethers.provider.getNetwork();
    const typeHash = ethers.id(
      "CreateEscrow(uint256 chainId,address escrowContract,bytes32 escrowId,address buyer,address seller," +
        "uint256 amount,address token,uint256 deadline,uint256 disputeWindow,uint256 abandonmentGrace,bytes32 criteriaHash)",
    );
    const encoded = ethers.AbiCoder.defaultAbiCoder().encode(
      [
        ...["bytes32", "uint256", "address", "bytes32", "address", "address", "uint256", "address"],
        ...["uint256", "uint256", "uint256", "bytes32"],
      ],
      [
        ...[typeHash, chainId, await escrow.getAddress(), terms.escrowId, terms.buyer, terms.seller, terms.amount],
        ...[terms.token, terms.deadline, terms.disputeWindow, terms.abandonmentGrace, terms.criteriaHash],
      ],
    );
    expect(await escrow.authorizationNonce(terms)).to.equal(ethers.keccak256(encoded));
  });
});
