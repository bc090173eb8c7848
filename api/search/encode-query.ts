import { ApiError } from "../http/errors.ts";
import type { Logger } from "../lib/logger.ts";
import { withTimeout } from "../lib/timeout.ts";
import { NoVectorError } from "./embedding/encoder.ts";
import type { Encoding, SentenceEncoder } from "./embedding/encoder.ts";
import type { SearchQuery } from "./engine/match.ts";

/** How long a search waits for the vector of its query. */
const PATIENCE_MS = 3_000;

/**
 * Encodes the query of a request. A failure is thrown where the promise is awaited, if anywhere. Null if an embedding
 * server gives no vector. The query is then answered by its words, because an outage may last, and spent tokens come back
 * only the next day.
 * @param owner id of the agent whose private texts are searched
 * @throws ApiError `search_unavailable`
 */
export function encodeQuery(
  encoder: Pick<SentenceEncoder, "encode">,
  query: string,
  log: Logger,
  owner?: string,
): Promise<Encoding | null> {
  const encoding = encode(encoder, query, log, owner);
  encoding.catch(() => undefined);
  return encoding;
}

/**
 * Limits a search that has begun while its query was being encoded, from when that is done: on a busy machine the encoder can
 * take half a minute to start.
 * @throws DeadlineExceededError, and what either of the two throws
 */
export async function withinLimit<Found>(
  what: string,
  timeoutMs: number,
  encoding: SearchQuery["encoding"],
  searching: Promise<Found>,
): Promise<Found> {
  // If the encoding fails, so does the search, after it.
  searching.catch(() => undefined);
  await encoding;
  return await withTimeout(what, timeoutMs, () => searching);
}

async function encode(
  encoder: Pick<SentenceEncoder, "encode">,
  query: string,
  log: Logger,
  owner: string | undefined,
): Promise<Encoding | null> {
  try {
    return await encoder.encode(query, { as: "query", owner, patienceMs: PATIENCE_MS });
  } catch (error) {
    if (error instanceof NoVectorError) return null;
    log.error({ err: error }, "couldn't encode a query");
    throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
  }
}
