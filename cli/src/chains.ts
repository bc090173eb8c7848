import { createPublicClient, defineChain, http } from "viem";
import type { Chain, PublicClient } from "viem";

import type { Profile } from "./config/profile.ts";

const ether = { name: "Ether", symbol: "ETH", decimals: 18 };
const chain = (id: number, name: string, rpcUrl: string): Chain =>
  defineChain({ id, name, nativeCurrency: ether, rpcUrls: { default: { http: [rpcUrl] } } });

/** Written out: `viem/chains` has some 700 more, and loading them takes as long as everything else. */
const CHAINS: Readonly<Record<string, Chain>> = {
  "base-sepolia": chain(84_532, "Base Sepolia", "https://sepolia.base.org"),
  base: chain(8_453, "Base", "https://mainnet.base.org"),
};
/** Of the local stack (`npm start`). */
const LOCAL_RPC_URLS: Readonly<Record<string, string>> = {
  "base-sepolia": "http://127.0.0.1:8545",
  base: "http://127.0.0.1:8546",
};
/** The settlement networks. */
export const NETWORKS = ["base-sepolia", "base"] as const;
const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"];

/** The chain of a settlement network. @throws RangeError for one that this program doesn't know */
export function chainOf(network: string): Chain {
  const found = CHAINS[network];
  if (found === undefined) throw new RangeError(`unknown network ${network}`);
  return found;
}

/** Whether an address leads to this machine. */
export const isLoopback = (url: string): boolean => LOOPBACK.includes(new URL(url).hostname);

/** The RPC server of a network: the profile's, the local stack's beside a local API, or else the public one of the chain. */
export function rpcUrlOf(network: string, url: string, profile: Pick<Profile, "rpcUrls"> | undefined): string {
  const local = isLoopback(url) ? LOCAL_RPC_URLS[network] : undefined;
  return profile?.rpcUrls[network] ?? local ?? chainOf(network).rpcUrls.default.http[0] ?? "";
}

/** Reads a chain. */
export function openReader(network: string, rpcUrl: string): PublicClient {
  return createPublicClient({ chain: chainOf(network), transport: http(rpcUrl, { retryCount: 1, timeout: 10_000 }) });
}
