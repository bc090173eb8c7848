import canonicalize from "canonicalize";

/**
 * RFC 8785 canonical JSON of a value: the same text for the same value, regardless of key order.
 * Criteria and delivery proofs are hashes of this text.
 * @throws TypeError if the value has no JSON form (a function, undefined, a non-finite number)
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("The value has no JSON form");
  return text;
}
