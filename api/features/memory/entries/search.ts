import type { z } from "zod";

import type { Logger } from "../../../lib/logger.ts";
import { encodeQuery } from "../../../search/encode-query.ts";
import type { SentenceEncoder } from "../../../search/embedding/encoder.ts";
import type { EntryIndex } from "../index/entry-index.ts";
import type { PresentedEntry } from "./presenter.ts";
import type { MemoryReader } from "./reader.ts";
import type { searchBody } from "./schemas.ts";

/** Dependencies of memory search. */
export interface MemorySearchDeps {
  encoder: SentenceEncoder;
  index: Pick<EntryIndex, "search">;
  reader: Pick<MemoryReader, "byId">;
  now: () => Date;
  log: Logger;
}

/** An entry that matches a query. */
export type FoundEntry = PresentedEntry & { relevance: number };

/** Searches an agent's entries by meaning and words. */
export function createMemorySearch({ encoder, index, reader, now, log }: MemorySearchDeps) {
  return {
    /** The best entries that pass the filters, best first. @throws ApiError `search_unavailable` */
    async search(agentId: string, wanted: z.output<typeof searchBody>): Promise<FoundEntry[]> {
      const { query: text, namespace, tags, prefix, limit } = wanted;
      const encoding = encodeQuery(encoder, text, log, agentId);
      const filter = { agentId, namespace, tags, prefix, now: now() };
      const matches = await index.search({ text, encoding }, filter, limit);
      const found: FoundEntry[] = [];
      // Read again: an entry may have been changed or deleted since.
      for (let position = 0; found.length < limit && position < matches.length;) {
        const asked = matches.slice(position, position + limit - found.length);
        const entries = await reader.byId(asked.map(({ id }) => id));
        for (const { id, relevance } of asked) {
          const entry = entries.get(id);
          if (entry !== undefined) found.push({ ...entry, relevance });
        }
        position += asked.length;
      }
      return found;
    },
  };
}

export type MemorySearch = ReturnType<typeof createMemorySearch>;
