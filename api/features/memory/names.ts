/** The namespace of entries written without one. */
export const DEFAULT_NAMESPACE = "default";
/** The namespace that only the service writes. */
export const AUDIT_NAMESPACE = "audit";

/** The name of an entry within its agent's memory. */
export interface EntryName {
  namespace: string;
  key: string;
}

/** The id of an entry. Neither agent ids nor namespaces contain `|`, so two entries never share one. */
export function entryIdOf(agentId: string, { namespace, key }: EntryName): string {
  return `${agentId}|${namespace}|${key}`;
}

/** The exclusive upper bound of an agent's entry ids: `}` follows `|`. */
export function endOfEntries(agentId: string): string {
  return `${agentId}}`;
}

const LAST_CODE_POINT = 0x10_ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/**
 * The exclusive upper bound of strings with a prefix, in the database's order, which is that of code points.
 * @returns undefined if there is none, because the prefix consists only of the last code point
 */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0);
  for (;;) {
    const last = points.pop();
    if (last === undefined) return undefined;
    if (last === LAST_CODE_POINT) continue;
    const next = last + 1;
    const isSurrogate = next >= SURROGATES.first && next <= SURROGATES.last;
    return String.fromCodePoint(...points, isSurrogate ? SURROGATES.last + 1 : next);
  }
}

/** The filter of keys that start with a prefix and follow a key, as a range of an index. */
export function keyRange(prefix: string | undefined, afterKey: string | undefined): object {
  const end = prefix === undefined ? undefined : afterPrefix(prefix);
  const range = {
    ...(prefix === undefined ? {} : { $gte: prefix }),
    ...(end === undefined ? {} : { $lt: end }),
    ...(afterKey === undefined ? {} : { $gt: afterKey }),
  };
  return Object.keys(range).length === 0 ? {} : { key: range };
}
