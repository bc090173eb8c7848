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
    "initialize (three proxies)": setup.deploymentGas,
    ...(await measurePause(setup)),
    ...(await measureTokens(setup)),
    ...(await measureRoles(setup)),
    ...(await measureAddresses(setup)),
    ...(await measureOwnership(setup)),
    ...(await measureTimelock(setup)),
  };
}

async function measurePause({ contracts: { escrow }, wallets }: GasSetup): Promise<Record<string, number>> {
  return {
    pause: await used(escrow.connect(wallets.pauser).pause()),
    unpause: await used(escrow.connect(wallets.pauser).unpause()),
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
  };
}

async function measureAddresses({ connection, contracts, wallets, steps }: GasSetup): Promise<Record<string, number>> {
  const { owner, relayer, buyer, seller } = wallets;
  const escrow = contracts.escrow.connect(owner);
  const score = contracts.score.connect(owner);
  const { ethers } = connection;
  const another = await ethers.deployContract("ScoreV2");
  const gas: Record<string, number> = {
    setTreasury: await used(escrow.setTreasury(relayer.address)),
    setScoreContract: await used(escrow.setScoreContract(another)),
    setResolverContract: await used(escrow.setResolverContract(another)),
    "setEscrowContract (score)": await used(score.setEscrowContract(relayer.address)),
    "setEscrowContract (resolver)": await used(contracts.resolver.connect(owner).setEscrowContract(relayer.address)),
  };
  // As a transaction of its own: the writer of the score contract is a wallet now.
  gas["recordOutcome"] = await used(
    score.connect(relayer).recordOutcome(steps.hash(), buyer.address, seller.address, RELEASED),
  );
  return gas;
}

async function measureOwnership({ connection, contracts, wallets }: GasSetup): Promise<Record<string, number>> {
  const { escrow } = contracts;
  const { owner, relayer } = wallets;
  const { ethers } = connection;
  const upgrade = async (proxy: unknown, implementation: "NextEscrow" | "NextScore" | "NextResolver") => {
    const uups = await ethers.getContractAt("EscrowV2", await (proxy as typeof escrow).getAddress());
    return used(uups.connect(owner).upgradeToAndCall(await ethers.deployContract(implementation), "0x"));
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
