import type { Provider } from "ethers";
import { ZeroAddress } from "ethers";

import { TimelockController__factory } from "../../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../typechain-types/factories/contracts/ScoreV2__factory.ts";
import { IPriceFeed__factory } from "../../typechain-types/factories/contracts/interfaces/IPriceFeed__factory.ts";
import { NETWORKS } from "../networks.ts";
import { hasCode, implementationOf, isContract } from "../system/code.ts";
import type { DeployedGovernance, DeployedToken, Deployment } from "../system/deployment-file.ts";

export const SYSTEM_ROLE = 0;
export const ADMIN_ROLE = 1;

/** A fact that a deployment file states or implies, and how to read it from the chain. */
export interface Fact {
  fact: string;
  expected: unknown;
  read: () => Promise<unknown>;
  /** Updates the file from the chain; only for facts that may change lawfully after a deployment. */
  record?: (actual: string) => void;
}

/** All facts of a deployment: code, wiring, roles, tokens and timelock. */
export function listFacts(provider: Provider, deployment: Deployment): Fact[] {
  return [
    { fact: "chain id", expected: deployment.chainId, read: async () => (await provider.getNetwork()).chainId },
    ...codeFacts(provider, deployment),
    ...roleFacts(provider, deployment),
    ...wiringFacts(provider, deployment),
    ...deployment.tokens.flatMap((token) => tokenFacts(provider, deployment, token)),
    ...(deployment.governance ? timelockFacts(provider, deployment.governance) : []),
  ];
}

function codeFacts(provider: Provider, { contracts }: Deployment): Fact[] {
  return Object.entries(contracts).flatMap(([name, { proxy, implementation }]) => [
    { fact: `code of the proxy of ${name}`, expected: true, read: () => hasCode(provider, proxy) },
    { fact: `implementation of ${name}`, expected: implementation, read: () => implementationOf(provider, proxy) },
    { fact: `code of the implementation of ${name}`, expected: true, read: () => hasCode(provider, implementation) },
  ]);
}

function roleFacts(provider: Provider, { contracts, roles, governance }: Deployment): Fact[] {
  const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, provider);
  const score = ScoreV2__factory.connect(contracts.score.proxy, provider);
  const resolver = ResolverV2__factory.connect(contracts.resolver.proxy, provider);
  const held = (fact: string, role: keyof typeof roles, read: () => Promise<string>): Fact => ({
    fact,
    expected: roles[role],
    read,
    record: (actual) => {
      roles[role] = actual;
    },
  });
  const owned = (fact: string, read: () => Promise<string>): Fact => {
    const { record, ...owner } = held(fact, "owner", read);
    // Under a timelock, any other owner is wrong.
    return governance || !record ? owner : { ...owner, record };
  };
  return [
    owned("owner of escrow", () => escrow.owner()),
    owned("owner of score", () => score.owner()),
    owned("owner of resolver", () => resolver.owner()),
    held("treasury", "treasury", () => escrow.treasury()),
    held("pauser", "pauser", () => escrow.pauser()),
    held("system resolver", "systemResolver", () => resolver.resolverOf(SYSTEM_ROLE)),
    held("admin resolver", "adminResolver", () => resolver.resolverOf(ADMIN_ROLE)),
  ];
}

function wiringFacts(provider: Provider, { contracts, mainToken }: Deployment): Fact[] {
  const { escrow, score, resolver } = contracts;
  const escrowContract = EscrowV2__factory.connect(escrow.proxy, provider);
  const scoreContract = ScoreV2__factory.connect(score.proxy, provider);
  const resolverContract = ResolverV2__factory.connect(resolver.proxy, provider);
  return [
    { fact: "score contract of escrow", expected: score.proxy, read: () => escrowContract.scoreContract() },
    { fact: "resolver contract of escrow", expected: resolver.proxy, read: () => escrowContract.resolverContract() },
    { fact: "main token of escrow", expected: mainToken, read: () => escrowContract.mainToken() },
    { fact: "escrow contract of score", expected: escrow.proxy, read: () => scoreContract.escrowContract() },
    { fact: "escrow contract of resolver", expected: escrow.proxy, read: () => resolverContract.escrowContract() },
  ];
}

function tokenFacts(provider: Provider, { contracts, network }: Deployment, token: DeployedToken): Fact[] {
  const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, provider);
  const { symbol, address } = token;
  const config = () => escrow.tokenConfig(address);
  const facts: Fact[] = [
    { fact: `${symbol} listed`, expected: true, read: async () => (await config()).listed },
    { fact: `${symbol} decimals`, expected: token.decimals, read: async () => (await config()).decimals },
    {
      fact: `${symbol} feed`,
      expected: token.feed,
      read: async () => (await config()).feed,
      record: (actual) => {
        token.feed = actual;
      },
    },
    {
      fact: `${symbol} maxPriceAge`,
      expected: token.maxPriceAge,
      read: async () => (await config()).maxPriceAge,
      record: (actual) => {
        token.maxPriceAge = Number(actual);
      },
    },
    {
      fact: `${symbol} minAmount`,
      expected: token.minAmount,
      read: async () => (await config()).minAmount,
      record: (actual) => {
        token.minAmount = actual;
      },
    },
  ];
  const known = NETWORKS[network].tokens.find((candidate) => candidate.address === address);
  if (token.feed !== ZeroAddress && known?.feed === token.feed) {
    const feed = IPriceFeed__factory.connect(token.feed, provider);
    facts.push({ fact: `${symbol} feed's decimals`, expected: known.feedDecimals, read: () => feed.decimals() });
  }
  return facts;
}

function timelockFacts(provider: Provider, { timelock, multisig, minDelaySeconds }: DeployedGovernance): Fact[] {
  const contract = TimelockController__factory.connect(timelock, provider);
  const holds = (fact: string, expected: boolean, role: () => Promise<string>, holder: string): Fact => ({
    fact,
    expected,
    read: async () => contract.hasRole(await role(), holder),
  });
  const proposer = () => contract.PROPOSER_ROLE();
  const executor = () => contract.EXECUTOR_ROLE();
  const canceller = () => contract.CANCELLER_ROLE();
  const admin = () => contract.DEFAULT_ADMIN_ROLE();
  return [
    { fact: "code of the timelock", expected: true, read: () => hasCode(provider, timelock) },
    { fact: "timelock delay", expected: minDelaySeconds, read: () => contract.getMinDelay() },
    { fact: "multisig is a contract", expected: true, read: () => isContract(provider, multisig) },
    holds("multisig proposes", true, proposer, multisig),
    holds("multisig executes", true, executor, multisig),
    holds("multisig cancels", true, canceller, multisig),
    holds("multisig administers the timelock", false, admin, multisig),
    holds("timelock administers itself", true, admin, timelock),
    holds("anyone executes", false, executor, ZeroAddress),
  ];
}
