import { Agent, request } from "undici";
import { z } from "zod";

import type { Network } from "../config/constants.ts";
import { retry } from "../lib/retry.ts";
import { IndexerBehindError, IndexerUnavailableError } from "./errors.ts";

/** Address of one subgraph, and limits for calls to it. */
export interface GraphqlOptions {
  network: Network;
  /** URL for queries, `…/subgraphs/name/marketplace/base-sepolia` on the local stack. */
  url: string;
  /** Timeout of one attempt in milliseconds. */
  timeoutMs: number;
  /** Attempts per query, including the first. */
  attempts: number;
}

/** Posts queries to one subgraph and validates the answers. */
export interface GraphqlClient {
  /**
   * @throws IndexerBehindError if the query asks for a block that isn't indexed yet
   * @throws IndexerUnavailableError if the subgraph is unreachable, has failed, or its answer has an unexpected shape
   */
  query<T>(document: string, variables: Record<string, unknown>, schema: z.ZodType<T>): Promise<T>;
  close(): Promise<void>;
}

/** A failure that a retry may fix. */
class TransientError extends Error {}

const BASE_DELAY_MS = 50;
const MAX_DELAY_MS = 1_000;

const envelope = z.object({
  data: z.unknown().optional(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});

// graph-node's error text for a block that it hasn't reached. The HTTP status is 200.
const BEHIND =
  /has only indexed up to block number (\d+) and data for block number (\d+) is therefore not yet available/;
const BEHIND_SHORT = /has only indexed up to block number (\d+)/;

function throwFor(network: Network, messages: string[], neededBlock: number): never {
  for (const message of messages) {
    const behind = BEHIND.exec(message) ?? BEHIND_SHORT.exec(message);
    if (behind) throw new IndexerBehindError(network, Number(behind[1]), Number(behind[2] ?? neededBlock));
  }
  if (messages.includes("indexing_error")) {
    throw new IndexerUnavailableError(network, "the subgraph has failed (indexing_error)");
  }
  throw new TransientError(messages.join("; "));
}

// Not graphql-request: without a connection pool, timeouts per attempt or answer schemas, it would replace little of
// this.
/** A client with its own connection pool, a timeout per attempt and bounded retries with jitter. */
export function createGraphqlClient(options: GraphqlOptions): GraphqlClient {
  const { network } = options;
  const pool = new Agent({ connections: 32, keepAliveTimeout: 30_000, connect: { timeout: options.timeoutMs } });

  async function post(body: string, neededBlock: number): Promise<unknown> {
    let status: number;
    let json: unknown;
    try {
      const response = await request(options.url, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json" },
        body,
        dispatcher: pool,
        signal: AbortSignal.timeout(options.timeoutMs),
      });
      status = response.statusCode;
      json = await response.body.json();
    } catch (error) {
      throw new TransientError(error instanceof Error ? error.message : String(error), { cause: error });
    }
    if (status !== 200) throw new TransientError(`HTTP ${status}`);
    const answer = envelope.safeParse(json);
    if (!answer.success) throw new TransientError("the answer isn't a GraphQL answer");
    if (answer.data.errors !== undefined && answer.data.errors.length > 0) {
      throwFor(
        network,
        answer.data.errors.map((error) => error.message),
        neededBlock,
      );
    }
    return answer.data.data;
  }

  return {
    async query(document, variables, schema) {
      const neededBlock = typeof variables["minBlock"] === "number" ? variables["minBlock"] : 0;
      const body = JSON.stringify({ query: document, variables });
      let data: unknown;
      try {
        data = await retry(() => post(body, neededBlock), {
          attempts: options.attempts,
          baseDelayMs: BASE_DELAY_MS,
          maxDelayMs: MAX_DELAY_MS,
          isRetryable: (error) => error instanceof TransientError,
        });
      } catch (error) {
        if (error instanceof TransientError) throw new IndexerUnavailableError(network, error.message, error);
        throw error;
      }
      const parsed = schema.safeParse(data);
      if (!parsed.success) {
        throw new IndexerUnavailableError(network, `unexpected answer: ${z.prettifyError(parsed.error)}`);
      }
      return parsed.data;
    },

    close: () => pool.close(),
  };
}
