import { defineRoute } from "../../http/define-route.ts";
import type { AdminRuling } from "./admin.ts";
import { presentDispute } from "./presenter.ts";
import {
  adminRulingBody,
  caseAnswer,
  disputeAnswer,
  disputeBody,
  disputedTransactionParams,
  disputeParams,
  evidenceBody,
  rulingAnswer,
  settlementBody,
} from "./schemas.ts";
import type { DisputeService } from "./service.ts";

/** Dependencies of the dispute routes. */
export interface DisputeDeps {
  disputes: DisputeService;
  adminRuling: AdminRuling;
}

type PartyDeps = Pick<DisputeDeps, "disputes">;

const tag = "Disputes";
const general = { tag, auth: "apiKey", limitClass: "general", budget: "api" } as const;
const ID_PATH = "/api/v1/disputes/{disputeId}";

const EVIDENCE_RULES =
  "One item of evidence, or `complete: true` when nothing more comes from this party, or both. The ruling comes once both " +
  "parties are complete, and at the end of the evidence period at the latest.";
const evidenceErrors = [
  "not_found",
  "transaction_not_funded",
  "dispute_not_open_on_chain",
  "evidence_closed",
  "evidence_limit_reached",
  "criteria_hash_mismatch",
  "indexer_unavailable",
] as const;

const createDispute = defineRoute({
  name: "disputes.create",
  scope: "buy",
  ...general,
  limitClass: "dispute",
  method: "POST",
  path: "/api/v1/disputes",
  summary: "Says what is wrong with a delivery that the buyer has disputed on chain",
  description:
    "The buyer first sends `openDispute` on chain; the dispute exists from then on, and it is ruled even if nobody says " +
    "anything. Before that the answer is 409 with the call in `details.openDispute`. The reason is given once.",
  body: disputeBody,
  responses: { 201: disputeAnswer },
  errors: [...evidenceErrors, "wrong_role", "dispute_reason_given"],
}).handle(async ({ body, caller, operation, signal }, { disputes }: PartyDeps) => {
  const reading = await disputes.create(caller.agentId, body, operation, signal);
  return { status: 201, body: { success: true, data: presentDispute(reading) } };
});

const readDispute = defineRoute({
  name: "disputes.read",
  scope: "read",
  ...general,
  method: "GET",
  path: ID_PATH,
  summary: "Reads a dispute",
  description: "Only its parties can read it.",
  params: disputeParams,
  responses: { 200: disputeAnswer },
  errors: ["not_found", "transaction_not_funded", "indexer_unavailable"],
}).handle(async ({ params, caller, signal }, { disputes }: PartyDeps) => {
  const reading = await disputes.read(caller.agentId, params.disputeId, signal);
  return { status: 200, body: { success: true, data: presentDispute(reading) } };
});

const readRuling = defineRoute({
  name: "disputes.readRuling",
  scope: "read",
  ...general,
  method: "GET",
  path: `${ID_PATH}/ruling`,
  summary: "Reads the ruling document",
  description:
    "The document has the facts, the votes and the reasons. The keccak256 of its RFC 8785 canonical JSON is " +
    "`rationaleHash`, which the resolver contract records.",
  params: disputeParams,
  responses: { 200: rulingAnswer },
  errors: ["not_found", "transaction_not_funded", "ruling_not_available", "indexer_unavailable"],
}).handle(async ({ params, caller, signal }, { disputes }: PartyDeps) => {
  const ruling = await disputes.ruling(caller.agentId, params.disputeId, signal);
  return { status: 200, body: { success: true, data: ruling } };
});

const submitEvidence = defineRoute({
  name: "disputes.submitEvidence",
  scope: "buyOrSell",
  ...general,
  method: "POST",
  path: `${ID_PATH}/evidence`,
  summary: "Submits evidence, or marks a party's evidence as complete",
  description: EVIDENCE_RULES,
  params: disputeParams,
  body: evidenceBody,
  responses: { 201: disputeAnswer },
  errors: evidenceErrors,
}).handle(async ({ params, body, caller, operation, signal }, { disputes }: PartyDeps) => {
  const reading = await disputes.submitEvidence(caller.agentId, params.disputeId, body, operation, signal);
  return { status: 201, body: { success: true, data: presentDispute(reading) } };
});

