import { readFile } from "node:fs/promises";

import { expect } from "chai";

import { codeDifferencesOf } from "../../../deploy/check/check-code.ts";
import { notesOf } from "../../../deploy/check/check-notes.ts";
import { differencesOf } from "../../../deploy/check/check.ts";
import { ADMIN_ROLE as ADMIN, SYSTEM_ROLE as SYSTEM, factsOf } from "../../../deploy/check/facts.ts";
import { tokenListDifferencesOf } from "../../../deploy/check/listed-tokens.ts";
import { runCheck } from "../../../deploy/check/run-check.ts";
import type { Deployment } from "../../../deploy/system/deployment-file.ts";
import { writeDeployment } from "../../../deploy/system/deployment-file.ts";
import { constructorArgsOf } from "../../../deploy/system/implementations.ts";
import type { DeployChain } from "../fixtures/deployment.ts";
import { deployChain, deployMultisig, placeTokens, rolesOf } from "../fixtures/deployment.ts";

const TARGET = "base";
const KEYS = ["escrow", "score", "resolver"] as const;

/** A deployment with the contracts in the name of their owner, the timelock. */
interface Subject extends Awaited<ReturnType<typeof contractsOf>> {
  chain: DeployChain;
  deployment: Deployment;
  governance: NonNullable<Deployment["governance"]>;
  /** A wallet that holds no role. */
  stranger: DeployChain["deployer"];
}

async function contractsOf({ ethers, connection }: DeployChain, { contracts, roles }: Deployment) {
  await connection.networkHelpers.setBalance(roles.owner, 10n ** 20n);
  const owner = await ethers.getImpersonatedSigner(roles.owner);
  return {
    escrow: await ethers.getContractAt("EscrowV2", contracts.escrow.proxy, owner),
    score: await ethers.getContractAt("ScoreV2", contracts.score.proxy, owner),
    resolver: await ethers.getContractAt("ResolverV2", contracts.resolver.proxy, owner),
    timelock: await ethers.getContractAt("TimelockController", roles.owner, owner),
  };
}

/** What changes on the chain, or in the file, and the facts that must then be named. */
type Row = [title: string, facts: string[], change: (subject: Subject) => Promise<unknown> | undefined];

const setCode = ({ chain }: Subject, address: string, code: string) =>
  chain.request("hardhat_setCode", [address, code]);
/** Other code that does the same: its last byte, which is never run, differs. */
const alter = async (subject: Subject, address: string) => {
  const code = await subject.chain.ethers.provider.getCode(address);
  return setCode(subject, address, `${code.slice(0, -2)}${code.endsWith("00") ? "01" : "00"}`);
};
const token = ({ deployment }: Subject, symbol: string) => {
  const found = deployment.tokens.find((candidate) => candidate.symbol === symbol);
  if (!found) throw new Error(`${symbol} is not deployed`);
  return found;
};
/** Lists WETH with another valuation. */
const relist = async (subject: Subject, changed: object) => {
  const { escrow } = subject;
  const { address, feed, maxPriceAge, decimals, minAmount } = token(subject, "WETH");
  return escrow.listToken(address, { feed, maxPriceAge, decimals, minAmount, listed: true, ...changed });
};
const feedOf = async ({ chain }: Subject, decimals: number) => {
  const feed = await chain.ethers.deployContract("MockPriceFeed", [decimals, 2_500n * 10n ** BigInt(decimals)]);
  return feed.getAddress();
};
/** A later implementation, by default for the same contracts. */
const nextOf = async (
  { chain, deployment }: Subject,
  name: "NextEscrow" | "NextScore" | "NextResolver",
  args?: Subject["stranger"][],
) => {
  const key = ({ NextEscrow: "escrow", NextScore: "score", NextResolver: "resolver" } as const)[name];
  const next = await chain.ethers.deployContract(name, args ?? constructorArgsOf(deployment, key));
  return next.getAddress();
};
const AGAINST = "against the sources";

