import { ApiError } from "../../http/errors.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Encoding, SentenceEncoder } from "./embedding/encoder.ts";

/** Encodes the query of a request. @throws ApiError `search_unavailable` */
export async function encodeQuery(encoder: SentenceEncoder, query: string, log: Logger): Promise<Encoding> {
  try {
    return await encoder.encode(query);
  } catch (error) {
    log.error({ err: error }, "couldn't encode a query");
    throw new ApiError("search_unavailable", { retryAfterSeconds: 2, cause: error });
  }
}
