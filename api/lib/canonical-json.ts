import canonicalize from "canonicalize";

/**
 * RFC 8785 canonical JSON of a value: the same text for the same value whatever the order of its keys.
 * It is what criteria and delivery proofs are hashed over.
 * @throws TypeError when the value has no JSON form (a function, undefined, a non-finite number)
 */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("The value has no JSON form");
  return text;
}
