import { z } from "zod";

import { EVIDENCE_LIMITS, NETWORKS } from "../../config/constants.ts";
import { contractCall, dataOf, jsonObject, webUrlSchema } from "../../http/common-schemas.ts";
import { textSchema } from "../../http/text-schema.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { DISPUTE_OUTCOMES, RESOLUTION_METHODS, RESOLVED_BY } from "../../indexer/schemas.ts";
import { EVIDENCE_TYPES } from "./judging/case.ts";

/** The states of a dispute. */
export const DISPUTE_STATUSES = ["open", "ruling", "ruled", "resolved", "withdrawn"] as const;
export type DisputeStatus = (typeof DISPUTE_STATUSES)[number];

const ID_LENGTH = 36;
const MAX_ID_LENGTH = 100;
const MAX_SIGNATURE_BYTES = 4_096;
const RATIONALE_MAX_LENGTH = 5_000;

const longText = (max: number) => textSchema({ kind: "longText", max });
const secureUrl = webUrlSchema
  .refine((url) => /^https:/i.test(url), "Must be an https URL")
  .meta({ override: { type: "string", format: "uri", maxLength: 2_048, pattern: "^[Hh][Tt][Tt][Pp][Ss]://" } });

/** One item of evidence. */
const evidence = {
  type: z.enum(EVIDENCE_TYPES),
  description: longText(EVIDENCE_LIMITS.textLength),
  attachments: z.array(secureUrl).max(EVIDENCE_LIMITS.attachments).default([]),
};

const criteria = jsonObject.optional().meta({
  description:
    "Only for an escrow without a checkout: the criteria document whose keccak256 (RFC 8785) is the escrow's criteriaHash",
});

export const disputeParams = z.strictObject({ disputeId: z.string().min(1).max(MAX_ID_LENGTH) });
export const disputedTransactionParams = z.strictObject({ id: z.string().min(1).max(MAX_ID_LENGTH) });

/** Body of `POST /disputes`. The agent's identity comes from the key. */
export const disputeBody = z
  .strictObject({
    transactionId: z.string().min(1).max(MAX_ID_LENGTH),
    reason: longText(EVIDENCE_LIMITS.textLength),
    evidence: z.array(z.strictObject(evidence)).max(EVIDENCE_LIMITS.items).default([]),
    criteria,
  })
  .meta({
    id: "DisputeRequest",
    examples: [
      {
        transactionId: EXAMPLE.transaction,
        reason: "The summary is missing",
        evidence: [
          {
            type: "delivery_proof",
            description: "What was delivered",
            attachments: ["https://agent.example/result.json"],
          },
        ],
      },
    ],
  });
export type DisputeBody = z.output<typeof disputeBody>;

const complete = z
  .literal(true)
  .optional()
  .meta({
    description:
      "Nothing more comes from this party. The ruling comes once both parties have said so or have submitted evidence, the " +
      "latter a minute after the last item",
  });

/** Body of evidence: one item, or the mark that there is nothing more, or both. */
export const evidenceBody = z
  .strictObject({
    type: evidence.type.optional(),
    description: evidence.description.optional(),
    attachments: evidence.attachments.unwrap().optional(),
    complete,
    criteria,
  })
  .superRefine(({ type, description, attachments, complete: isComplete, criteria: document }, context) => {
    const hasItem = type !== undefined || description !== undefined || attachments !== undefined;
    const missing = (path: string) => {
      context.addIssue({ code: "custom", path: [path], message: "Required for an item of evidence" });
    };
    if (hasItem || (isComplete === undefined && document === undefined)) {
      if (type === undefined) missing("type");
      if (description === undefined) missing("description");
    }
  })
  .meta({
    id: "EvidenceRequest",
    examples: [{ type: "specification", description: "The request asked for a summary", complete: true }],
  });
export type EvidenceBody = z.output<typeof evidenceBody>;

/** Body of a settlement offer. */
export const settlementBody = z
  .strictObject({
    buyerPercent: z.int().min(0).max(100).meta({ description: "The seller gets the rest" }),
    deadline: z
      .int()
      .min(0)
      .meta({ description: "Last second at which the chain accepts the agreement, in unix seconds" }),
    signature: z
      .string()
      .regex(
        new RegExp(`^0x([0-9a-fA-F]{2}){1,${MAX_SIGNATURE_BYTES}}$`),
        `Must be 0x and 1 to ${MAX_SIGNATURE_BYTES} bytes in hexadecimal`,
      )
      .transform((text) => text.toLowerCase() as `0x${string}`)
      .meta({ override: { type: "string", pattern: `^0x([0-9a-fA-F]{2}){1,${MAX_SIGNATURE_BYTES}}$` } }),
  })
  .meta({
    id: "SettlementRequest",
    examples: [{ buyerPercent: 30, deadline: EXAMPLE.deadline, signature: EXAMPLE.signature }],
  });

const percent = z.int().min(0).max(100);

