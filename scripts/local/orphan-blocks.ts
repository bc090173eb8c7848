import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { Agent, request } from "undici";
import { zeroHash } from "viem";

import { rpc } from "./chain.ts";
import { HeadAnnouncements } from "./head-announcements.ts";
import { serveOnLoopback } from "./loopback-server.ts";
import type { NetworkName } from "./networks.ts";

/** How many ancestors of a block are remembered with it: no reorganisation may be deeper. */
const DEPTH = 256;
/** How many blocks are kept, orphans included: several reorganisations that graph-node has yet to follow. */
const KEPT = 2_000;
/** How often a request is sent again when its answer names a block that has been removed meanwhile. */
const ATTEMPTS = 5;
const TIMEOUT_MS = 30_000;
/**
 * How long a question for the head waits for a new one. graph-node would otherwise ask twenty times a second. The wait is
 * short because a chain doesn't announce that it has removed blocks.
 */
const HOLD_MS = 250;

interface Block {
  readonly hash: string;
  readonly parentHash: string;
  readonly transactions: readonly { hash: string }[];
}

interface Call {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: readonly unknown[];
}

interface Answer {
  readonly id?: unknown;
  result?: unknown;
  readonly error?: unknown;
}

/** A block was removed from the chain before it could be read. */
class BlockGoneError extends Error {
  override readonly name = "BlockGoneError";
}

/**
 * The blocks that graph-node may have seen. A real node still serves a block by its hash after a reorganisation, and
 * graph-node needs that to step back from it. anvil forgets such a block, and the last ones when it is killed; then the
 * subgraph would stop for good.
 */
class OrphanBlocks {
  readonly #file: string;
  readonly #rpcPort: number;
  /** By hash, oldest first. Every ancestor of a block is here before it. */
  readonly #blocks = new Map<string, Block>();
  #lines = 0;
  #queue: Promise<void> = Promise.resolve();

  /** @param file holds the blocks over restarts, a line each */
  constructor(file: string, rpcPort: number) {
    this.#file = file;
    this.#rpcPort = rpcPort;
    for (const line of existsSync(file) ? readFileSync(file, "utf8").split("\n") : []) {
      const block = parseBlock(line);
      if (block !== undefined) this.#blocks.set(block.hash, block);
    }
    this.#rewrite();
  }

  get(hash: string): Block | undefined {
    return this.#blocks.get(hash);
  }

  /** Reads a block and its ancestors that aren't known yet. @throws BlockGoneError when one of them has been removed */
  async remember(hash: string): Promise<void> {
    // One at a time, so that no ancestor is read twice.
    const turn = this.#queue.then(() => this.#remember(hash));
    this.#queue = turn.catch(() => undefined);
    await turn;
  }

