import { Address, BigInt, ethereum } from "@graphprotocol/graph-ts";

import { ResolverTenure } from "../../generated/schema";
import { tenureId } from "../ids";
import { resolvedByName } from "../names";

/** Records that a wallet may rule the escrows created from `from` on, in unix seconds. */
export function startTenure(role: i32, resolver: Address, from: BigInt, block: ethereum.Block): void {
  const tenure = new ResolverTenure(tenureId(role, resolver));
  tenure.role = resolvedByName(role);
  tenure.resolver = resolver;
  tenure.from = from;
  tenure.revoked = false;
  tenure.updatedBlock = block.number;
  tenure.save();
}

/** Records that the next tenure starts at `from`, in unix seconds. */
export function endTenure(role: i32, resolver: Address, from: BigInt, block: ethereum.Block): void {
  const tenure = ResolverTenure.load(tenureId(role, resolver));
  // The first holder follows nobody.
  if (tenure == null) return;
  tenure.until = from.minus(BigInt.fromI32(1));
  tenure.updatedBlock = block.number;
  tenure.save();
}

/** Records that a wallet may rule no escrow any more; a tenure that still ran ends with this block. */
export function revokeTenure(role: i32, resolver: Address, block: ethereum.Block): void {
  const tenure = ResolverTenure.load(tenureId(role, resolver));
  if (tenure == null) return;
  tenure.revoked = true;
  if (!tenure.until) tenure.until = block.timestamp;
  tenure.updatedBlock = block.number;
  tenure.save();
}
