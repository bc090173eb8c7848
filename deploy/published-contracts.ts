import { ZeroAddress } from "ethers";

import { EscrowV2__factory } from "../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../typechain-types/factories/contracts/ScoreV2__factory.ts";
import type { Deployment } from "./deployment-file.ts";

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

/** The implementations, the proxies with the calls that initialized them, and the timelock where there is one. */
export function publishedContracts(deployment: Deployment): PublishedContract[] {
  const { contracts, roles, tokens, governance } = deployment;
  const { escrow, score, resolver } = contracts;
  const listings = tokens.map(({ address, feed, maxPriceAge, decimals, minAmount }) => ({
    token: address,
    config: { feed, maxPriceAge, decimals, listed: true, minAmount },
  }));
  const initialization = {
    escrow: EscrowV2__factory.createInterface().encodeFunctionData("initialize", [
      roles.owner,
      roles.treasury,
      roles.pauser,
      score.proxy,
      resolver.proxy,
      listings,
    ]),
    score: ScoreV2__factory.createInterface().encodeFunctionData("initialize", [roles.owner, escrow.proxy]),
    resolver: ResolverV2__factory.createInterface().encodeFunctionData("initialize", [
      roles.owner,
      escrow.proxy,
      roles.systemResolver,
      roles.adminResolver,
    ]),
  };
  const published: PublishedContract[] = [];
  for (const [key, name] of [
    ["escrow", "EscrowV2"],
    ["score", "ScoreV2"],
    ["resolver", "ResolverV2"],
  ] as const) {
    const { proxy, implementation } = contracts[key];
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
        constructorArgs: [implementation, initialization[key]],
      },
    );
  }
  if (governance) {
    const { timelock, multisig, minDelaySeconds } = governance;
    published.push({
      title: "timelock",
      address: timelock,
      contract: TIMELOCK,
      constructorArgs: [minDelaySeconds, [multisig], [multisig], ZeroAddress],
    });
  }
  return published;
}
