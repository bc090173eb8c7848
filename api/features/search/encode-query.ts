import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import { NoVectorError } from "./embedding/encoder.ts";
import type { Encoding, SentenceEncoder } from "./embedding/encoder.ts";

/** How long a search waits for the vector of its query. */
const PATIENCE_MS = 3_000;

/**
 * Encodes the query of a request. Null if an embedding server gives no vector: the query is then answered by its words, because
 * an outage may last, and spent tokens come back only the next day.
 * @param owner id of the agent whose private texts are searched
 * @throws ApiError `search_unavailable`
 */
export async function encodeQuery(
  encoder: SentenceEncoder,
  query: string,
  log: Logger,
  owner?: string,
): Promise<Encoding | null> {
  try {
    return await encoder.encode(query, { as: "query", owner, patienceMs: PATIENCE_MS });
  } catch (error) {
    if (error instanceof NoVectorError) return null;
    log.error({ err: error }, "couldn't encode a query");
    throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
  }
}
