import type { Provider } from "ethers";
import { ZeroAddress } from "ethers";

import { EscrowV2__factory } from "../../typechain-types/factories/contracts/EscrowV2__factory.ts";
import { ResolverV2__factory } from "../../typechain-types/factories/contracts/ResolverV2__factory.ts";
import { ScoreV2__factory } from "../../typechain-types/factories/contracts/ScoreV2__factory.ts";
import type { ContractKey, Deployment } from "../system/deployment-file.ts";
import { BYTECODES, isOfBuild } from "../system/implementations.ts";
import { ADMIN_ROLE, SYSTEM_ROLE } from "./facts.ts";

/**
 * Valid states that an operator should know about: a pause of new escrows or rulings, pending role transfers, a token
 * that can't be valued now, and implementations that the current sources don't compile to.
 */
export async function readNotes(provider: Provider, deployment: Deployment): Promise<string[]> {
  const { contracts, tokens } = deployment;
  const escrow = EscrowV2__factory.connect(contracts.escrow.proxy, provider);
  const score = ScoreV2__factory.connect(contracts.score.proxy, provider);
  const resolver = ResolverV2__factory.connect(contracts.resolver.proxy, provider);
  const notes: string[] = [];
  if (await escrow.paused()) notes.push("new escrows are paused");
  if (await resolver.rulingsPaused()) notes.push("rulings are paused");
  for (const [role, proposed] of [
    ["owner of escrow", await escrow.pendingOwner()],
    ["owner of score", await score.pendingOwner()],
    ["owner of resolver", await resolver.pendingOwner()],
    ["pauser", await escrow.pendingPauser()],
    ["system resolver", await resolver.pendingResolverOf(SYSTEM_ROLE)],
    ["admin resolver", await resolver.pendingResolverOf(ADMIN_ROLE)],
  ] as const) {
    if (proposed !== ZeroAddress) notes.push(`${role}: ${proposed} is proposed and may accept`);
  }
  for (const { symbol, address, feed } of tokens) {
    if (feed === ZeroAddress) continue;
    const valued = await escrow.usdValue(address, 1).then(
      () => true,
      () => false,
    );
    if (!valued) notes.push(`${symbol} cannot be valued now: its feed ${feed} has no answer that counts`);
  }
  for (const key of Object.keys(contracts) as ContractKey[]) {
    if (isOfBuild(deployment, key, BYTECODES[key])) continue;
    notes.push(`${key}: the sources compile to another implementation; see hardhat upgrade`);
  }
  return notes;
}