const DIFFERENCES: Row[] = [
  ["another chain", ["chain id"], ({ deployment }) => void (deployment.chainId = 1)],
  ...KEYS.flatMap((key): Row[] => [
    [
      `other code of the proxy of ${key}`,
      [`code of the proxy of ${key} ${AGAINST}`],
      (subject) => alter(subject, subject.deployment.contracts[key].proxy),
    ],
    [
      `other code of the implementation of ${key}`,
      [`code of the implementation of ${key} ${AGAINST}`],
      (subject) => alter(subject, subject.deployment.contracts[key].implementation),
    ],
  ]),
  [
    "other code of the timelock",
    [`code of the timelock ${AGAINST}`],
    (subject) => alter(subject, subject.governance.timelock),
  ],
  [
    "an upgrade of escrow that is not in the file",
    ["implementation of escrow"],
    async (subject) => subject.escrow.upgradeToAndCall(await nextOf(subject, "NextEscrow"), "0x"),
  ],
  [
    "an upgrade of score that is not in the file",
    ["implementation of score"],
    async (subject) => subject.score.upgradeToAndCall(await nextOf(subject, "NextScore"), "0x"),
  ],
  [
    "an upgrade of resolver that is not in the file",
    ["implementation of resolver"],
    async (subject) => subject.resolver.upgradeToAndCall(await nextOf(subject, "NextResolver"), "0x"),
  ],
  ...KEYS.map((key): Row => [
    `another owner of ${key}`,
    [`owner of ${key}`],
    async (subject) => {
      const { stranger } = subject;
      await subject[key].transferOwnership(stranger);
      await subject[key].connect(stranger).acceptOwnership();
    },
  ]),
  ["another treasury", ["treasury"], ({ escrow, stranger }) => escrow.setTreasury(stranger)],
  [
    "another pauser",
    ["pauser"],
    async ({ escrow, stranger }) => {
      await escrow.transferPauser(stranger);
      await escrow.connect(stranger).acceptPauser();
    },
  ],
  [
    "another system resolver",
    ["system resolver"],
    async ({ resolver, stranger }) => {
      await resolver.transferResolver(SYSTEM, stranger);
      await resolver.connect(stranger).acceptResolver(SYSTEM);
    },
  ],
  [
    "another admin resolver",
    ["admin resolver"],
    async ({ resolver, stranger }) => {
      await resolver.transferResolver(ADMIN, stranger);
      await resolver.connect(stranger).acceptResolver(ADMIN);
    },
  ],
  [
    "an upgrade of escrow that names other contracts",
    ["implementation of escrow", "score contract of escrow", "resolver contract of escrow", "main token of escrow"],
    async (subject) => {
      const { stranger, escrow } = subject;
      await escrow.upgradeToAndCall(await nextOf(subject, "NextEscrow", [stranger, stranger, stranger]), "0x");
    },
  ],
  [
    "an upgrade of score that names another escrow contract",
    ["implementation of score", "escrow contract of score"],
    async (subject) => subject.score.upgradeToAndCall(await nextOf(subject, "NextScore", [subject.stranger]), "0x"),
  ],
  [
    "an upgrade of resolver that names another escrow contract",
    ["implementation of resolver", "escrow contract of resolver"],
    async (subject) =>
      subject.resolver.upgradeToAndCall(await nextOf(subject, "NextResolver", [subject.stranger]), "0x"),
  ],
  [
    "a token that is delisted",
    ["WETH listed", "WETH minAmount"],
    (subject) => subject.escrow.delistToken(token(subject, "WETH").address),
  ],
  [
    "a token that the file lacks",
    ["listed tokens that the file lacks"],
    async ({ chain, escrow }) => {
      const plain = await chain.ethers.deployContract("PlainToken");
      const valuation = { feed: chain.ethers.ZeroAddress, maxPriceAge: 0, decimals: 6, listed: true, minAmount: 2 };
      return escrow.listToken(plain, valuation);
    },
  ],
  ["other decimals of a token", ["WETH decimals"], (subject) => void (token(subject, "WETH").decimals = 8)],
  ["another feed of a token", ["WETH feed"], async (subject) => relist(subject, { feed: await feedOf(subject, 8) })],
  ["another age of prices", ["WETH maxPriceAge"], (subject) => relist(subject, { maxPriceAge: 7_200 })],
  ["another least deposit", ["WETH minAmount"], (subject) => relist(subject, { minAmount: 2n })],
  [
    "a feed with other decimals",
    ["WETH feed's decimals"],
    async (subject) =>
      setCode(
        subject,
        token(subject, "WETH").feed,
        await subject.chain.ethers.provider.getCode(await feedOf(subject, 18)),
      ),
  ],
  ["a feed that is gone", ["WETH feed's decimals"], (subject) => setCode(subject, token(subject, "WETH").feed, "0x")],
  ["a shorter delay", ["timelock delay"], ({ timelock }) => timelock.updateDelay(60)],
  [
    "a multisig without code",
    ["multisig is a contract"],
    (subject) => setCode(subject, subject.governance.multisig, "0x"),
  ],
  [
    "a wallet with delegated code as multisig",
    ["multisig is a contract"],
    (subject) => setCode(subject, subject.governance.multisig, `0xef0100${subject.stranger.address.slice(2)}`),
  ],
  [
    "a multisig that may not propose",
    ["multisig proposes"],
    async ({ timelock, governance }) => timelock.revokeRole(await timelock.PROPOSER_ROLE(), governance.multisig),
  ],
  [
    "a multisig that may not execute",
    ["multisig executes"],
    async ({ timelock, governance }) => timelock.revokeRole(await timelock.EXECUTOR_ROLE(), governance.multisig),
  ],
  [
    "a multisig that may not cancel",
    ["multisig cancels"],
    async ({ timelock, governance }) => timelock.revokeRole(await timelock.CANCELLER_ROLE(), governance.multisig),
  ],
  [
    "a multisig that administers the timelock",
    ["multisig administers the timelock"],
    async ({ timelock, governance }) => timelock.grantRole(await timelock.DEFAULT_ADMIN_ROLE(), governance.multisig),
  ],
  [
    "a timelock that does not administer itself",
    ["timelock administers itself"],
    async ({ timelock, governance }) => timelock.revokeRole(await timelock.DEFAULT_ADMIN_ROLE(), governance.timelock),
  ],
  [
    "an executor role that is open to all",
    ["anyone executes"],
    async ({ timelock, chain }) => timelock.grantRole(await timelock.EXECUTOR_ROLE(), chain.ethers.ZeroAddress),
  ],
];

