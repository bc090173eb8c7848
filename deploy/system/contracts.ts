import type { Provider, Signer } from "ethers";
import { ZeroAddress, concat } from "ethers";

import { TimelockController__factory } from "../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { MarketplaceDeployment__factory } from "../../typechain-types/factories/contracts/MarketplaceDeployment__factory.ts";
import { ResolverV2__factory } from "../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../typechain-types/factories/contracts/ScoreV2__factory.ts";
import type { SettlementNetwork, TokenFacts } from "../networks.ts";
import { NETWORKS, TIMELOCK_DELAY_SECONDS } from "../networks.ts";
import { ensureCreated } from "./create2.ts";
import type {
  ContractKey,
  DeployedContract,
  DeployedGovernance,
  DeployedRoles,
  Deployment,
} from "./deployment-file.ts";
import { birthCode } from "./implementations.ts";
import { problem } from "./problem.ts";

/** The inputs of a deployment. */
export interface SystemOptions {
  deployer: Signer;
  provider: Provider;
  network: SettlementNetwork;
  roles: DeployedRoles;
  governance?: DeployedGovernance;
  log: (line: string) => void;
}

/** Creates the three contracts in one transaction, unless they already exist. */
export async function deploySystem(options: SystemOptions): Promise<Deployment> {
  const { deployer, provider, network, roles, log } = options;
  const facts = NETWORKS[network];
  const { address, created } = await ensureCreated(deployer, provider, birthCode(roles, toListings(facts.tokens)));
  log(`${created ? "created" : "found  "} the three contracts by ${address}`);

  const birth = MarketplaceDeployment__factory.connect(address, provider);
  const [escrow, score, resolver, startBlock] = await Promise.all([
    Promise.all([birth.escrow(), birth.escrowImplementation()]),
    Promise.all([birth.score(), birth.scoreImplementation()]),
    Promise.all([birth.resolver(), birth.resolverImplementation()]),
    birth.startBlock(),
  ]);
  const block = Number(startBlock);
  const txHash = await creationHash(provider, escrow[0], block);
  const calls = initialization(roles, facts.tokens);
  const contract = (key: ContractKey, [proxy, implementation]: [string, string]): DeployedContract => {
    log(`  ${key} at ${proxy}, implementation at ${implementation}`);
    return { proxy, implementation, txHash, created: { implementation, initData: calls[key] } };
  };
  return {
    network,
    chainId: facts.chainId,
    startBlock: block,
    contracts: {
      escrow: contract("escrow", escrow),
      score: contract("score", score),
      resolver: contract("resolver", resolver),
    },
    mainToken: facts.tokens[0]?.address ?? ZeroAddress,
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

/** The calls with which MarketplaceDeployment initializes the proxies. */
function initialization(roles: DeployedRoles, tokens: readonly TokenFacts[]): Record<ContractKey, string> {
  const { owner, treasury, pauser, systemResolver, adminResolver } = roles;
  return {
    escrow: EscrowV2__factory.createInterface().encodeFunctionData("initialize", [
      owner,
      treasury,
      pauser,
      toListings(tokens),
    ]),
    score: ScoreV2__factory.createInterface().encodeFunctionData("initialize", [owner]),
    resolver: ResolverV2__factory.createInterface().encodeFunctionData("initialize", [
      owner,
      systemResolver,
      adminResolver,
    ]),
  };
}

function toListings(tokens: readonly TokenFacts[]) {
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