  async #remember(hash: string): Promise<void> {
    const found: Block[] = [];
    for (let next = hash; next !== zeroHash && !this.#blocks.has(next) && found.length < DEPTH;) {
      const block = (await rpc(this.#rpcPort, "eth_getBlockByHash", [next, true])) as Block | null;
      if (block === null) throw new BlockGoneError(`block ${next} was removed while it was read`);
      found.push(block);
      next = block.parentHash;
    }
    if (found.length === 0) return;
    const ordered = found.toReversed();
    appendFileSync(this.#file, ordered.map((block) => `${JSON.stringify(block)}\n`).join(""));
    this.#lines += ordered.length;
    for (const block of ordered) this.#blocks.set(block.hash, block);
    const excess = Math.max(0, this.#blocks.size - KEPT);
    for (const oldest of this.#blocks.keys().take(excess)) this.#blocks.delete(oldest);
    if (this.#lines > 2 * KEPT) this.#rewrite();
  }

  #rewrite(): void {
    const kept = [...this.#blocks.values()].slice(-KEPT);
    writeFileSync(`${this.#file}.new`, kept.map((block) => `${JSON.stringify(block)}\n`).join(""));
    renameSync(`${this.#file}.new`, this.#file);
    this.#lines = kept.length;
  }
}

/** Where the blocks of a network are kept. */
export function orphanBlocksFile(network: NetworkName, dir: string): string {
  return join(dir, "chains", `${network}.blocks.ndjson`);
}

/**
 * A local chain's JSON-RPC, as graph-node reads it: the chain's own answers, and blocks that it has forgotten.
 * @param file where the blocks are kept
 * @returns a function that stops it
 */
export async function serveOrphanBlocks(port: number, rpcPort: number, file: string): Promise<() => Promise<void>> {
  const orphans = new OrphanBlocks(file, rpcPort);
  // fetch would take twice as much CPU time.
  const dispatcher = new Agent({ headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  const ask: Ask = async (body) => {
    const headers = { "content-type": "application/json" };
    const options = { method: "POST", headers, body, dispatcher } as const;
    const { body: answers } = await request(`http://127.0.0.1:${String(rpcPort)}`, options);
    return (await answers.json()) as Answer | Answer[];
  };
  const heads = new HeadAnnouncements(rpcPort);
  const askForNews = holdingBackHeads(ask, heads);
  const stop = await serveOnLoopback(port, (incoming, response) => {
    answer(orphans, askForNews, incoming).then(
      (body) => response.writeHead(200, { "content-type": "application/json" }).end(body),
      // The chain's process is down, or its answers keep being removed. graph-node asks again.
      (error: unknown) => response.writeHead(502, { "content-type": "text/plain" }).end(String(error)),
    );
  });
  return async () => {
    heads.close();
    await stop();
    await dispatcher.destroy();
  };
}

/** Sends a request's body to the chain. */
type Ask = (body: string) => Promise<Answer | Answer[]>;

/** Asks again for a head that was known already: as soon as there is a new one, or after `HOLD_MS`. */
function holdingBackHeads(
  ask: Ask,
  heads: HeadAnnouncements,
): (body: string, calls: readonly Call[]) => ReturnType<Ask> {
  let last: string | undefined;
  return async (body, calls) => {
    const { count } = heads;
    let answers = await ask(body);
    const [call] = calls;
    const isForHead = calls.length === 1 && call?.method === "eth_getBlockByNumber" && call.params?.[0] === "latest";
    if (!isForHead) return answers;
    if (hashIn(answers) === last) {
      await heads.after(count, HOLD_MS);
      answers = await ask(body);
    }
    last = hashIn(answers);
    return answers;
  };
}

function hashIn(answers: Answer | Answer[]): string | undefined {
  const [one] = [answers].flat();
  return (one?.result as Block | null | undefined)?.hash;
}

async function answer(
  orphans: OrphanBlocks,
  ask: ReturnType<typeof holdingBackHeads>,
  incoming: IncomingMessage,
): Promise<string> {
  const body = await text(incoming);
  const calls = [JSON.parse(body) as Call | Call[]].flat();
  for (let attempt = 1; ; attempt += 1) {
    const answers = await ask(body, calls);
    try {
      for (const one of [answers].flat()) {
        await complete(
          orphans,
          calls.find(({ id }) => id === one.id),
          one,
        );
      }
      return JSON.stringify(answers);
    } catch (error) {
      if (!(error instanceof BlockGoneError) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Remembers the blocks that an answer names before graph-node learns of them, or puts in one that the chain has forgotten. */
async function complete(orphans: OrphanBlocks, call: Call | undefined, one: Answer): Promise<void> {
  const { method, params = [] } = call ?? {};
  if (method === "eth_getBlockByNumber" && one.result !== null) {
    const { hash } = one.result as Block;
    await orphans.remember(hash);
  } else if (method === "eth_getLogs" && Array.isArray(one.result)) {
    const hashes = new Set(one.result.map(({ blockHash }: { blockHash: string }) => blockHash));
    for (const hash of hashes) await orphans.remember(hash);
  } else if (method === "eth_getBlockByHash" && one.result === null) {
    const orphan = orphans.get(String(params[0]));
    if (orphan === undefined) return;
    const transactions = params[1] === true ? orphan.transactions : orphan.transactions.map(({ hash }) => hash);
    one.result = { ...orphan, transactions };
  }
}

/** @returns undefined for a line that a kill has cut short */
function parseBlock(line: string): Block | undefined {
  try {
    return JSON.parse(line) as Block;
  } catch {
    return undefined;
  }
}
