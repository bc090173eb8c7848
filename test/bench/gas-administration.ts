import type { ContractTransactionResponse } from "ethers";

import { deployUsdc, tokenAddress } from "../contracts/fixtures/tokens.ts";
import { type GasSetup, used } from "./gas-setup.ts";

/** On `base`: 48 hours. */
const TIMELOCK_SECONDS = 172_800;
const SYSTEM_ROLE = 0;
const ANOTHER_TOKEN = tokenAddress("USDC", "base-sepolia");
const RELEASED = 0;

/** Measures what owner, pauser and proposed holders can do, each first step with the role's holder of the deployment. */
export async function measureAdministration(setup: GasSetup): Promise<Record<string, number>> {
  return {
    "initialize (whole deployment)": setup.deploymentGas,
    ...(await measurePause(setup)),
    ...(await measureTokens(setup)),
    ...(await measureRoles(setup)),
    ...(await measureTreasury(setup)),
    ...(await measureScoring(setup)),
    ...(await measureOwnership(setup)),
    ...(await measureTimelock(setup)),
  };
}

async function measurePause({ contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const [escrow, resolver] = [contracts.escrow.connect(wallets.pauser), contracts.resolver.connect(wallets.pauser)];
  return {
    pause: await used(escrow.pause()),
    unpause: await used(escrow.unpause()),
    pauseRulings: await used(resolver.pauseRulings()),
    unpauseRulings: await used(resolver.unpauseRulings()),
  };
}

async function measureTokens({ connection, contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const escrow = contracts.escrow.connect(wallets.owner);
  const feed = await connection.ethers.deployContract("MockPriceFeed", [8, 10n ** 8n]);
  const token = await (await deployUsdc(connection, ANOTHER_TOKEN)).getAddress();
  const config = { feed: await feed.getAddress(), maxPriceAge: 86_400, decimals: 6, listed: true, minAmount: 10_000 };
  return {
    listToken: await used(escrow.listToken(token, config)),
    "listToken (listed before)": await used(escrow.listToken(token, { ...config, minAmount: 20_000 })),
    delistToken: await used(escrow.delistToken(token)),
  };
}

async function measureRoles({ contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const { escrow, resolver } = contracts;
  const next = wallets.relayer;
  return {
    transferPauser: await used(escrow.connect(wallets.owner).transferPauser(next.address)),
    acceptPauser: await used(escrow.connect(next).acceptPauser()),
    transferResolver: await used(resolver.connect(wallets.owner).transferResolver(SYSTEM_ROLE, next.address)),
    acceptResolver: await used(resolver.connect(next).acceptResolver(SYSTEM_ROLE)),
    revokeResolver: await used(resolver.connect(wallets.owner).revokeResolver(SYSTEM_ROLE, next.address)),
  };
}

async function measureTreasury({ contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const escrow = contracts.escrow.connect(wallets.owner);
  return { setTreasury: await used(escrow.setTreasury(wallets.relayer.address)) };
}

/** As a transaction of its own, in the escrow contract's name. */
async function measureScoring({ connection, contracts, wallets, steps }: GasSetup): Promise<Record<string, number>> {
  const { ethers, networkHelpers } = connection;
  const writer = await contracts.escrow.getAddress();
  await networkHelpers.setBalance(writer, 10n ** 18n);
  const score = contracts.score.connect(await ethers.getImpersonatedSigner(writer));
  const { buyer, seller } = wallets;
  return {
    recordOutcome: await used(score.recordOutcome(steps.hash(), buyer.address, seller.address, RELEASED)),
  };
}

async function measureOwnership({ connection, contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const { escrow } = contracts;
  const { owner, relayer } = wallets;
  const { ethers } = connection;
  const peers = [contracts.score, contracts.resolver, contracts.usdc];
  const upgrade = async (proxy: unknown, implementation: "NextEscrow" | "NextScore" | "NextResolver") => {
    const uups = await ethers.getContractAt("EscrowV2", await (proxy as typeof escrow).getAddress());
    const next = await ethers.deployContract(implementation, implementation === "NextEscrow" ? peers : [escrow]);
    return used(uups.connect(owner).upgradeToAndCall(next, "0x"));
  };
  return {
    "upgradeToAndCall (escrow)": await upgrade(escrow, "NextEscrow"),
    "upgradeToAndCall (score)": await upgrade(contracts.score, "NextScore"),
    "upgradeToAndCall (resolver)": await upgrade(contracts.resolver, "NextResolver"),
    transferOwnership: await used(escrow.connect(owner).transferOwnership(relayer.address)),
    acceptOwnership: await used(escrow.connect(relayer).acceptOwnership()),
    renounceOwnership: await used(escrow.connect(relayer).renounceOwnership()),
  };
}

/** The two calls of the multisig for one of the owner's, here the one that makes the timelock the owner. */
async function measureTimelock({ connection, contracts, wallets, steps }: GasSetup): Promise<Record<string, number>> {
  const { ethers, networkHelpers } = connection;
  const { resolver } = contracts;
  const multisig = wallets.owner.address;
  const args = [TIMELOCK_SECONDS, [multisig], [multisig], ethers.ZeroAddress];
  const timelock = await ethers.deployContract("TimelockController", args, wallets.owner);
  await resolver.connect(wallets.owner).transferOwnership(timelock);
  const data = resolver.interface.encodeFunctionData("acceptOwnership");
  const salt = steps.hash();
  const call = [await resolver.getAddress(), 0, data, ethers.ZeroHash, salt] as const;
  const send = (name: "schedule" | "execute", ...values: unknown[]) =>
    timelock.getFunction(name)(...values) as Promise<ContractTransactionResponse>;
  const schedule = await used(send("schedule", ...call, TIMELOCK_SECONDS));
  await networkHelpers.time.increase(TIMELOCK_SECONDS);
  return { "timelock schedule": schedule, "timelock execute (acceptOwnership)": await used(send("execute", ...call)) };
}