/** Body of an admin's ruling. */
export const adminRulingBody = z
  .strictObject({
    outcome: z.enum(DISPUTE_OUTCOMES),
    buyerPercent: percent.optional().meta({ description: "Required for Split" }),
    sellerPercent: percent.optional().meta({ description: "Required for Split; both add up to 100" }),
    rationale: longText(RATIONALE_MAX_LENGTH),
  })
  .superRefine(({ outcome, buyerPercent, sellerPercent }, context) => {
    const fixed = outcome === "BuyerRefund" ? 100 : outcome === "SellerPaid" ? 0 : undefined;
    const expected = buyerPercent ?? fixed;
    const issue = (path: string, message: string) => {
      context.addIssue({ code: "custom", path: [path], message });
    };
    if (fixed !== undefined && buyerPercent !== undefined && buyerPercent !== fixed) {
      issue("buyerPercent", `Must be ${fixed} for ${outcome}`);
      return;
    }
    if (expected === undefined) issue("buyerPercent", "Required for Split");
    if (sellerPercent === undefined) {
      if (fixed === undefined) issue("sellerPercent", "Required for Split");
      return;
    }
    if (expected !== undefined && expected + sellerPercent !== 100) {
      issue("sellerPercent", `Must be ${100 - expected}: both percentages add up to 100`);
    }
  })
  .meta({ id: "RulingRequest" });
export type AdminRulingBody = z.output<typeof adminRulingBody>;

const bytes32 = z.string().regex(/^0x[0-9a-f]{64}$/);
const timestamp = z.iso.datetime();
const side = z.enum(["buyer", "seller"]);

const offer = z
  .object({
    buyerPercent: percent,
    deadline: z.int(),
    deadlineAt: timestamp,
    signature: z.string(),
    offeredAt: timestamp,
    status: z.enum(["open", "expired"]),
  })
  .meta({ id: "SettlementOffer" });

/** A dispute in an answer to one of its parties. */
export const dispute = z
  .object({
    id: z.string(),
    disputeId: z.string().length(ID_LENGTH),
    transactionId: z.string(),
    escrowId: bytes32,
    network: z.enum(NETWORKS),
    status: z.enum(DISPUTE_STATUSES).meta({
      description:
        "`open`: evidence is taken. `ruling`: it is being judged. `ruled`: the ruling is on its way to the chain. " +
        "`resolved`: the chain has paid. `withdrawn`: a reorganisation of the chain has removed the dispute",
    }),
    reason: z.string().nullable(),
    openedBy: z.literal("buyer"),
    evidence: z.array(
      z.object({
        id: z.string(),
        evidenceId: z.string(),
        submittedBy: side,
        type: z.enum(EVIDENCE_TYPES),
        description: z.string(),
        attachments: z.array(z.string()),
        submittedAt: timestamp,
      }),
    ),
    evidenceDeadline: timestamp,
    complete: z.object({ buyer: z.boolean(), seller: z.boolean() }),
    outcome: z.enum(DISPUTE_OUTCOMES).nullable(),
    buyerPercent: percent.nullable(),
    sellerPercent: percent.nullable(),
    resolvedBy: z.enum(RESOLVED_BY).nullable(),
    resolutionMethod: z.enum(RESOLUTION_METHODS).nullable(),
    rationale: z.string().nullable(),
    rationaleHash: bytes32.nullable().meta({ description: "keccak256 of the canonical ruling document" }),
    model: z.string().nullable().meta({ description: "The model that judged; null if none did" }),
    resolutionTxHash: bytes32.nullable(),
    transaction: z
      .object({ state: z.string(), txHash: bytes32.nullable(), problem: z.string().nullable() })
      .nullable()
      .meta({ description: "The ruling's way to the chain" }),
    settlement: z.object({
      typedData: z
        .object({
          domain: z.object({
            name: z.string(),
            version: z.string(),
            chainId: z.int(),
            verifyingContract: z.string(),
          }),
          types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
          primaryType: z.string(),
          message: z.object({ escrowId: bytes32 }),
        })
        .meta({
          description: "What both parties sign to end the dispute; add buyerPercent and deadline to the message",
        }),
      offers: z.object({ buyer: offer.nullable(), seller: offer.nullable() }),
      calls: z.array(contractCall).meta({ description: "Ready when both parties have signed the same terms" }),
    }),
    indexedBlock: z
      .int()
      .nullable()
      .meta({ description: "Subgraph block at which the escrow was read; null in the answer to an admin" }),
    createdAt: timestamp,
    resolvedAt: timestamp.nullable(),
  })
  .meta({ id: "Dispute" });

export const disputeAnswer = dataOf(dispute);

/** A dispute with what it is about, for an admin. */
export const caseAnswer = dataOf(
  z
    .object({
      dispute,
      criteria: jsonObject
        .meta({ description: "The document that the parties agreed on; null if the service has none" })
        .nullable(),
      payload: jsonObject.meta({ description: "What was delivered" }).nullable(),
    })
    .meta({ id: "DisputeCase" }),
);

/** The ruling document with what proves it. */
export const rulingAnswer = dataOf(
  z
    .object({
      disputeId: z.string(),
      document: jsonObject.meta({ description: "The ruling document" }),
      rationaleHash: bytes32.meta({ description: "keccak256 of the document's RFC 8785 canonical JSON" }),
      onChain: bytes32.nullable().meta({
        description: "The hash that the chain has; null before the resolution, and if no ruling ended the dispute",
      }),
    })
    .meta({ id: "Ruling" }),
);
