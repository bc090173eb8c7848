import { z } from "zod";

import { NETWORKS, RATE_LIMITS } from "../config/constants.ts";
import type { RateClass } from "../config/constants.ts";
import { addressOutput, contractCall, jsonObject, timestampOutput, tokenUnits, usdOutput } from "./common-schemas.ts";

const text = z.string();
const network = z.enum(NETWORKS);
const block = z.int().nullable().meta({ description: "Subgraph block at which the state was read" });
const status = z.string().meta({ description: "Status of the transaction" });
const hint = z.object({ hint: text });
const held = { token: addressOutput, required: tokenUnits, balance: tokenUnits };
const paymentChoice = z.object({
  currency: text.optional(),
  paymentMethod: text.optional(),
  network,
  token: addressOutput.optional(),
});

/** The checkout and the transaction that was given as its funding. */
const funding = { txHash: text, network, escrowId: text };

/** Which limit a refused call or stream is about. */
const fullWindow = z
  .object({
    window: z
      .enum([...(Object.keys(RATE_LIMITS) as RateClass[]), "eventStreams", "faucet", "sandbox", "reports"])
      .meta({ description: "Class of the calls that share the window" }),
    countedBy: z.enum(["address", "key", "agent", "wallet"]).meta({ description: "Whose calls it counts" }),
    limit: z.int(),
  })
  .meta({ id: "FullWindow" });

const unavailableNetwork = z.object({ network });