const NOTES: [title: string, note: RegExp, change: (subject: Subject) => Promise<unknown>][] = [
  [
    "a pause",
    /^new escrows are paused$/,
    async ({ chain, escrow }) => escrow.connect(chain.signers[3] ?? chain.deployer).pause(),
  ],
  [
    "suspended rulings",
    /^rulings are paused$/,
    async ({ chain, resolver }) => resolver.connect(chain.signers[3] ?? chain.deployer).pauseRulings(),
  ],
  ...KEYS.map((key): (typeof NOTES)[number] => [
    `a proposed owner of ${key}`,
    new RegExp(`^owner of ${key}: 0x[0-9a-fA-F]{40} is proposed`),
    (subject) => subject[key].transferOwnership(subject.stranger),
  ]),
  [
    "a proposed pauser",
    /^pauser: 0x[0-9a-fA-F]{40} is proposed/,
    ({ escrow, stranger }) => escrow.transferPauser(stranger),
  ],
  [
    "a proposed system resolver",
    /^system resolver: 0x[0-9a-fA-F]{40} is proposed/,
    ({ resolver, stranger }) => resolver.transferResolver(SYSTEM, stranger),
  ],
  [
    "a proposed admin resolver",
    /^admin resolver: 0x[0-9a-fA-F]{40} is proposed/,
    ({ resolver, stranger }) => resolver.transferResolver(ADMIN, stranger),
  ],
  [
    "a price that is stale",
    /^WETH cannot be valued now/,
    async (subject) => {
      const { chain } = subject;
      const feed = await chain.ethers.getContractAt("MockPriceFeed", token(subject, "WETH").feed);
      const now = await chain.connection.networkHelpers.time.latest();
      await feed.setRound({
        roundId: 1,
        answeredInRound: 1,
        answer: 1,
        startedAt: now - 3_700,
        updatedAt: now - 3_700,
      });
    },
  ],
  [
    "an implementation of other sources",
    /^score: the sources compile to another implementation/,
    async (subject) => {
      const next = await nextOf(subject, "NextScore");
      await subject.score.upgradeToAndCall(next, "0x");
      subject.deployment.contracts.score.implementation = next;
    },
  ],
];

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
      ...(await differencesOf(provider, subject.deployment)),
      ...(await tokenListDifferencesOf(provider, subject.deployment)),
      ...(await codeDifferencesOf(provider, subject.deployment)),
    ];
    return all.map(({ fact }) => fact);
  };
  const notes = (): Promise<string[]> => notesOf(chain.ethers.provider, subject.deployment);
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
    const known = factsOf(chain.ethers.provider, subject.deployment).map(({ fact }) => fact);
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
