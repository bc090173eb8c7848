import { Schema } from "mongoose";
import type { Connection, Model } from "mongoose";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";

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
export interface PassRecord {
  _id: Network;
  /** The running comparison; null between two comparisons. */
  running: (PassCounts & { startedAt: Date; stage: PassStage; after: string; pagesLeft: number }) | null;
  /** The last comparison that ended. */
  finished: (PassCounts & { startedAt: Date; finishedAt: Date }) | null;
  /** Rises with every write, so that only one process continues a comparison. */
  version: number;
}

/** A field whose values differ between a copy and a contract. */
export interface FieldDifference {
  field: string;
  copy: string | null;
  contract: string | null;
}

/**
 * A copy that differs from its contract. `suspected` until a second check, because a copy may only be late. Then `found`
 * until the two agree, then `repaired`.
 */
export interface DifferenceRecord {
  /** `<network>:<kind>:<subject>:<time>` */
  _id: string;
  network: Network;
  kind: ComparedKind;
  /** Transaction id, or lower-case wallet. */
  subject: string;
  state: "suspected" | "found" | "repaired";
  /** True until the difference is repaired. */
  isOpen: boolean;
  fields: FieldDifference[];
  /** How often the difference was seen. */
  looks: number;
  /** When the copy is compared again. */
  checkAt: Date;
  seenAt: Date;
  repairedAt: Date | null;
}

/** The collections of the reconciliation. */
export interface ReconciliationModels {
  passes: Model<PassRecord>;
  differences: Model<DifferenceRecord>;
}

const required = { required: true } as const;
const text = { type: String, ...required };
const count = { type: Number, ...required };
const date = { type: Date, ...required };
const network = { ...text, enum: NETWORKS };
const counts = { escrows: count, scores: count, skipped: count };

const passSchema = new Schema<PassRecord>(
  {
    _id: network,
    running: {
      type: new Schema<NonNullable<PassRecord["running"]>>(
        { ...counts, startedAt: date, stage: { ...text, enum: PASS_STAGES }, after: String, pagesLeft: count },
        { _id: false },
      ),
      default: null,
    },
    finished: {
      type: new Schema<NonNullable<PassRecord["finished"]>>(
        { ...counts, startedAt: date, finishedAt: date },
        { _id: false },
      ),
      default: null,
    },
    version: count,
  },
  { collection: "reconciliation_passes", versionKey: false, strict: "throw" },
);

const differenceSchema = new Schema<DifferenceRecord>(
  {
    _id: text,
    network,
    kind: { ...text, enum: COMPARED_KINDS },
    subject: text,
    state: { ...text, enum: ["suspected", "found", "repaired"] },
    isOpen: { type: Boolean, ...required },
    fields: [
      new Schema<FieldDifference>(
        { field: text, copy: { type: String, default: null }, contract: { type: String, default: null } },
        { _id: false },
      ),
    ],
    looks: count,
    checkAt: date,
    seenAt: date,
    repairedAt: { type: Date, default: null },
  },
  { collection: "reconciliation_differences", versionKey: false, strict: "throw" },
);
const whileOpen = { partialFilterExpression: { isOpen: true } } as const;
differenceSchema.index({ network: 1, kind: 1, subject: 1 }, { ...whileOpen, unique: true });
differenceSchema.index({ network: 1, checkAt: 1 }, whileOpen);
differenceSchema.index({ network: 1, kind: 1, state: 1 });

/** Declares the collections of the reconciliation. */
export function reconciliationModels(connection: Connection): ReconciliationModels {
  return {
    passes: connection.model<PassRecord>("ReconciliationPass", passSchema),
    differences: connection.model<DifferenceRecord>("ReconciliationDifference", differenceSchema),
  };
}
