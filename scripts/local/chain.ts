import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";

import type { NetworkName } from "./networks.ts";
import { CHAIN_IDS } from "./networks.ts";
import { PROGRAMS } from "./paths.ts";
import type { ServiceDefinition } from "./supervisor.ts";

/** anvil's default mnemonic. Its keys are public: for local chains only. */
export const LOCAL_MNEMONIC = "test test test test test test test test test test test junk";
/** Accounts that hold ether: anvil's ten and the keeper's. */
const ACCOUNTS = 11;
/**
 * How many blocks back a chain can be read and taken back, in memory. Without it anvil keeps the last 3,600 states as files
 * in the home directory: gigabytes, which stay there when it is killed. The deepest reorganisation that the stack is made for
 * is 256 blocks.
 */
export const CHAIN_HISTORY = ["--prune-history", "300"] as const;

/**
 * A local chain that simulates a live network: same chain id, a block each second and one for each transaction. It
 * saves its state every second, so that it resumes with the same blocks and hashes after any kill.
 * @param dir the stack's directory; the state is in `<dir>/chains/<network>.json`
 * @param isDisposable saves nothing: it would write everything that ever happened each second
 */
export function chainService(network: NetworkName, dir: string, port: number, isDisposable = false): ServiceDefinition {
  mkdirSync(join(dir, "chains"), { recursive: true });
  return {
    name: chainServiceName(network),
    command: PROGRAMS.anvil,
    args: [
      ...["--host", "127.0.0.1", "--port", String(port), "--chain-id", String(CHAIN_IDS[network])],
      ...["--network", "optimism", "--mnemonic", LOCAL_MNEMONIC, "--block-time", "1", "--mixed-mining"],
      ...["--accounts", String(ACCOUNTS), ...CHAIN_HISTORY],
      ...(isDisposable ? [] : ["--state", chainStateFile(network, dir), "--state-interval", "1"]),
      "--quiet",
    ],
    stage: 0,
    stop: { signal: "SIGINT", timeoutMs: 3_000 },
    isReady: async () => (await rpc(port, "eth_chainId", [])) === `0x${CHAIN_IDS[network].toString(16)}`,
  };
}

/** The chain's name in the supervisor. */
export function chainServiceName(network: NetworkName): string {
  return `chain-${network}`;
}

/** The chain's state file. */
export function chainStateFile(network: NetworkName, dir: string): string {
  return join(dir, "chains", `${network}.json`);
}

/**
 * Restores the backup when a kill has truncated the state file.
 * @returns true when the backup was needed
 */
export function repairChainState(network: NetworkName, dir: string): boolean {
  const file = chainStateFile(network, dir);
  if (!existsSync(file) || isCompleteJson(file)) return false;
  rmSync(file);
  if (existsSync(`${file}.bak`)) copyFileSync(`${file}.bak`, file);
  return true;
}

/**
 * Keeps a backup of the chain's state file until the returned function is called. anvil truncates the file before it
 * writes it, so a kill in between would lose the chain.
 */
export function keepChainBackup(network: NetworkName, dir: string): () => void {
  const file = chainStateFile(network, dir);
  let copiedAt = 0;
  let timer: NodeJS.Timeout;
  const copy = (): void => {
    const startedAt = performance.now();
    const modifiedAt = modificationTime(file);
    if (modifiedAt !== copiedAt && endsLikeJson(file)) {
      copyFileSync(file, `${file}.new`);
      // Unchanged during the copy, so the copy is complete.
      if (modificationTime(file) === modifiedAt && endsLikeJson(`${file}.new`)) {
        renameSync(`${file}.new`, `${file}.bak`);
        copiedAt = modifiedAt;
      }
    }
    // A long chain takes longer to copy. Never spend more than a few percent of the time on it.
    timer = setTimeout(copy, Math.max(1_000, 30 * (performance.now() - startedAt))).unref();
  };
  timer = setTimeout(copy, 1_500).unref();
  return () => {
    clearTimeout(timer);
  };
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

function modificationTime(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function endsLikeJson(file: string): boolean {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return false;
  const fd = openSync(file, "r");
  try {
    const last = Buffer.alloc(1);
    readSync(fd, last, 0, 1, size - 1);
    return last.toString() === "}";
  } finally {
    closeSync(fd);
  }
}

function isCompleteJson(file: string): boolean {
  try {
    JSON.parse(readFileSync(file, "utf8"));
    return true;
  } catch {
    return false;
  }
}
