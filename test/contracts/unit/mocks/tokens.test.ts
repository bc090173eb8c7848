import { expect } from "chai";

import { ethers, loadFixture, time } from "../../fixtures/chain.ts";

const TYPES = {
  transfer: "TransferWithAuthorization",
  receive: "ReceiveWithAuthorization",
} as const;

async function tokens() {
  const [holder, other, relayer] = await ethers.getSigners();
  if (!holder || !other || !relayer) throw new Error("The test chain has too few accounts");
  const usdc = await ethers.deployContract("MockUsdc", ["USD Coin"]);
  const weth = await ethers.deployContract("MockWeth9");
  await usdc.mint(holder, 1_000n);
  const domain = {
    name: "USD Coin",
    version: "2",
    chainId: (await ethers.provider.getNetwork()).chainId,
    verifyingContract: await usdc.getAddress(),
  };
  /** The seven arguments of an EIP-3009 call of either kind, with the holder's signature. */
  const authorize = async (kind: keyof typeof TYPES, nonce: string, changes: { validAfter?: bigint } = {}) => {
    const message = {
      from: holder.address,
      to: other.address,
      value: 100n,
      validAfter: changes.validAfter ?? 0n,
      validBefore: BigInt(await time.latest()) + 900n,
      nonce,
    };
    const fields = ["from", "to", "value", "validAfter", "validBefore", "nonce"] as const;
    const kinds = ["address", "address", "uint256", "uint256", "uint256", "bytes32"];
    const types = { [TYPES[kind]]: fields.map((name, index) => ({ name, type: kinds[index] ?? "" })) };
    const signature = await holder.signTypedData(domain, types, message);
    const { from, to, value, validAfter, validBefore } = message;
    const args = [from, to, value, validAfter, validBefore, nonce] as const;
    const { v, r, s } = ethers.Signature.from(signature);
    return { whole: [...args, signature] as const, parts: [...args, v, r, s] as const };
  };
  return { usdc, weth, holder, other, relayer, domain, authorize };
}

const SEVEN = "address,address,uint256,uint256,uint256,bytes32";

