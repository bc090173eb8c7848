import { ZeroAddress } from "ethers";

import type { Deployment } from "../system/deployment-file.ts";
import { problem } from "../system/problem.ts";

/** A contract on the chain with what is needed to publish its source. */
export interface PublishedContract {
  title: string;
  address: string;
  /** Fully qualified name. */
  contract: string;
  constructorArgs: unknown[];
}

const PROXY = "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol:ERC1967Proxy";
const TIMELOCK = "@openzeppelin/contracts/governance/TimelockController.sol:TimelockController";

/**
 * The implementations that stand behind the proxies, and the proxies and the timelock (where there is one) with the
 * arguments that they were created with: those stay what they were when the implementation, a role or the token list
 * has changed since.
 */
export function publishedContracts(deployment: Deployment): PublishedContract[] {
  const { contracts, governance } = deployment;
  const published: PublishedContract[] = [];
  for (const [key, name] of [
    ["escrow", "EscrowV2"],
    ["score", "ScoreV2"],
    ["resolver", "ResolverV2"],
  ] as const) {
    const { proxy, implementation, created } = contracts[key];
    if (!created) throw problem(`The deployment file does not say what the proxy of ${key} was created with`);
    published.push(
      {
        title: `${name}, implementation`,
        address: implementation,
        contract: `contracts/${name}.sol:${name}`,
        constructorArgs: [],
      },
      {
        title: `${name}, proxy`,
        address: proxy,
        contract: PROXY,
        constructorArgs: [created.implementation, created.initData],
      },
    );
  }
  if (governance) {
    const { multisig, minDelaySeconds } = governance.created;
    published.push({
      title: "timelock",
      address: governance.timelock,
      contract: TIMELOCK,
      constructorArgs: [minDelaySeconds, [multisig], [multisig], ZeroAddress],
    });
  }
  return published;
}
