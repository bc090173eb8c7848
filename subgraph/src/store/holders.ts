import { Address, Bytes } from "@graphprotocol/graph-ts";

/** The contracts say with the zero address that nobody holds a role or is proposed for it; the schema says it with null. */
export function holderOrNull(holder: Bytes | null): Bytes | null {
  // The compiler crashes on `== null` for a type that has its own `==`.
  if (!holder) return null;
  return holder.equals(Address.zero()) ? null : holder;
}
