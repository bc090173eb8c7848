import { createHash, timingSafeEqual } from "node:crypto";

import { ExpiredError, httpbis } from "http-message-signatures";
import type { SignatureParameters, VerifyingKey } from "http-message-signatures";
import { isAddressEqual, isAddress, toHex, verifyMessage } from "viem";

import {
  CHAIN_IDS,
  NETWORKS,
  REQUEST_SIGNATURE_MAX_AGE_SECONDS,
  REQUEST_SIGNATURE_SKEW_SECONDS,
} from "../../config/constants.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import { ApiError } from "../errors.ts";
import type { Step, ValidatedContext } from "../pipeline.ts";

/** Remembers the nonces of signatures. */
export interface SignatureNonces {
  /** Uses a nonce of a wallet. False if it was used before. */
  use(wallet: string, nonce: string, unusableAfter: Date): Promise<boolean>;
}

/** Dependencies of the check. */
export interface RequestSignatureOptions {
  /** Address at which clients reach the API: the origin that they sign. */
  publicUrl: string;
  nonces: SignatureNonces;
  clock: Clock;
}

/** A request as its client signed it. */
interface SignedRequest extends Pick<ValidatedContext, "method" | "target" | "headers"> {
  body: Buffer;
}

const NONCE = /^[\x21-\x7e]{8,128}$/;

/**
 * Requires an RFC 9421 signature of the caller's wallet on every request with an API key. The signature is
 * an EIP-191 signature of the signature base, `keyid` is `erc8128:<chain id>:<wallet>`. It covers the method, the whole
 * address and the digest of the body (RFC 9530), is at most 5 minutes old, and has a nonce that works once.
 */
export function requestSignature({ publicUrl, nonces, clock }: RequestSignatureOptions): Step<ValidatedContext> {
  async function check(wallet: `0x${string}`, { target, body, ...request }: SignedRequest): Promise<void> {
    if (body.length > 0) requireDigest(request.headers["content-digest"], body);
    const used = await verifiedNonce(request, wallet, {
      url: publicUrl + target,
      hasBody: body.length > 0,
      now: toUnixSeconds(clock.now()),
    });
    const unusableAfter =
      clock.now().getTime() + (REQUEST_SIGNATURE_MAX_AGE_SECONDS + REQUEST_SIGNATURE_SKEW_SECONDS) * 1_000;
    const isFirst = await nonces.use(wallet.toLowerCase(), used, new Date(unusableAfter));
    if (!isFirst) throw invalid("its nonce has been used before");
  }
  return async (context, next) => {
    const { caller, compound, method, target, headers, bodyBytes: body = Buffer.alloc(0) } = context;
    if (caller === undefined) return next();
    const wallet = caller.walletAddress;
    if (compound === undefined) await check(wallet, { method, target, headers, body });
    else {
      // The client has signed its own request, not those that are made for it.
      const { outer } = compound;
      await compound.checkSignature(() => check(wallet, { ...outer, body: outer.bodyBytes }));
    }
    return next();
  };
}

function invalid(reason: string, cause?: unknown): ApiError {
  return new ApiError("request_signature_invalid", { details: { reason }, cause });
}

/** Only SHA-256 and SHA-512 are active algorithms of RFC 9530. */
const DIGEST = /^(sha-256|sha-512)=:([A-Za-z0-9+/]+=*):$/;

/** @throws ApiError `request_signature_invalid` */
function requireDigest(header: string | string[] | undefined, body: Buffer): void {
  const [, algorithm, value] = (typeof header === "string" ? DIGEST.exec(header.trim()) : null) ?? [];
  if (algorithm === undefined || value === undefined) throw invalid("Content-Digest must be sha-256 or sha-512");
  const digest = createHash(algorithm.replace("-", "")).update(body).digest();
  const given = Buffer.from(value, "base64");
  if (given.length !== digest.length || !timingSafeEqual(given, digest)) {
    throw invalid("Content-Digest isn't the digest of the body");
  }
}

interface Expected {
  url: string;
  hasBody: boolean;
  /** Unix seconds. */
  now: number;
}

/** The nonce of the wallet's valid signature. @throws ApiError `request_signature_invalid`, `request_timestamp_expired` */
async function verifiedNonce(
  { method, headers }: Pick<ValidatedContext, "method" | "headers">,
  wallet: `0x${string}`,
  { url, hasBody, now }: Expected,
): Promise<string> {
  let nonce: string | undefined;
  const key: VerifyingKey = {
    algs: ["eip191"],
    async verify(base, signature, parameters = {}) {
      // The library compares times as numbers, and no comparison with a text that isn't one is ever true.
      requireTimes(parameters);
      if (typeof parameters.nonce !== "string" || !NONCE.test(parameters.nonce)) {
        throw invalid("nonce must have 8 to 128 printable characters");
      }
      nonce = parameters.nonce;
      return verifyMessage({ address: wallet, message: { raw: base }, signature: toHex(signature) });
    },
  };
  try {
    const isValid = await httpbis.verifyMessage(
      {
        keyLookup: ({ keyid }) => Promise.resolve(isKeyOf(keyid, wallet) ? key : null),
        maxAge: REQUEST_SIGNATURE_MAX_AGE_SECONDS,
        notAfter: now + REQUEST_SIGNATURE_SKEW_SECONDS,
        requiredParams: ["created", "keyid", "nonce"],
        requiredFields: ["@method", "@target-uri", ...(hasBody ? ["content-digest"] : [])],
      },
      { method, url, headers: definedHeaders(headers) },
    );
    if (isValid === null) throw invalid("there is none of the caller's wallet");
    if (!isValid || nonce === undefined) throw invalid("it isn't the wallet's signature of this request");
    return nonce;
  } catch (error) {
    if (error instanceof ApiError) throw error;
    if (error instanceof ExpiredError) throw new ApiError("request_timestamp_expired", { cause: error });
    // The library reports malformed headers and components by many kinds of errors.
    throw invalid(error instanceof Error ? error.message : "it is malformed", error);
  }
}

function requireTimes({ created, expires }: SignatureParameters): void {
  if (!(created instanceof Date) || Number.isNaN(created.getTime())) throw invalid("created must be a number");
  if (expires !== undefined && typeof expires !== "number") throw invalid("expires must be a number");
}

const KEY_ID = /^erc8128:(\d{1,10}):(0x[0-9a-fA-F]{40})$/;

/** Whether a key id names the wallet on one of the service's chains. */
function isKeyOf(keyId: string | undefined, wallet: `0x${string}`): boolean {
  const [, chainId, address] = KEY_ID.exec(keyId ?? "") ?? [];
  const isOurChain = NETWORKS.some((network) => String(CHAIN_IDS[network]) === chainId);
  return (
    isOurChain && address !== undefined && isAddress(address, { strict: false }) && isAddressEqual(address, wallet)
  );
}

function definedHeaders(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter((entry): entry is [string, string | string[]] => entry[1] !== undefined),
  );
}
