import type { Provider, Signer } from "ethers";
import { concat, getCreate2Address, id, keccak256 } from "ethers";

import { hasCode } from "./code.ts";
import { problem } from "./problem.ts";

/**
 * The deterministic deployment proxy, at this address on Base, Base Sepolia and anvil
 * (https://github.com/Arachnid/deterministic-deployment-proxy). The address of what it creates depends on the code
 * alone, so a deployment that was interrupted finds what it has already created.
 */
export const CREATE2_FACTORY = "0x4e59b44847b379578588920cA78FbF26c0B4956C";
/** Runtime code of the factory, for local chains that lack it. */
export const CREATE2_FACTORY_CODE =
  "0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3";

const SALT = id("agent-marketplace/v2");

/** The address that `initCode` deploys to. */
export function create2Address(initCode: string): string {
  return getCreate2Address(CREATE2_FACTORY, SALT, keccak256(initCode));
}

/** Creates a contract unless it exists. Throws when the chain lacks the factory or the creation fails. */
export async function ensureCreated(
  deployer: Signer,
  provider: Provider,
  initCode: string,
): Promise<{ address: string; created: boolean }> {
  const address = create2Address(initCode);
  if (await hasCode(provider, address)) return { address, created: false };
  if (!(await hasCode(provider, CREATE2_FACTORY))) {
    throw problem(`This chain has no deterministic deployment proxy at ${CREATE2_FACTORY}`);
  }
  const transaction = await deployer.sendTransaction({ to: CREATE2_FACTORY, data: concat([SALT, initCode]) });
  await transaction.wait();
  if (!(await hasCode(provider, address))) {
    throw problem(`Transaction ${transaction.hash} created nothing at ${address}`);
  }
  return { address, created: true };
}
