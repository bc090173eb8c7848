import { ZeroAddress } from "ethers";

import type { Deployment } from "../system/deployment-file.ts";
import { constructorArgsOf } from "../system/implementations.ts";

/** A deployed contract and what publishing its source needs. */
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
 * The current implementations, and the proxies and the timelock (if any) with their creation arguments, which don't
 * change when an implementation, a role or the token list changes later.
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
    published.push(
      {
        title: `${name}, implementation`,
        address: implementation,
        contract: `contracts/${name}.sol:${name}`,
        constructorArgs: constructorArgsOf(deployment, key),
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
