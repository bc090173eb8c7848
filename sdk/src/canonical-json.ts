import { sha256, stringToHex } from "viem";
import type { Hex } from "viem";

import { bigintAsText } from "./json.ts";

/**
 * RFC 8785 canonical JSON: the same text for the same value, regardless of key order. Written here because the package
 * `canonicalize` requires Node 22. JSON.stringify already writes numbers and strings as the RFC requires.
 * A `bigint` counts as its text, as in a request.
 * @throws TypeError for a value without a JSON form (undefined, functions) and for half of a surrogate pair
 */
export function canonicalJson(value: unknown): string {
  const text = JSON.stringify(value, bigintAsText) as string | undefined;
  if (text === undefined) throw new TypeError("The value has no JSON form");
  // Parsed again, so that the hash covers what a request body contains: dates as text, no undefined properties.
  return canonical(JSON.parse(text));
}

/** The `deliveryProof` of a payload: SHA-256 of its canonical JSON, usually the proof hash on chain. */
export function deliveryProofOf(responsePayload: Record<string, unknown>): Hex {
  return sha256(stringToHex(canonicalJson(responsePayload)));
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "string") return canonicalText(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  // sort() compares UTF-16 code units, which is the order of the RFC.
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, part]) => `${canonicalText(key)}:${canonical(part)}`).join(",")}}`;
}

function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError("A string contains half of a surrogate pair");
  return JSON.stringify(text);
}
