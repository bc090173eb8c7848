import type { ChainEscrow } from "../../chain/chain-client.ts";
import { compareTerms } from "../../chain/receipts.ts";
import { ESCROW_STATES } from "../../indexer/schemas.ts";
import type { EscrowState } from "../../indexer/schemas.ts";
import { STATUS_OF, escrowTerms } from "../transactions/snapshot.ts";
import type { TransactionRecord } from "../transactions/model.ts";
import type { FieldDifference } from "./model.ts";

/** The state on the side that has no escrow. */
const NONE = "None";
/** The status of a checkout whose escrow id has other terms on chain. */
const TAKEN = "expired: escrow_id_taken";

function stateNamed(code: number): EscrowState {
  const state = ESCROW_STATES[code - 1];
  if (state === undefined) throw new RangeError(`Unknown state code ${String(code)}`);
  return state;
}

const statusOf = ({ status, expiredBy }: TransactionRecord): string =>
  expiredBy === "escrow_id_taken" ? TAKEN : status;

/** A time of the contract, where 0 means none. */
const timeOf = (time: bigint): string | null => (time === 0n ? null : String(time));

/** The fields in which copy and contract differ. */
function differing(fields: readonly FieldDifference[]): FieldDifference[] {
  return fields.filter(({ copy, contract }) => copy !== contract);
}

/**
 * The differences between a transaction's copy and the escrow contract; empty if they agree.
 * @param escrow null if the contract has no escrow with this id
 */
export function escrowDifferences(record: TransactionRecord, escrow: ChainEscrow | null): FieldDifference[] {
  if (escrow === null) {
    const hasTaken = record.expiredBy === "escrow_id_taken";
    return differing([
      { field: "state", copy: record.escrow?.state ?? NONE, contract: NONE },
      { field: "status", copy: statusOf(record), contract: hasTaken ? NONE : statusOf(record) },
    ]);
  }
  const terms = compareTerms(escrowTerms(record), {
    buyer: escrow.buyer,
    seller: escrow.seller,
    token: escrow.token,
    amount: escrow.amount,
    deadline: escrow.deadline,
    disputeWindow: escrow.disputeWindow,
    abandonmentGrace: escrow.abandonmentGrace,
    criteriaHash: escrow.criteriaHash,
  });
  if (terms.length > 0) {
    const isTaken = !record.unsolicited && statusOf(record) === TAKEN;
    const ofTerms = terms.map(({ term, expected, actual }) => ({ field: term, copy: expected, contract: actual }));
    return isTaken ? [] : [{ field: "status", copy: statusOf(record), contract: TAKEN }, ...ofTerms];
  }
  const { escrow: copy } = record;
  const state = stateNamed(escrow.state);
  const ofCopy = (time: number | null | undefined): string | null => (time == null ? null : String(time));
  return differing([
    { field: "status", copy: statusOf(record), contract: STATUS_OF[state] },
    { field: "state", copy: copy?.state ?? NONE, contract: state },
    { field: "createdAt", copy: ofCopy(copy?.createdAt), contract: timeOf(escrow.createdAt) },
    { field: "deliveredAt", copy: ofCopy(copy?.deliveredAt), contract: timeOf(escrow.deliveredAt) },
    { field: "disputedAt", copy: ofCopy(copy?.disputedAt), contract: timeOf(escrow.disputedAt) },
  ]);
}

/** The differences between the copy of a wallet's score and the score contract. */
export function scoreDifferences(copy: number, score: bigint): FieldDifference[] {
  return differing([{ field: "score", copy: String(copy), contract: String(score) }]);
}