const submitEvidenceOfTransaction = defineRoute({
  name: "transactions.submitEvidence",
  scope: "buyOrSell",
  ...general,
  method: "POST",
  path: "/api/v1/transactions/{id}/dispute/evidence",
  summary: "Submits evidence by the transaction's id",
  description: EVIDENCE_RULES,
  params: disputedTransactionParams,
  body: evidenceBody,
  responses: { 201: disputeAnswer },
  errors: evidenceErrors,
}).handle(async ({ params, body, caller, operation, signal }, { disputes }: PartyDeps) => {
  const reading = await disputes.submitEvidenceOf(caller.agentId, params.id, body, operation, signal);
  return { status: 201, body: { success: true, data: presentDispute(reading) } };
});

const offerSettlement = defineRoute({
  name: "disputes.offerSettlement",
  scope: "buyOrSell",
  ...general,
  method: "POST",
  path: `${ID_PATH}/settlement`,
  summary: "Offers to end the dispute by agreement",
  description:
    "The caller's wallet signs `settlement.typedData` of the dispute with its terms. The other party sees the offer in the " +
    "dispute and answers with its own for the same terms; then `settlement.calls` has the call that pays both, which anyone " +
    "may send. Each party has one offer: a newer one replaces it.",
  params: disputeParams,
  body: settlementBody,
  responses: { 200: disputeAnswer },
  errors: [
    "not_found",
    "transaction_not_funded",
    "dispute_not_open_on_chain",
    "signature_invalid",
    "chain_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, body, caller, signal }, { disputes }: PartyDeps) => {
  const reading = await disputes.offer(caller.agentId, params.disputeId, body, signal);
  return { status: 200, body: { success: true, data: presentDispute(reading) } };
});

const adminRuling = defineRoute({
  name: "disputes.rule",
  scope: "none",
  method: "POST",
  path: "/api/v1/admin/disputes/{disputeId}/ruling",
  tag: "Admin",
  summary: "Rules a dispute",
  description:
    "Only while the dispute has no ruling; the first one counts. The service signs the transaction with the admin " +
    "resolver's key. Exists only with `ADMIN_API_KEY`; every use of that key is audited.",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
  params: disputeParams,
  body: adminRulingBody,
  responses: { 202: disputeAnswer },
  errors: [
    "not_found",
    "dispute_not_open_on_chain",
    "dispute_already_ruled",
    "resolver_key_missing",
    "criteria_check_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, body, operation }, deps: Pick<DisputeDeps, "adminRuling">) => {
  const reading = await deps.adminRuling.rule(params.disputeId, body, operation);
  return { status: 202, body: { success: true, data: presentDispute(reading) } };
});

const adminCase = defineRoute({
  name: "disputes.readCase",
  scope: "none",
  method: "GET",
  path: "/api/v1/admin/disputes/{disputeId}",
  tag: "Admin",
  summary: "Reads what both parties said in a dispute, the criteria and the delivery",
  description: "From the service's copy of the chain. Only with `ADMIN_API_KEY`.",
  auth: "admin",
  limitClass: "keyless",
  budget: "none",
  params: disputeParams,
  responses: { 200: caseAnswer },
  errors: ["not_found"],
}).handle(async ({ params }, { adminRuling: admin }: Pick<DisputeDeps, "adminRuling">) => {
  const { reading, criteria, payload } = await admin.read(params.disputeId);
  return { status: 200, body: { success: true, data: { dispute: presentDispute(reading), criteria, payload } } };
});

export const disputeRoutes = [
  createDispute,
  readDispute,
  readRuling,
  submitEvidence,
  submitEvidenceOfTransaction,
  offerSettlement,
  adminCase,
  adminRuling,
];