/** Schemas of the `details` of each error that has any. */
export const ERROR_DETAILS = {
  validation_error: z.array(
    z
      .object({ path: text.meta({ description: "Such as `body.title` or `query.limit`" }), message: text })
      .meta({ id: "ValidationIssue" }),
  ),
  malformed_json: z.object({ reason: z.literal("invalid_utf8") }),
  sign_in_message_invalid: z.array(text),
  invalid_api_key: hint,
  request_signature_invalid: z.object({ reason: text }),
  insufficient_token_balance: z.object(held),
  agent_suspended: z.object({
    role: z.enum(["buyer", "seller"]).meta({ description: "The suspended party" }),
    decisionId: text.optional().meta({ description: "These only to the suspended party" }),
    reason: text.optional(),
    text: text.optional(),
  }),
  agent_not_verified: z.object({
    valueUsd: tokenUnits,
    usdDecimals: z.int(),
    valueDollars: text,
    kyaLevel: z.int(),
    requiredLevel: z.int().optional(),
  }),
  job_value_cap_exceeded: z.object({
    valueUsd: tokenUnits,
    capUsd: tokenUnits,
    usdDecimals: z.int(),
    valueDollars: text,
    capDollars: text,
    cappedWallet: addressOutput,
  }),
  testnet_graduation_required: z.object({ onChainScore: z.int(), graduationScore: z.int() }),
  memory_read_only: z.object({ namespace: text }),
  wrong_role: z.object({
    role: text.optional().meta({ description: "The caller's" }),
    required: text.optional(),
    needed: text.optional(),
  }),
  mandate_exceeded: z.object({
    bound: text.meta({ description: "The field of the mandate that refuses, or `closed`, `ended` or `declined`" }),
    askedUsd: usdOutput,
    left: z.object({ perDealUsd: usdOutput, todayUsd: usdOutput, totalUsd: usdOutput }),
    dayEndsAt: timestampOutput.meta({ description: "When the day's amount is whole again" }),
    notAfter: timestampOutput,
  }),
  scope_not_granted: z.object({
    accepted: z
      .array(text)
      .meta({ description: "The key needs one of these scopes; empty if keys with a mandate can't do it" }),
    granted: z.array(text).meta({ description: "The key's scopes" }),
  }),
  recipient_not_found: z.object({ toAgentId: text }),
  not_found: z.record(text, text).meta({ description: "The id that leads nowhere, by its name" }),
  delivery_already_submitted: z.object({ deliveryProof: text.nullable(), given: text }),
  delivery_transaction_mismatch: z.object({
    reason: z.enum(["unknown", "pending", "failed", "otherEscrow"]),
    ...funding,
  }),
  criteria_hash_mismatch: z.object({ hash: text, criteriaHash: text }),
  dispute_not_open_on_chain: z.object({
    status,
    openDispute: contractCall.nullable().meta({ description: "The call that opens one, if the caller may" }),
    indexedBlock: block,
  }),
  dispute_already_ruled: z.object({ outcome: text.nullable(), ruledBy: text.nullable() }),
  evidence_closed: z.object({ evidenceDeadline: timestampOutput, complete: z.boolean() }),
  evidence_limit_reached: z.object({ submitted: z.int(), limit: z.int() }),
  identity_wallet_mismatch: z.object({
    network,
    id: z.int(),
    agentWallet: addressOutput.nullable(),
    walletAddress: addressOutput,
  }),
  escrow_state_conflict: z.object({
    status,
    indexedBlock: block,
    reason: z.literal("deadline_passed").optional(),
    deadline: z.int().optional().meta({ description: "Unix seconds" }),
    now: z.int().optional().meta({ description: "Unix seconds by the chain's clock" }),
  }),
  funding_failed: z.object({ ...funding, blockNumber: z.int() }),
  funding_not_found: z.object(funding),
  funding_other_escrow: z.object({ ...funding, createdEscrowIds: z.array(text) }),
  funding_other_network: z.object({ ...funding, foundOn: network }),
  funding_other_terms: z.object({
    ...funding,
    differences: z.array(z.object({ term: text, expected: text, actual: text })),
  }),
  funding_pending: z.object(funding),
  funding_was_a_transfer: z.object({
    ...funding,
    escrowContract: addressOutput,
    transfers: z.array(z.object({ token: addressOutput, from: addressOutput, amount: tokenUnits })),
    why: text,
  }),
  intent_conflict: z.object({
    intentId: text,
    kind: z.enum(["deal", "listing", "message"]),
    id: text.meta({ description: "What was made under the intent, such as a transaction" }),
    escrowId: text.optional(),
    differs: z
      .array(text)
      .meta({ description: "Names of the arguments that differ; empty if the record has been deleted" }),
  }),
  looks_like_a_repeat: z.object({ transactionId: text, escrowId: text, intentId: text, status }),
  approval_limit_reached: z.object({ limit: z.int() }),
  approval_not_open: z.object({ status: text.meta({ description: "The approval's" }) }),
  report_not_open: z.object({ state: text.meta({ description: "The report's" }) }),
  appeal_not_open: z.object({ state: text.meta({ description: "The appeal's" }) }),
  mandate_limit_reached: z.object({ limit: z.int() }),
  session_limit_reached: z.object({ limit: z.int() }),
  sign_in_needs_https: z.object({ publicUrl: text }),
  wallet_not_of_stack: z.object({ walletAddress: addressOutput, hint: text }),
  wallet_not_registered: z.object({ walletAddress: addressOutput, hint: text }),
  memory_quota_exceeded: z.object({ bound: text, limit: z.int(), used: z.int(), added: z.int() }),
  memory_renewal_limit_reached: z.object({ expiresAt: timestampOutput, latest: timestampOutput }),
  network_mismatch: z.object({ serviceNetwork: network, requestedNetwork: network }),
  not_accepted_on_chain: z.object({
    status,
    accept: contractCall.nullable().meta({ description: "Null while the chain would refuse it" }),
    actions: z.array(jsonObject).meta({ description: "What the caller may do next, as in the transaction" }),
    indexedBlock: block,
  }),
  payment_method_empty: z.object({ ...held, allowance: tokenUnits }),
  transaction_not_funded: z.object({ transactionId: text, status, indexedBlock: block }),
  seller_terms_not_met: z.object({
    paused: z.boolean(),
    minAmountUsd: tokenUnits,
    usdDecimals: z.int(),
    minDeliverySeconds: z.int(),
    minAmountDollars: text,
    valueDollars: text,
    minDeliveryDeadlineSeconds: z.int().meta({ description: "The lowest `deliveryDeadlineSeconds` that works" }),
  }),
  service_not_active: z.object({ status: text }),
  subscription_limit_reached: z.object({ max: z.int() }),
  wallet_already_registered: hint,
  webhook_limit_reached: z.object({ limit: z.int() }),
  webhook_not_active: z.object({ webhookId: text, reason: text }),
  version_mismatch: z.object({
    expected: z.unknown().meta({ description: "The versions that the request expects" }),
    version: z.int().nullable(),
  }),
  payload_too_large: z.object({ maxBytes: z.int() }),
  amount_out_of_range: z.object({ amount: tokenUnits, minimum: tokenUnits, maximum: tokenUnits }),
  currency_not_settleable: paymentChoice,
  payment_method_not_supported: paymentChoice,
  rate_limit_exceeded: fullWindow,
  too_many_streams: fullWindow,
  too_many_attempts: fullWindow,
  chain_unavailable: unavailableNetwork,
  download_not_built: z.object({ command: text.meta({ description: "Builds it" }) }),
  pages_not_built: z.object({ command: text.meta({ description: "Builds them" }) }),
  indexer_unavailable: unavailableNetwork,
  resolver_key_missing: unavailableNetwork,
  new_escrows_paused: z.object({ network, escrowContract: addressOutput }),
  price_feed_unavailable: z.object({
    token: text,
    updatedAt: z.int().optional().meta({ description: "Unix seconds" }),
    maxPriceAge: z.int().optional().meta({ description: "Seconds" }),
  }),
  service_unavailable: z.object({ missing: text }),
} as const;
