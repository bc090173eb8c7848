import type { MemoryReader } from "./reader.ts";
import { AUDIT_NAMESPACE } from "../names.ts";

const PAGE_ENTRIES = 100;

/**
 * The lines of an export, by namespace and key. Reads page by page, so a slow client keeps no cursor open in the database.
 */
export async function* exportLines(
  reader: MemoryReader,
  agentId: string,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const namespaces =
    namespace === undefined ? [...(await reader.namespaces(agentId)), AUDIT_NAMESPACE].sort() : [namespace];
  for (const name of namespaces) {
    let after: string | undefined;
    do {
      signal.throwIfAborted();
      const { items, next } = await reader.list(agentId, { namespace: name, limit: PAGE_ENTRIES, after });
      for (const item of items) yield `${JSON.stringify(item)}\n`;
      after = next ?? undefined;
    } while (after !== undefined);
  }
}
