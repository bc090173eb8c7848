/** Networks by their names in words. */
const NETWORKS: Readonly<Record<string, string>> = { "base-sepolia": "Base Sepolia", base: "Base" };

/** A network as people call it. */
export function networkName(network: string): string {
  return NETWORKS[network] ?? network;
}

/** `risk_assessment` as `risk assessment`. */
export function categoryName(category: string): string {
  return category.replaceAll("_", " ");
}

/** `per_document` as `per document`. */
export function unitName(unit: string): string {
  return unit === "flat" ? "flat" : unit.replaceAll("_", " ");
}

/** A hash or an address by its two ends. @example shortHash("0x1234567890abcdef") // 0x1234…cdef */
export function shortHash(hash: string): string {
  const [head, tail] = [6, 4];
  return hash.length <= head + tail + 2 ? hash : `${hash.slice(0, head)}…${hash.slice(-tail)}`;
}
