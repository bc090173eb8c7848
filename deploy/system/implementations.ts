import { AbiCoder, concat, getCreateAddress } from "ethers";

import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import type { TokenListingStruct } from "../../typechain-types/contracts/MarketplaceDeployment.ts";
import { MarketplaceDeployment__factory } from "../../typechain-types/factories/contracts/MarketplaceDeployment__factory.ts";
import { ResolverV2__factory } from "../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../typechain-types/factories/contracts/ScoreV2__factory.ts";
import { create2Address } from "./create2.ts";
import type { ContractKey, DeployedRoles, Deployment } from "./deployment-file.ts";
import { problem } from "./problem.ts";

/** The code of each implementation as the current sources compile it, without constructor arguments. */
export const BYTECODES: Record<ContractKey, string> = {
  escrow: EscrowV2__factory.bytecode,
  score: ScoreV2__factory.bytecode,
  resolver: ResolverV2__factory.bytecode,
};

/** Which of its creations MarketplaceDeployment makes each implementation. */
const CREATION_NONCES: Record<ContractKey, number> = { escrow: 1, score: 2, resolver: 3 };

/** The constructor arguments of an implementation: the proxies of the others, which only an upgrade changes. */
export function constructorArgsOf({ contracts, mainToken }: Deployment, key: ContractKey): string[] {
  const { escrow, score, resolver } = contracts;
  return key === "escrow" ? [score.proxy, resolver.proxy, mainToken] : [escrow.proxy];
}

/** The creation code of an implementation for the proxies of a deployment. */
export function implementationCode(deployment: Deployment, key: ContractKey, bytecode: string): string {
  const args = constructorArgsOf(deployment, key);
  return concat([bytecode, AbiCoder.defaultAbiCoder().encode(Array<string>(args.length).fill("address"), args)]);
}

/**
 * True when an implementation is at an address that only the current sources lead to: that of an upgrade, or that of
 * the deployment.
 */
export function isOfBuild(deployment: Deployment, key: ContractKey, bytecode: string): boolean {
  const { implementation } = deployment.contracts[key];
  if (implementation === create2Address(implementationCode(deployment, key, bytecode))) return true;
  return bytecode === BYTECODES[key] && implementation === bornAt(deployment, key);
}

/** Where the current sources would have put an implementation if they had been deployed with the same arguments. */
function bornAt({ contracts }: Deployment, key: ContractKey): string {
  const [escrow, resolver] = [contracts.escrow.created.initData, contracts.resolver.created.initData];
  const [owner, treasury, pauser, tokens] = EscrowV2__factory.createInterface().decodeFunctionData(
    "initialize",
    escrow,
  ) as unknown as [string, string, string, TokenListingStruct[]];
  const [, systemResolver, adminResolver] = ResolverV2__factory.createInterface().decodeFunctionData(
    "initialize",
    resolver,
  ) as unknown as [string, string, string];
  const birth = create2Address(birthCode({ owner, treasury, pauser, systemResolver, adminResolver }, tokens));
  return getCreateAddress({ from: birth, nonce: CREATION_NONCES[key] });
}

/** The creation code of MarketplaceDeployment, which creates everything. Throws without a token. */
export function birthCode(roles: DeployedRoles, tokens: TokenListingStruct[]): string {
  if (tokens.length === 0) throw problem("A deployment needs a token, because its first one is the main token");
  const args = MarketplaceDeployment__factory.createInterface().encodeDeploy([roles, tokens]);
  return concat([MarketplaceDeployment__factory.bytecode, args]);
}
