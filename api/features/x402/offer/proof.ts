import type { IncomingHttpHeaders } from "node:http";

import { decodePaymentSignatureHeader } from "@x402/core/http";
import { isAddressEqual } from "viem";
import type { Address, Hash, Hex } from "viem";
import { z } from "zod";

import { leadOf } from "../../../chain/chain-time.ts";
import { caip2Of } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import { readPaymentId } from "./payment-identifier.ts";
import { PAYMENT_VALIDITY_SECONDS } from "./terms.ts";
import type { Terms } from "./terms.ts";

/** The reason why a proof is rejected. Sent to the caller as `details.reason`. */
export type Refusal =
  | "malformed_proof"
  | "unsupported_version"
  | "unsupported_scheme"
  | "unsupported_asset_transfer"
  | "payments_unavailable"
  | "wrong_network"
  | "wrong_token"
  | "wrong_recipient"
  | "wrong_amount"
  | "wrong_sender"
  | "not_yet_valid"
  | "expired"
  | "valid_too_long"
  | "invalid_signature"
  | "wallet_has_code"
  | "insufficient_balance"
  | "authorization_used"
  | "transaction_not_found"
  | "transaction_unconfirmed"
  | "transaction_reverted"
  | "no_transfer"
  | "proof_in_use"
  | "proof_already_used"
  | "verification_failed"
  | "settlement_failed";

/** Thrown when a proof is rejected. */
export class ProofRefusedError extends Error {
  override readonly name = "ProofRefusedError";
  readonly reason: Refusal;

  constructor(reason: Refusal) {
    super(`The x402 proof doesn't count: ${reason}`);
    this.reason = reason;
  }
}

/** A transfer that the caller has sent before the request. This proof is the service's own, not part of official x402. */
export interface TransferProof {
  kind: "transfer";
  txHash: Hash;
  from: Address;
}

/** An EIP-3009 authorisation. `value` in token units, times in unix seconds. */
export interface Authorization {
  from: Address;
  to: Address;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}

/** A payment that an official client has signed; version 1 comes in X-PAYMENT, version 2 in PAYMENT-SIGNATURE. */
export interface SignedProof {
  kind: "signed";
  version: 1 | 2;
  authorization: Authorization;
  signature: Hex;
}

export type Proof = TransferProof | SignedProof;

/** A proof and the other content of its header. */
export interface Presented {
  proof: Proof;
  /** The terms that a version 2 client declares to accept. */
  accepted: Accepted | undefined;
  /** Id that the client has given the payment by the extension `payment-identifier` of version 2. */
  paymentId: string | undefined;
}

/** Longest accepted header. An official proof has about 900 characters, and 400 more with the extension. */
const MAX_HEADER_LENGTH = 8_192;
/** How far a client's clock may be ahead of the service's, in seconds. */
const CLOCK_MARGIN_SECONDS = 60;
/** Time for a call and its settlement, in seconds. */
const SETTLING_SECONDS = 30;

const hex = (digits: number) => z.templateLiteral(["0x", z.string().regex(new RegExp(`[0-9a-fA-F]{${digits}}`))]);
const address = hex(40).transform((text) => text.toLowerCase() as Address);
const uint256 = z
  .string()
  .regex(/^\d{1,78}$/)
  .transform(BigInt)
  .refine((value) => value < 2n ** 256n);

const transferPayload = z.object({ txHash: hex(64).transform((text) => text.toLowerCase() as Hash), from: address });

const signedPayload = z.object({
  // 65 bytes: agents are plain wallets, so signatures of contracts aren't accepted.
  signature: hex(130),
  authorization: z.object({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: hex(64).transform((text) => text.toLowerCase() as Hex),
  }),
});

const acceptedTerms = z.object({
  scheme: z.string(),
  network: z.string(),
  asset: address,
  amount: uint256,
  payTo: address,
});

type Accepted = z.output<typeof acceptedTerms>;

const envelope = z.object({
  x402Version: z.number(),
  scheme: z.string().optional(),
  network: z.string().optional(),
  accepted: z.unknown().optional(),
  payload: z.record(z.string(), z.unknown()),
  extensions: z.unknown().optional(),
});

/**
 * Reads the proof of a request; undefined without one. Checks only its form and its network: an earlier call may have used
 * the payment at another price.
 * @throws ProofRefusedError, ApiError `validation_error` for an unusable payment identifier
 */
