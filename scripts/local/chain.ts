import { createRequire } from "node:module";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import type { NetworkName } from "./networks.ts";
import { CHAIN_IDS } from "./networks.ts";
import type { ServiceDefinition } from "./supervisor.ts";

/** The mnemonic that anvil has by default. Everybody knows its keys: for local chains only. */
export const LOCAL_MNEMONIC = "test test test test test test test test test test test junk";

/**
 * A local chain that stands for one of the live networks: its chain id, one block a second and one for each
 * transaction, its state on disk every second, so that it goes on with the same blocks and hashes after any kill.
 * @param dir the stack's directory; the state lies in `<dir>/chains/<network>.json`
 */
export function chainService(network: NetworkName, dir: string, port: number): ServiceDefinition {
  mkdirSync(join(dir, "chains"), { recursive: true });
  return {
    name: chainServiceName(network),
    command: anvilBinary(),
    args: [
      ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(CHAIN_IDS[network])],
      ...["--network", "optimism", "--mnemonic", LOCAL_MNEMONIC, "--block-time", "1", "--mixed-mining"],
      ...["--state", chainStateFile(network, dir), "--state-interval", "1", "--quiet"],
    ],
    stage: 0,
    stop: { signal: "SIGINT", timeoutMs: 3_000 },
    isReady: async () => (await rpc(port, "eth_chainId", [])) === `0x${CHAIN_IDS[network].toString(16)}`,
  };
}

/** The name under which the supervisor knows the chain. */
export function chainServiceName(network: NetworkName): string {
  return `chain-${network}`;
}

/** Where the chain keeps its state. */
export function chainStateFile(network: NetworkName, dir: string): string {
  return join(dir, "chains", `${network}.json`);
}

/** One JSON-RPC call to a local chain. @throws Error with the node's message */
export async function rpc(port: number, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${String(port)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const answer = (await response.json()) as { result?: unknown; error?: { message: string } };
  if (answer.error !== undefined) throw new Error(`${method}: ${answer.error.message}`);
  return answer.result;
}

/** anvil itself: its npm launcher would be one process more to watch, and signals would go through it. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const launcher = createRequire(require.resolve("@foundry-rs/anvil/package.json"));
  const binary = join(launcher.resolve("@foundry-rs/anvil-linux-amd64/package.json"), "..", "bin", "anvil");
  if (!existsSync(binary)) throw new Error(`anvil is missing at ${binary}; run npm ci again`);
  return binary;
}
