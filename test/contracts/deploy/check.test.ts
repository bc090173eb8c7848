import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { findCodeDifferences } from "../../../deploy/check/check-code.ts";
import { readNotes } from "../../../deploy/check/check-notes.ts";
import { findDifferences } from "../../../deploy/check/check.ts";
import { ADMIN_ROLE as ADMIN, listFacts } from "../../../deploy/check/facts.ts";
import { findTokenListDifferences } from "../../../deploy/check/listed-tokens.ts";
import { runCheck } from "../../../deploy/check/run-check.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { writeDeployment } from "../../../deploy/system/deployment-file.ts";
import {
  alter,
  contractsOf,
  DIFFERENCES,
  KEYS,
  NOTES,
  relist,
  setCode,
  token,
} from "../fixtures/deployment-changes.ts";
import type { Subject } from "../fixtures/deployment-changes.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

const TARGET = "base";

describe("hardhat check-deployment", function () {
  this.timeout(60_000);
  let chain: DeployChain;
  let recorded: Deployment;
  let subject: Subject;
  let snapshot: { restore: () => Promise<void> };

  before(async () => {
    chain = await deployChain(TARGET, 8_453);
    await chain.placeFactory();
    await placeTokens(chain);
    recorded = await chain.run({ env: rolesOf(chain, await deployMultisig(chain)) });
    snapshot = await chain.connection.networkHelpers.takeSnapshot();
  });
  after(() => chain.remove());

  beforeEach(async () => {
    const deployment = structuredClone(recorded);
    const { governance } = deployment;
    const stranger = chain.signers[9];
    if (!governance || !stranger) throw new Error("Base has a timelock, the test chain ten accounts");
    subject = { chain, deployment, governance, stranger, ...(await contractsOf(chain, deployment)) };
  });
  afterEach(() => snapshot.restore());

  const named = async (): Promise<string[]> => {
    const { provider } = chain.ethers;
    const all = [
      ...(await findDifferences(provider, subject.deployment)),
      ...(await findTokenListDifferences(provider, subject.deployment)),
      ...(await findCodeDifferences(provider, subject.deployment)),
    ];
    return all.map(({ fact }) => fact);
  };
  const notes = (): Promise<string[]> => readNotes(chain.ethers.provider, subject.deployment);
  const check = async (write = false): Promise<string[]> => {
    chain.lines.length = 0;
    const run = { targetName: TARGET, provider: chain.ethers.provider, deploymentsDir: chain.dir, write };
    await runCheck({ ...run, log: (line) => chain.lines.push(line) });
    return chain.lines;
  };
  const fails = async (message: RegExp, write = false): Promise<void> => {
    await check(write).then(
      () => expect.fail("the difference went unnoticed"),
      (error: unknown) => {
        expect((error as Error).message).to.match(message);
      },
    );
  };

  it("reports nothing about a deployment that matches its file", async () => {
    expect(await named()).to.deep.equal([]);
    expect(await notes()).to.deep.equal([]);
    expect(await check()).to.deep.equal([`base: everything is on the chain as ${chain.file} tells`]);
  });

  for (const [title, facts, change] of DIFFERENCES) {
    it(`names ${title}`, async () => {
      await change(subject);
      expect(await named()).to.deep.equal(facts);
    });
  }

  for (const key of KEYS) {
    it(`names a proxy of ${key} that is gone, with all that cannot be read`, async () => {
      await setCode(subject, subject.deployment.contracts[key].proxy, "0x");
      expect(await named()).to.include.members([`code of the proxy of ${key}`, `owner of ${key}`]);
    });

    it(`names an implementation of ${key} that is gone, with all that cannot be read`, async () => {
      await setCode(subject, subject.deployment.contracts[key].implementation, "0x");
      expect(await named()).to.include.members([`code of the implementation of ${key}`, `owner of ${key}`]);
    });
  }

  it("names a timelock that is gone", async () => {
    await setCode(subject, subject.governance.timelock, "0x");
    expect(await named()).to.include.members(["code of the timelock", "timelock delay", "multisig proposes"]);
  });

  it("tries every fact that it knows of", () => {
    const tried = new Set([
      ...DIFFERENCES.flatMap(([, facts]) => facts),
      ...KEYS.flatMap((key) => [`code of the proxy of ${key}`, `code of the implementation of ${key}`]),
      "code of the timelock",
    ]);
    const known = listFacts(chain.ethers.provider, subject.deployment).map(({ fact }) => fact);
    // The rows of WETH cover USDC, which is read in the same way.
    expect(known.filter((fact) => !tried.has(fact.replace(/^USDC /, "WETH ")))).to.deep.equal([]);
  });

  for (const [title, note, change] of NOTES) {
    it(`reports ${title}, which is not a difference`, async () => {
      await change(subject);
      expect(await named()).to.deep.equal([]);
      const found = await notes();
      expect(found).to.have.length(1);
      expect(found[0]).to.match(note);
    });
  }

  it("fails on differences, and says notes and passes", async () => {
    await subject.escrow.connect(chain.signers[3] ?? chain.deployer).pause();
    expect(await check()).to.include("new escrows are paused");
    await subject.escrow.setTreasury(subject.stranger);
    await fails(new RegExp(`treasury: ${subject.stranger.address}, expected ${recorded.roles.treasury}`));
    await alter(subject, recorded.contracts.score.proxy);
    await fails(/code of the proxy of score against the sources: other code at/);
  });

  it("records with --write who holds the roles and how tokens are valued now, and nothing when more differs", async () => {
    const { escrow, resolver, stranger } = subject;
    await escrow.setTreasury(stranger);
    await resolver.transferResolver(ADMIN, stranger);
    await resolver.connect(stranger).acceptResolver(ADMIN);
    await relist(subject, { maxPriceAge: 7_200, minAmount: 77n });
    const before = await readFile(chain.file, "utf8");
    await escrow.transferOwnership(stranger);
    await escrow.connect(stranger).acceptOwnership();
    await fails(/owner of escrow: /, true);
    expect(await readFile(chain.file, "utf8")).to.equal(before);

    await escrow.connect(stranger).transferOwnership(recorded.roles.owner);
    await escrow.acceptOwnership();
    expect(await check(true)).to.include(`treasury: ${stranger.address}, recorded`);
    const after = JSON.parse(await readFile(chain.file, "utf8")) as Deployment;
    const weth = { ...token(subject, "WETH"), maxPriceAge: 7_200, minAmount: "77" };
    expect(after).to.deep.equal({
      ...recorded,
      roles: { ...recorded.roles, treasury: stranger.address, adminResolver: stranger.address },
      tokens: recorded.tokens.map((known) => (known.symbol === "WETH" ? weth : known)),
    });
    expect(await check()).to.deep.equal([`base: everything is on the chain as ${chain.file} tells`]);
    await writeDeployment(chain.file, recorded);
  });
});
