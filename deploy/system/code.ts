import type { Provider } from "ethers";
import { dataSlice, getAddress } from "ethers";

/** Storage slot of a proxy's implementation (ERC-1967). */
const IMPLEMENTATION_SLOT = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
/** Prefix of the code of a wallet that delegates to a contract (EIP-7702). */
const DELEGATION_PREFIX = "0xef0100";

/** True when there is code at an address. */
export async function hasCode(provider: Provider, address: string): Promise<boolean> {
  return (await provider.getCode(address)) !== "0x";
}

/** Also false for a wallet that delegates to a contract (EIP-7702), because its one key still controls everything. */
export async function isContract(provider: Provider, address: string): Promise<boolean> {
  const code = await provider.getCode(address);
  return code !== "0x" && !code.startsWith(DELEGATION_PREFIX);
}

/** The implementation behind a proxy. */
export async function implementationOf(provider: Provider, proxy: string): Promise<string> {
  return getAddress(dataSlice(await provider.getStorage(proxy, IMPLEMENTATION_SLOT), 12));
}