describe("The USDC of local chains", () => {
  for (const kind of ["transfer", "receive"] as const) {
    it(`moves by ${TYPES[kind]}, in both signature forms, each nonce once`, async () => {
      const { usdc, holder, other, relayer, authorize } = await loadFixture(tokens);
      const caller = usdc.connect(kind === "receive" ? other : relayer);
      const name = `${kind}WithAuthorization`;
      const first = await authorize(kind, ethers.id("first"));
      const second = await authorize(kind, ethers.id("second"));
      const whole = caller.getFunction(`${name}(${SEVEN},bytes)`);
      const parts = caller.getFunction(`${name}(${SEVEN},uint8,bytes32,bytes32)`);
      await expect(whole(...first.whole)).to.changeTokenBalances(ethers, usdc, [holder, other], [-100n, 100n]);
      await expect(parts(...second.parts)).to.changeTokenBalances(ethers, usdc, [holder, other], [-100n, 100n]);
      expect(await usdc.authorizationState(holder, ethers.id("first"))).to.equal(true);
      await expect(whole(...first.whole))
        .to.be.revertedWithCustomError(usdc, "AuthorizationUsedOrCanceled")
        .withArgs(holder, ethers.id("first"));
    });
  }

  it("refuses an authorization of the other kind, one that is not valid yet and one that was cancelled", async () => {
    const { usdc, holder, domain, authorize } = await loadFixture(tokens);
    const transfer = usdc.getFunction(`transferWithAuthorization(${SEVEN},bytes)`);
    const received = await authorize("receive", ethers.id("received"));
    await expect(transfer(...received.whole))
      .to.be.revertedWithCustomError(usdc, "InvalidAuthorizationSignature")
      .withArgs(holder);
    const validAfter = BigInt(await time.latest()) + 100n;
    const early = await authorize("transfer", ethers.id("early"), { validAfter });
    await time.setNextBlockTimestamp(validAfter);
    await expect(transfer(...early.whole))
      .to.be.revertedWithCustomError(usdc, "AuthorizationNotYetValid")
      .withArgs(validAfter, validAfter);
    const types = {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    };
    const nonce = ethers.id("cancelled");
    const cancelled = await authorize("transfer", nonce);
    const signature = await holder.signTypedData(domain, types, { authorizer: holder.address, nonce });
    const { v, r, s } = ethers.Signature.from(signature);
    const cancel = usdc.getFunction("cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)");
    await expect(cancel(holder, nonce, v, r, s))
      .to.emit(usdc, "AuthorizationCanceled")
      .withArgs(holder, nonce);
    await expect(cancel(holder, nonce, v, r, s)).to.be.revertedWithCustomError(usdc, "AuthorizationUsedOrCanceled");
    await expect(transfer(...cancelled.whole)).to.be.revertedWithCustomError(usdc, "AuthorizationUsedOrCanceled");
  });

  it("gives an allowance by EIP-2612, once and in time", async () => {
    const { usdc, holder, other, domain } = await loadFixture(tokens);
    const fields = ["owner", "spender", "value", "nonce", "deadline"];
    const kinds = ["address", "address", "uint256", "uint256", "uint256"];
    const types = { Permit: fields.map((name, index) => ({ name, type: kinds[index] ?? "" })) };
    const sign = async (nonce: bigint, deadline: bigint) => {
      const message = { owner: holder.address, spender: other.address, value: 77n, nonce, deadline };
      return ethers.Signature.from(await holder.signTypedData(domain, types, message));
    };
    const deadline = BigInt(await time.latest()) + 100n;
    const { v, r, s } = await sign(0n, deadline);
    const permit = usdc.getFunction("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)");
    await permit(holder, other, 77n, deadline, v, r, s);
    expect(await usdc.allowance(holder, other)).to.equal(77n);
    await expect(permit(holder, other, 77n, deadline, v, r, s)).to.be.revertedWithCustomError(
      usdc,
      "InvalidAuthorizationSignature",
    );
    const late = await sign(1n, deadline);
    await time.setNextBlockTimestamp(deadline + 1n);
    await expect(permit(holder, other, 77n, deadline, late.v, late.r, late.s))
      .to.be.revertedWithCustomError(usdc, "AuthorizationExpired")
      .withArgs(deadline + 1n, deadline);
  });

  it("says its EIP-712 domain as the live one does", async () => {
    const { usdc, domain } = await loadFixture(tokens);
    expect(await usdc.DOMAIN_SEPARATOR()).to.equal(ethers.TypedDataEncoder.hashDomain(domain));
    expect([await usdc.name(), await usdc.version(), await usdc.decimals()]).to.deep.equal(["USD Coin", "2", 6n]);
  });
});

describe("The WETH of local chains", () => {
  it("wraps, moves and unwraps ether, and no more than there is", async () => {
    const { weth, holder, other } = await loadFixture(tokens);
    await weth.deposit({ value: 60n });
    await holder.sendTransaction({ to: await weth.getAddress(), value: 40n });
    expect([await weth.balanceOf(holder), await weth.totalSupply()]).to.deep.equal([100n, 100n]);
    await weth.transfer(other, 30n);
    await expect(weth.connect(other).withdraw(30n)).to.changeEtherBalance(ethers, other, 30n);
    await expect(weth.connect(other).withdraw(1n))
      .to.be.revertedWithCustomError(weth, "InsufficientBalance")
      .withArgs(other, 0n, 1n);
    await weth.approve(other, 10n);
    await expect(weth.connect(other).transferFrom(holder, other, 11n))
      .to.be.revertedWithCustomError(weth, "InsufficientAllowance")
      .withArgs(other, 10n, 11n);
    await weth.connect(other).transferFrom(holder, other, 10n);
    expect([await weth.balanceOf(holder), await weth.allowance(holder, other)]).to.deep.equal([60n, 0n]);
  });
});
