import { expect } from "chai";

import { listedTokens } from "../../../deploy/check/listed-tokens.ts";
import { runCheck } from "../../../deploy/check/run-check.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

describe("the tokens that a deployment lists", function () {
  this.timeout(60_000);
  let chain: DeployChain;
  let deployment: Deployment;

  before(async () => {
    chain = await deployChain("base", 8_453);
    await chain.placeFactory();
    await placeTokens(chain);
    deployment = await chain.run({ env: rolesOf(chain, await deployMultisig(chain)) });
  });
  after(() => chain.remove());

  it("are those of its file, then the ones that were listed later, which the check names, without delisted ones", async () => {
    const { ethers, connection } = chain;
    const { contracts, roles } = deployment;
    await connection.networkHelpers.setBalance(roles.owner, 10n ** 20n);
    const owner = await ethers.getImpersonatedSigner(roles.owner);
    const escrow = await ethers.getContractAt("EscrowV2", contracts.escrow.proxy, owner);
    const listed = () => listedTokens(ethers.provider, contracts.escrow.proxy);
    const ofFile = deployment.tokens.map(({ address }) => address);
    expect(await listed()).to.deep.equal(ofFile);

    const plain = await ethers.deployContract("PlainToken");
    const later = await plain.getAddress();
    const valuation = { feed: ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2 };
    await escrow.listToken(later, valuation);
    expect(await listed()).to.deep.equal([...ofFile, later]);
    const check = () =>
      runCheck({
        targetName: "base",
        provider: ethers.provider,
        deploymentsDir: chain.dir,
        write: false,
        log: (line) => chain.lines.push(line),
      });
    const refusal: unknown = await check().catch((error: unknown) => error);
    expect(refusal).to.have.property("message").that.includes(`lacks: ${later}, expected none`);
    // A repeated deployment isn't refused.
    expect((await chain.run()).tokens).to.deep.equal(deployment.tokens);

    const [first = "", ...others] = ofFile;
    await escrow.delistToken(first);
    expect(await listed()).to.deep.equal([...others, later]);
  });

  it("aren't known of an address whose storage has no list", async () => {
    const { ethers, request } = chain;
    const other = ethers.Wallet.createRandom().address;
    expect(await listedTokens(ethers.provider, other)).to.deep.equal([]);
    const countSlot = "0x96c5879cbfbd63a51be880377b7967994a4ebdbf41791ed2976aa04d1f493009";
    await request("hardhat_setStorageAt", [other, countSlot, `0x${"00".repeat(31)}20`]);
    expect(await listedTokens(ethers.provider, other)).to.equal(undefined);
  });
});
