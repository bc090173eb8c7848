import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { collection, date, flag, listOf, nullable, number, oneOf, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { StoredState } from "../../db/stored-state.ts";

/** Kinds of copies that are compared with the contracts. */
export const COMPARED_KINDS = ["escrow", "score"] as const;
export type ComparedKind = (typeof COMPARED_KINDS)[number];

/** The stages of a comparison, in order. */
export const PASS_STAGES = ["open", "closed", "scores"] as const;
export type PassStage = (typeof PASS_STAGES)[number];

/** Numbers of compared copies. */
export interface PassCounts {
  escrows: number;
  scores: number;
  /** Copies that are newer than the compared block, or that wait to be read again. */
  skipped: number;
}

/** The progress of a network's daily comparison. */
export interface PassProgress {
  /** The running comparison; null between two comparisons. */
  running: (PassCounts & { startedAt: Date; stage: PassStage; after: string; pagesLeft: number }) | null;
  /** The last comparison that ended. */
  finished: (PassCounts & { startedAt: Date; finishedAt: Date }) | null;
}

/** A field whose values differ between a copy and a contract. */
const fieldDifference = { field: text, copy: nullable(text), contract: nullable(text) };
export type FieldDifference = RecordOf<typeof fieldDifference>;

/**
 * A copy that differs from its contract. `suspected` until a second check, because a copy may only be late. Then `found`
 * until the two agree, then `repaired`.
 */
const differenceFields = {
  /** `<network>:<kind>:<subject>:<time>` */
  _id: text,
  network: oneOf(NETWORKS),
  kind: oneOf(COMPARED_KINDS),
  /** Transaction id, or lower-case wallet. */
  subject: text,
  state: oneOf(["suspected", "found", "repaired"]),
  /** True until the difference is repaired. */
  isOpen: flag,
  fields: listOf(part(fieldDifference)),
  /** How often the difference was seen. */
  looks: number,
  /** When the copy is compared again. */
  checkAt: date,
  seenAt: date,
  repairedAt: nullable(date),
};
export type DifferenceRecord = RecordOf<typeof differenceFields>;

/** The records of the reconciliation. */
export interface ReconciliationModels {
  passes: Readonly<Record<Network, StoredState<PassProgress>>>;
  differences: Model<DifferenceRecord>;
}

/** Declares the records of the reconciliation. */
export function reconciliationModels(connection: Connection): ReconciliationModels {
  const whileOpen = { partialFilterExpression: { isOpen: true } };
  return {
    passes: {
      "base-sepolia": new StoredState(connection, "reconciliation:base-sepolia"),
      base: new StoredState(connection, "reconciliation:base"),
    },
    differences: collection(connection, "ReconciliationDifference", "reconciliation_differences", differenceFields, [
      [
        { network: 1, kind: 1, subject: 1 },
        { ...whileOpen, unique: true },
      ],
      [{ network: 1, checkAt: 1 }, whileOpen],
      [{ network: 1, kind: 1, state: 1 }],
    ]),
  };
}
