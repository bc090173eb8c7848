import type { Provider } from "ethers";
import { dataSlice, getAddress } from "ethers";

import { TimelockController__factory } from "../typechain-types/factories/@openzeppelin/contracts/governance/TimelockController__factory.ts";
import { EscrowV2__factory } from "../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../typechain-types/factories/contracts/ScoreV2__factory.ts";
import { hasCode } from "./create2.ts";
import type { Deployment } from "./deployment-file.ts";

/** Slot in which a proxy keeps its implementation (ERC-1967). */
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
const SYSTEM_ROLE = 0;
const ADMIN_ROLE = 1;

/** One fact that is not on the chain as the file tells it. */
export interface Difference {
  fact: string;
  expected: string;
  actual: string;
}

/** True when all three proxies of a deployment have code. */
export async function stands(provider: Provider, deployment: Deployment): Promise<boolean> {
  const { escrow, score, resolver } = deployment.contracts;
  const found = await Promise.all([escrow, score, resolver].map(({ proxy }) => hasCode(provider, proxy)));
  return found.every(Boolean);
}

/** The implementation behind a proxy. */
export async function implementationOf(provider: Provider, proxy: string): Promise<string> {
  return getAddress(dataSlice(await provider.getStorage(proxy, IMPLEMENTATION_SLOT), 12));
}

/** Reads everything that a deployment file says back from the chain and returns what differs. */
export async function differencesOf(provider: Provider, deployment: Deployment): Promise<Difference[]> {
  const differences: Difference[] = [];
  const compare = (fact: string, expected: unknown, actual: unknown): void => {
    if (String(expected) !== String(actual)) {
      differences.push({ fact, expected: String(expected), actual: String(actual) });
    }
  };

  const { contracts, roles, governance } = deployment;
  compare("chain id", deployment.chainId, (await provider.getNetwork()).chainId);
  for (const [name, { proxy, implementation }] of Object.entries(contracts)) {
    compare(`implementation of ${name}`, implementation, await implementationOf(provider, proxy));
    compare(`code of the implementation of ${name}`, true, await hasCode(provider, implementation));
  }

  const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, provider);
  const score = ScoreV2__factory.connect(contracts.score.proxy, provider);
  const resolver = ResolverV2__factory.connect(contracts.resolver.proxy, provider);
  compare("owner of escrow", roles.owner, await escrow.owner());
  compare("owner of score", roles.owner, await score.owner());
  compare("owner of resolver", roles.owner, await resolver.owner());
  compare("treasury", roles.treasury, await escrow.treasury());
  compare("pauser", roles.pauser, await escrow.pauser());
  compare("system resolver", roles.systemResolver, await resolver.resolverOf(SYSTEM_ROLE));
  compare("admin resolver", roles.adminResolver, await resolver.resolverOf(ADMIN_ROLE));
  compare("score contract of escrow", contracts.score.proxy, await escrow.scoreContract());
  compare("resolver contract of escrow", contracts.resolver.proxy, await escrow.resolverContract());
  compare("escrow contract of score", contracts.escrow.proxy, await score.escrowContract());
  compare("escrow contract of resolver", contracts.escrow.proxy, await resolver.escrowContract());

  for (const token of deployment.tokens) {
    const config = await escrow.tokenConfig(token.address);
    compare(`${token.symbol} listed`, true, config.listed);
    compare(`${token.symbol} decimals`, token.decimals, config.decimals);
    compare(`${token.symbol} feed`, token.feed, config.feed);
    compare(`${token.symbol} maxPriceAge`, token.maxPriceAge, config.maxPriceAge);
    compare(`${token.symbol} minAmount`, token.minAmount, config.minAmount);
  }

  if (governance) {
    const timelock = TimelockController__factory.connect(governance.timelock, provider);
    const [proposer, executor, admin] = await Promise.all([
      timelock.PROPOSER_ROLE(),
      timelock.EXECUTOR_ROLE(),
      timelock.DEFAULT_ADMIN_ROLE(),
    ]);
    compare("timelock delay", governance.minDelaySeconds, await timelock.getMinDelay());
    compare("multisig proposes", true, await timelock.hasRole(proposer, governance.multisig));
    compare("multisig executes", true, await timelock.hasRole(executor, governance.multisig));
    compare("multisig is no admin", false, await timelock.hasRole(admin, governance.multisig));
  }
  return differences;
}

/** Differences as lines for people. */
export function describeDifferences(differences: readonly Difference[]): string {
  return differences.map(({ fact, expected, actual }) => `  ${fact}: ${actual}, expected ${expected}`).join("\n");
}
