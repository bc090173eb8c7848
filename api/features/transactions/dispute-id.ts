import { sha256Hex } from "../../lib/ids.ts";
import type { TransactionRecord } from "./model.ts";

const ID_HEX_LENGTH = 32;

/**
 * The id of the dispute about an escrow, which can have only one. It is the same for everyone who sees the dispute on
 * chain, and a reorganisation that opens it again in another block keeps it.
 * @example "dsp_5b1c…": 32 hex digits
 */
export function disputeIdOf(record: Pick<TransactionRecord, "network" | "escrowContract" | "_id">): string {
  const parts = ["dispute", record.network, record.escrowContract.toLowerCase(), record._id];
  return `dsp_${sha256Hex(parts.join("|")).slice(0, ID_HEX_LENGTH)}`;
}
