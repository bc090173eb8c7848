import type { Provider, Signer } from "ethers";
import { ZeroAddress, concat } from "ethers";

import { TimelockController__factory } from "../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { MarketplaceDeployment__factory } from "../../typechain-types/factories/contracts/MarketplaceDeployment__factory.ts";
import { ResolverV2__factory } from "../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../typechain-types/factories/contracts/ScoreV2__factory.ts";
import type { SettlementNetwork, TokenFacts } from "../networks.ts";
import { NETWORKS, TIMELOCK_DELAY_SECONDS } from "../networks.ts";
import { create2Address, ensureCreated } from "./create2.ts";
import type { DeployedContract, DeployedGovernance, DeployedRoles, Deployment } from "./deployment-file.ts";
import { problem } from "./problem.ts";

/** Addresses of the implementations that the current sources compile to. */
export interface Implementations {
  escrow: string;
  score: string;
  resolver: string;
}

/** The inputs of a deployment. */
export interface SystemOptions {
  deployer: Signer;
  provider: Provider;
  network: SettlementNetwork;
  roles: DeployedRoles;
  governance?: DeployedGovernance;
  log: (line: string) => void;
}

/** The addresses at which the current sources' implementations are, or would be, deployed. */
export function implementationsOfBuild(): Implementations {
  return {
    escrow: create2Address(EscrowV2__factory.bytecode),
    score: create2Address(ScoreV2__factory.bytecode),
    resolver: create2Address(ResolverV2__factory.bytecode),
  };
}

/** Creates the three implementations and the three proxies, except those that already exist. */
export async function deploySystem(options: SystemOptions): Promise<Deployment> {
  const { deployer, provider, network, roles, log } = options;
  const facts = NETWORKS[network];

  const create = async (name: string, initCode: string): Promise<string> => {
    const { address, created } = await ensureCreated(deployer, provider, initCode);
    log(`${created ? "created" : "found  "} ${name} at ${address}`);
    return address;
  };
  const implementations: Implementations = {
    escrow: await create("EscrowV2 implementation", EscrowV2__factory.bytecode),
    score: await create("ScoreV2 implementation", ScoreV2__factory.bytecode),
    resolver: await create("ResolverV2 implementation", ResolverV2__factory.bytecode),
  };
  const birth = MarketplaceDeployment__factory.connect(
    await create("the proxies' deployment", birthCode(implementations, roles, facts.tokens)),
    provider,
  );

  const [escrow, score, resolver, startBlock] = await Promise.all([
    birth.escrow(),
    birth.score(),
    birth.resolver(),
    birth.startBlock(),
  ]);
  const block = Number(startBlock);
  const txHash = await creationHash(provider, escrow, block);
  const calls = initialization(roles, { escrow, score, resolver }, facts.tokens);
  const contract = (key: keyof Implementations, proxy: string): DeployedContract => ({
    proxy,
    implementation: implementations[key],
    txHash,
    created: { implementation: implementations[key], initData: calls[key] },
  });
  return {
    network,
    chainId: facts.chainId,
    startBlock: block,
    contracts: {
      escrow: contract("escrow", escrow),
      score: contract("score", score),
      resolver: contract("resolver", resolver),
    },
    roles,
    ...(options.governance && { governance: options.governance }),
    tokens: facts.tokens.map((token) => ({
      symbol: token.symbol,
      address: token.address,
      decimals: token.decimals,
      feed: token.feed ?? ZeroAddress,
      maxPriceAge: token.maxPriceAge,
      minAmount: token.minAmount.toString(),
    })),
  };
}

/** Creates the timelock that owns the contracts. Only the multisig proposes, cancels and executes. */
export async function ensureTimelock(
  deployer: Signer,
  provider: Provider,
  multisig: string,
  log: (line: string) => void,
): Promise<string> {
  const initCode = timelockInitCode({ multisig, minDelaySeconds: TIMELOCK_DELAY_SECONDS });
  const { address, created } = await ensureCreated(deployer, provider, initCode);
  log(`${created ? "created" : "found  "} TimelockController at ${address}`);
  return address;
}

/** The creation code of a multisig's timelock. */
export function timelockInitCode({ multisig, minDelaySeconds }: DeployedGovernance["created"]): string {
  const args = TimelockController__factory.createInterface().encodeDeploy([
    minDelaySeconds,
    [multisig],
    [multisig],
    ZeroAddress, // no admin except the timelock itself
  ]);
  return concat([TimelockController__factory.bytecode, args]);
}

function birthCode(implementations: Implementations, roles: DeployedRoles, tokens: readonly TokenFacts[]): string {
  const args = MarketplaceDeployment__factory.createInterface().encodeDeploy([
    implementations,
    roles,
    listingsOf(tokens),
  ]);
  return concat([MarketplaceDeployment__factory.bytecode, args]);
}

/** The calls with which MarketplaceDeployment initializes the proxies. */
function initialization(
  roles: DeployedRoles,
  proxies: Record<keyof Implementations, string>,
  tokens: readonly TokenFacts[],
): Record<keyof Implementations, string> {
  const { owner, treasury, pauser, systemResolver, adminResolver } = roles;
  const { escrow, score, resolver } = proxies;
  return {
    escrow: EscrowV2__factory.createInterface().encodeFunctionData("initialize", [
      owner,
      treasury,
      pauser,
      score,
      resolver,
      listingsOf(tokens),
    ]),
    score: ScoreV2__factory.createInterface().encodeFunctionData("initialize", [owner, escrow]),
    resolver: ResolverV2__factory.createInterface().encodeFunctionData("initialize", [
      owner,
      escrow,
      systemResolver,
      adminResolver,
    ]),
  };
}

function listingsOf(tokens: readonly TokenFacts[]) {
  return tokens.map((token) => ({
    token: token.address,
    config: {
      feed: token.feed ?? ZeroAddress,
      maxPriceAge: token.maxPriceAge,
      decimals: token.decimals,
      listed: true,
      minAmount: token.minAmount,
    },
  }));
}

/** The transaction that created a proxy in a known block, found by the event that every proxy emits at creation. */
async function creationHash(provider: Provider, proxy: string, block: number): Promise<string> {
  const upgraded = EscrowV2__factory.createInterface().getEvent("Upgraded").topicHash;
  const [log] = await provider.getLogs({ address: proxy, topics: [upgraded], fromBlock: block, toBlock: block });
  if (!log) throw problem(`The RPC node shows no creation of ${proxy} in block ${block}`);
  return log.transactionHash;
}
