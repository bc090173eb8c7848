import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import { buildSubmitDelivery } from "./actions.ts";
import { isoOrNull, presentAction, presentTransaction } from "./presenter.ts";
import {
  claimAbandonedAnswer,
  criteriaAnswer,
  deliverBody,
  finalizeAnswer,
  fundBody,
  listQuery,
  pendingDeliveryAnswer,
  readQuery,
  transactionAnswer,
  transactionListAnswer,
  transactionParams,
  transactionWithActionsAnswer,
} from "./schemas.ts";
import type { TransactionService } from "./service.ts";

/** Dependencies of the transaction routes. */
export interface TransactionDeps {
  transactions: TransactionService;
}

const tag = "Transactions";
const general = { auth: "apiKey", limitClass: "general", budget: "api" } as const;
const ID_PATH = "/api/v1/transactions/{id}";

const listTransactions = defineRoute({
  name: "transactions.list",
  scope: "read",
  ...general,
  method: "GET",
  path: "/api/v1/transactions",
  tag,
  summary: "Lists the caller's transactions, newest first",
  description:
    "States come from copies that follow the chain and are never older than what a party has reported. `indexedBlock` is " +
    "the block up to which they are current.",
  query: listQuery,
  responses: { 200: transactionListAnswer },
  errors: ["indexer_unavailable"],
}).handle(async ({ query, caller, signal }, { transactions }: TransactionDeps) => {
  const { cursor, ...filter } = query;
  const { entries, next } = await transactions.list(caller.agentId, { ...filter, after: cursor?.after }, signal);
  return {
    status: 200,
    body: {
      success: true,
      data: entries.map(({ record, role, indexedBlock }) => presentTransaction(record, role, indexedBlock)),
      nextCursor: next === null ? null : encodeCursor({ after: next }),
    },
  };
});

const readTransaction = defineRoute({
  name: "transactions.read",
  scope: "read",
  ...general,
  method: "GET",
  path: ID_PATH,
  tag,
  summary: "Reads a transaction and what the caller may do next",
  description:
    "Each of `actions` is a call that the caller's wallet can send as is (`to`, `data`, `value`), or a request to this " +
    "service (`method`, `path`, `bodySchema`). A seller first submits the payload with `deliver`; `submitDelivery` then " +
    "has its calldata. Only the parties can read a transaction, and its seller only once it is funded (409 " +
    "`transaction_not_funded`).",
  params: transactionParams,
  query: readQuery,
  // The answer may contain a job token, which must not be stored.
  storesResponse: false,
  responses: { 200: transactionWithActionsAnswer },
  errors: ["not_found", "transaction_not_funded", "indexer_unavailable"],
}).handle(async ({ params, query, caller, signal }, { transactions }: TransactionDeps) => {
  const reading = await transactions.get(caller.agentId, params.id, { minBlock: query.minBlock, signal });
  const { record, role, indexedBlock, actions, jobAccess } = reading;
  const data = { ...presentTransaction(record, role, indexedBlock), actions: actions.map(presentAction) };
  return {
    status: 200,
    body: { success: true, data: jobAccess === undefined ? data : { ...data, sellerEndpoint: jobAccess } },
  };
});

const readCriteria = defineRoute({
  name: "transactions.readCriteria",
  scope: "read",
  ...general,
  method: "GET",
  path: `${ID_PATH}/criteria`,
  tag,
  summary: "Reads the criteria document that the escrow's hash commits to",
  description: "`criteriaHash` is the keccak256 of the RFC 8785 canonical JSON of `criteria`.",
  params: transactionParams,
  responses: { 200: criteriaAnswer },
  errors: ["not_found", "transaction_not_funded", "criteria_not_available", "indexer_unavailable"],
}).handle(async ({ params, caller, signal }, { transactions }: TransactionDeps) => ({
  status: 200,
  body: { success: true, data: await transactions.criteria(caller.agentId, params.id, signal) },
}));

