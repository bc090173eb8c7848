import type { z } from "zod";

import type { Logger } from "../../lib/logger.ts";
import { encodeQuery } from "../search/encode-query.ts";
import type { SentenceEncoder } from "../search/embedding/encoder.ts";
import type { AgentIndexes } from "./agent-indexes.ts";
import type { PresentedEntry } from "./presenter.ts";
import type { MemoryReader } from "./reader.ts";
import type { searchBody } from "./schemas.ts";

/** Dependencies of memory search. */
export interface MemorySearchDeps {
  encoder: SentenceEncoder;
  indexes: AgentIndexes;
  reader: Pick<MemoryReader, "byId">;
  now: () => Date;
  log: Logger;
}

/** An entry that answers a query. */
export type FoundEntry = PresentedEntry & { relevance: number };

/** Searches an agent's entries by meaning and words (specification row 26). */
export function createMemorySearch({ encoder, indexes, reader, now, log }: MemorySearchDeps) {
  return {
    /** The best entries that pass the filters, best first. @throws ApiError `search_unavailable` */
    async search(agentId: string, wanted: z.output<typeof searchBody>): Promise<FoundEntry[]> {
      const { query: text, namespace, tags, prefix, limit } = wanted;
      const [encoding, index] = await Promise.all([encodeQuery(encoder, text, log, agentId), indexes.of(agentId)]);
      const matches = await index.search({ text, encoding }, { namespace, tags, prefix, now: now() }, limit);
      // Read again: an entry may have been changed or deleted in the meantime.
      const entries = await reader.byId(matches.map(({ document }) => document.id));
      return matches.flatMap(({ document, relevance }) => {
        const entry = entries.get(document.id);
        return entry === undefined ? [] : [{ ...entry, relevance }];
      });
    },
  };
}

export type MemorySearch = ReturnType<typeof createMemorySearch>;