export function readProof(headers: IncomingHttpHeaders, network: Network): Presented | undefined {
  const v2 = headers["payment-signature"];
  const v1 = headers["x-payment"];
  if (v2 === undefined && v1 === undefined) return undefined;
  // Two proofs at once are ambiguous: which of them pays?
  const header = v2 === undefined ? v1 : v2;
  if ((v1 !== undefined && v2 !== undefined) || typeof header !== "string")
    throw new ProofRefusedError("malformed_proof");
  const message = parse(envelope, decode(header));
  if (v2 !== undefined) {
    if (message.x402Version !== 2) throw new ProofRefusedError("unsupported_version");
    const accepted = parse(acceptedTerms, message.accepted);
    if (accepted.scheme !== "exact") throw new ProofRefusedError("unsupported_scheme");
    if (accepted.network !== caip2Of(network)) throw new ProofRefusedError("wrong_network");
    return { proof: signedProof(2, message.payload), accepted, paymentId: readPaymentId(message.extensions) };
  }
  if (message.x402Version !== 1) throw new ProofRefusedError("unsupported_version");
  if (message.scheme !== "exact") throw new ProofRefusedError("unsupported_scheme");
  if ("txHash" in message.payload) {
    if (!namesOf(network).includes(message.network ?? "")) throw new ProofRefusedError("wrong_network");
    return present({ kind: "transfer", ...parse(transferPayload, message.payload) });
  }
  if (message.network !== network) throw new ProofRefusedError("wrong_network");
  return present(signedProof(1, message.payload));
}

const present = (proof: Proof): Presented => ({ proof, accepted: undefined, paymentId: undefined });

/** Both names of a network: the service's own, and CAIP-2. */
function namesOf(network: Network): string[] {
  return [network, caip2Of(network)];
}

function decode(header: string): unknown {
  if (header.length > MAX_HEADER_LENGTH) throw new ProofRefusedError("malformed_proof");
  const text = header.trim();
  try {
    // The service's own proof may come as plain JSON.
    return text.startsWith("{") ? JSON.parse(text) : decodePaymentSignatureHeader(text);
  } catch {
    throw new ProofRefusedError("malformed_proof");
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new ProofRefusedError("malformed_proof");
  return parsed.data;
}

function signedProof(version: 1 | 2, payload: Record<string, unknown>): SignedProof {
  if ("permit2Authorization" in payload) throw new ProofRefusedError("unsupported_asset_transfer");
  const { signature, authorization } = parse(signedPayload, payload);
  return { kind: "signed", version, authorization, signature };
}

/**
 * Compares a proof with the terms. Doesn't verify signatures or transactions.
 * @throws ProofRefusedError
 */
export function requireTerms({ proof, accepted }: Presented, terms: Terms): void {
  if (accepted !== undefined) {
    const { asset, amount, payTo } = accepted;
    if (!isAddressEqual(asset, terms.token.address)) throw new ProofRefusedError("wrong_token");
    if (!isAddressEqual(payTo, terms.payTo)) throw new ProofRefusedError("wrong_recipient");
    if (amount !== terms.amount) throw new ProofRefusedError("wrong_amount");
  }
  if (proof.kind === "transfer") return;
  const { to, value } = proof.authorization;
  if (!isAddressEqual(to, terms.payTo)) throw new ProofRefusedError("wrong_recipient");
  if (value !== terms.amount) throw new ProofRefusedError("wrong_amount");
}

/** A proof's payer must be the wallet that the caller has registered. @throws ProofRefusedError */
export function requireSender(proof: Proof, wallet: Address): void {
  const from = proof.kind === "transfer" ? proof.from : proof.authorization.from;
  if (!isAddressEqual(from, wallet)) throw new ProofRefusedError("wrong_sender");
}

/**
 * Checks the validity period of an authorisation. Its end must leave time for the call, which runs before the settlement.
 * It must not be too late either: a payment that can't settle is retried until it expires. The token compares with the
 * chain's clock, but clients may sign by their own. So the period of the terms is extended if the chain's clock is ahead.
 * @param chainTime of the latest block in unix seconds, like `wallTime`
 * @throws ProofRefusedError if an authorisation isn't valid now and half a minute from now, or is valid for longer than the
 * terms allow
 */
export function requireValidity(
  { validAfter, validBefore }: Authorization,
  wallTime: number,
  chainTime = wallTime,
): void {
  const begun = wallTime + leadOf({ chainTime, wallTime });
  const latest = begun + PAYMENT_VALIDITY_SECONDS + CLOCK_MARGIN_SECONDS;
  if (validAfter > BigInt(begun)) throw new ProofRefusedError("not_yet_valid");
  if (validBefore <= BigInt(Math.max(wallTime, chainTime) + SETTLING_SECONDS)) throw new ProofRefusedError("expired");
  if (validBefore > BigInt(latest)) throw new ProofRefusedError("valid_too_long");
}
