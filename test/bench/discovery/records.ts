import { Types } from "mongoose";

import type { Listing } from "../../../api/features/listings/listing.ts";
import type { ListingRecord } from "../../../api/features/listings/model.ts";
import { toBytes } from "../../../api/search/embedding/vectors.ts";

/** A listing as MongoDB has it. */
export function recordOf(
  { id: _id, price, ...fields }: Listing,
  vector: Float32Array | null,
  model: string,
): ListingRecord {
  return {
    ...fields,
    _id,
    sellerKey: fields.sellerAddress.toLowerCase(),
    revision: 1,
    price: Types.Decimal128.fromString(price),
    embedding: vector === null ? null : { model, vector: toBytes(vector) },
  };
}
