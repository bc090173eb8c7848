import { log } from "@graphprotocol/graph-ts";

/** DisputeOutcome of the contracts by its code. */
export function disputeOutcomeName(code: i32): string {
  return nameOf(["BuyerRefund", "SellerPaid", "Split"], code, "DisputeOutcome");
}

/** ResolvedBy of the contracts by its code. */
export function resolvedByName(code: i32): string {
  return nameOf(["System", "Admin"], code, "ResolvedBy");
}

/** ResolutionMethod of the contracts by its code. */
export function resolutionMethodName(code: i32): string {
  return nameOf(["Ruling", "Agreement", "Timeout"], code, "ResolutionMethod");
}

/** ScoreOutcome of the contracts by its code. */
export function scoreOutcomeName(code: i32): string {
  return nameOf(["Released", "BuyerRefund", "SellerPaid", "Split", "Abandonment"], code, "ScoreOutcome");
}

function nameOf(names: string[], code: i32, enumeration: string): string {
  // A code that the schema does not know would be stored wrong: better to stop indexing and say so.
  if (code < 0 || code >= names.length) log.critical("{} has no code {}", [enumeration, code.toString()]);
  return names[code];
}