const fundTransaction = defineRoute({
  name: "transactions.fund",
  scope: "buy",
  method: "POST",
  path: `${ID_PATH}/fund`,
  tag,
  summary: "Verifies the funding by its transaction hash",
  description:
    "The buyer sends the hash of its createEscrow transaction once it has the receipt. The answer is 202 until the " +
    "subgraph has reached the receipt's block. An escrow on chain is also recognized without this call. 402: the " +
    "createEscrow failed and the wallet holds less than the deposit. 409 `funding_was_a_transfer`: the tokens are " +
    "lost.",
  auth: "apiKey",
  limitClass: "fund",
  budget: "transaction",
  params: transactionParams,
  body: fundBody,
  responses: { 200: transactionAnswer, 202: transactionAnswer },
  provisional: [202],
  errors: [
    "not_found",
    "transaction_not_funded",
    "wrong_role",
    "insufficient_token_balance",
    "funding_not_found",
    "funding_pending",
    "funding_failed",
    "funding_other_network",
    "funding_other_escrow",
    "funding_other_terms",
    "funding_was_a_transfer",
    "chain_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, body, caller, signal }, { transactions }: TransactionDeps) => {
  const answer = await transactions.fund(caller.agentId, params.id, body.txHash, signal);
  if (answer.kind === "pending") {
    return {
      status: 202,
      headers: { "Retry-After": String(answer.retryAfterSeconds) },
      body: { success: true, data: presentTransaction(answer.record, "buyer", null) },
    };
  }
  const { record, role, indexedBlock } = answer.reading;
  return { status: 200, body: { success: true, data: presentTransaction(record, role, indexedBlock) } };
});

const deliverTransaction = defineRoute({
  name: "transactions.deliver",
  scope: "sell",
  method: "POST",
  path: `${ID_PATH}/deliver`,
  tag,
  summary: "Submits the result of a job",
  description:
    "The seller's payload can't be changed later. The answer is 202 with the submitDelivery call until the chain has " +
    "the delivery. After that the buyer can read the payload.",
  auth: "apiKey",
  limitClass: "deliver",
  budget: "transaction",
  params: transactionParams,
  body: deliverBody,
  responses: { 200: transactionAnswer, 202: pendingDeliveryAnswer },
  provisional: [202],
  errors: [
    "not_found",
    "transaction_not_funded",
    "wrong_role",
    "escrow_state_conflict",
    "delivery_already_submitted",
    "delivery_transaction_mismatch",
    "chain_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, body, caller, signal }, { transactions }: TransactionDeps) => {
  const { reading, onChain } = await transactions.deliver(caller.agentId, params.id, body, signal);
  const data = presentTransaction(reading.record, reading.role, reading.indexedBlock);
  if (onChain) return { status: 200, body: { success: true, data } };
  const submitDelivery = buildSubmitDelivery(reading.record) ?? null;
  return { status: 202, body: { success: true, data: { ...data, submitDelivery } } };
});

const confirmTransaction = defineRoute({
  name: "transactions.confirm",
  scope: "buy",
  method: "POST",
  path: `${ID_PATH}/confirm`,
  tag,
  summary: "Confirms that the buyer accepted on chain",
  description:
    "Only reads the chain's state. Before `accept` the answer is 409 with the call in `details.accept`, which is null while " +
    "the chain would refuse it, and with what the caller may do next in `details.actions`.",
  auth: "apiKey",
  limitClass: "confirm",
  budget: "transaction",
  params: transactionParams,
  responses: { 200: transactionAnswer },
  errors: [
    "not_found",
    "transaction_not_funded",
    "wrong_role",
    "not_accepted_on_chain",
    "chain_unavailable",
    "indexer_unavailable",
  ],
}).handle(async ({ params, caller, signal }, { transactions }: TransactionDeps) => {
  const { record, role, indexedBlock } = await transactions.confirm(caller.agentId, params.id, signal);
  return { status: 200, body: { success: true, data: presentTransaction(record, role, indexedBlock) } };
});

const claimAbandoned = defineRoute({
  name: "transactions.claimAbandoned",
  scope: "read",
  ...general,
  method: "GET",
  path: `${ID_PATH}/claimAbandoned`,
  tag,
  summary: "Returns the call with which the buyer reclaims the deposit of an undelivered job",
  description:
    "The 2% fee isn't refunded. Before `claimableAt` the chain refuses the call. For a deal that isn't `funded`, " +
    "`claimableAt` is null and `reason` says why.",
  params: transactionParams,
  responses: { 200: claimAbandonedAnswer },
  errors: ["not_found", "transaction_not_funded", "wrong_role", "indexer_unavailable"],
}).handle(async ({ params, caller, signal }, { transactions }: TransactionDeps) => {
  const { call, indexedBlock, opensAt, reason } = await transactions.claimAbandoned(caller.agentId, params.id, signal);
  const data = { ...call, claimable: reason === null, claimableAt: isoOrNull(opensAt), reason, indexedBlock };
  return { status: 200, body: { success: true, data } };
});

const finalize = defineRoute({
  name: "transactions.finalize",
  scope: "read",
  ...general,
  method: "GET",
  path: `${ID_PATH}/finalize`,
  tag,
  summary: "Returns the call that releases the funds after the dispute window",
  description:
    "Anyone may send it. Before `finalizableAt` the chain refuses the call. For a deal that isn't `delivered`, " +
    "`finalizableAt` is null and `reason` says why.",
  params: transactionParams,
  responses: { 200: finalizeAnswer },
  errors: ["not_found", "transaction_not_funded", "indexer_unavailable"],
}).handle(async ({ params, caller, signal }, { transactions }: TransactionDeps) => {
  const { call, indexedBlock, opensAt, reason } = await transactions.finalize(caller.agentId, params.id, signal);
  const data = { ...call, finalizable: reason === null, finalizableAt: isoOrNull(opensAt), reason, indexedBlock };
  return { status: 200, body: { success: true, data } };
});

export const transactionRoutes = [
  listTransactions,
  readTransaction,
  readCriteria,
  fundTransaction,
  deliverTransaction,
  confirmTransaction,
  claimAbandoned,
  finalize,
];
