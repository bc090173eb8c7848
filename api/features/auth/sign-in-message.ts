import { getAddress } from "viem";
import type { Address } from "viem";
import { parseSiweMessage } from "viem/siwe";

import { CHAIN_IDS, NETWORKS, SIGN_IN_MAX_AGE_SECONDS } from "../../config/constants.ts";

/** What a signed message is for; its statement has to name it (decision 21). */
export type SignInPurpose = "register" | "issue_key";

/** How far a client's clock may be ahead of ours. */
const CLOCK_SKEW_SECONDS = 60;
const MAX_STATEMENT_LENGTH = 500;
/** EIP-4361 requires at least 8 characters. The upper bound keeps the stored nonces short. */
const NONCE = /^[A-Za-z0-9]{8,128}$/;

/** A message that can be accepted if its signature is valid. */
export interface AcceptableMessage {
  address: Address;
  nonce: string;
  /** After this moment the message is refused for its age. */
  unusableAfter: Date;
}

/** What the message must say. */
export interface SignInExpectation {
  purpose: SignInPurpose;
  /** Address under which clients reach the API. */
  publicUrl: string;
  now: Date;
}

/** An acceptable message, or everything that is wrong with it. */
export type SignInVerdict = { message: AcceptableMessage } | { faults: string[] };

const PURPOSE_RULES: Readonly<Record<SignInPurpose, { fits: (statement: string) => boolean; text: string }>> = {
  register: {
    fits: (statement) => /\bregister\b/i.test(statement),
    text: 'statement must name its purpose with the word "register"',
  },
  issue_key: {
    fits: (statement) => /\bAPI key\b/i.test(statement) && !/\bregister\b/i.test(statement),
    text: 'statement must name its purpose with the words "API key" and must not contain "register"',
  },
};

/**
 * Reads an EIP-4361 message and checks that it was made for this service, for this purpose, on a supported chain and
 * within the last ten minutes (decision 21). The caller checks the signature and that the nonce is new.
 */
export function checkSignInMessage(text: string, expectation: SignInExpectation): SignInVerdict {
  const fields = parseSiweMessage(text);
  const { address, domain, uri, version, chainId, nonce, issuedAt, statement } = fields;
  if (address === undefined || issuedAt === undefined || nonce === undefined || hasSecondSuffix(text)) {
    return { faults: ["the text isn't an EIP-4361 message"] };
  }
  const { now, publicUrl, purpose } = expectation;
  const service = new URL(publicUrl);
  const origins = originsOf(service);
  const expiresAt = fields.expirationTime;
  const rules: [boolean, string][] = [
    [origins.some(({ host }) => host === domain?.toLowerCase()), `domain must be ${service.host}`],
    [origins.some(({ origin }) => isOfOrigin(uri, origin)), `URI must be an address of ${service.origin}`],
    [version === "1", "version must be 1"],
    [
      NETWORKS.some((network) => CHAIN_IDS[network] === chainId),
      `chain id must be one of ${NETWORKS.map((network) => CHAIN_IDS[network]).join(", ")}`,
    ],
    [NONCE.test(nonce), "nonce must have 8 to 128 letters and digits"],
    [isFresh(issuedAt, now), `issued-at must be within the last ${SIGN_IN_MAX_AGE_SECONDS} seconds`],
    [expiresAt === undefined || expiresAt > now, "the message has expired"],
    [fields.notBefore === undefined || fields.notBefore <= now, "the message is not valid yet"],
    [(statement?.length ?? 0) <= MAX_STATEMENT_LENGTH, "statement is too long"],
    [PURPOSE_RULES[purpose].fits(statement ?? ""), PURPOSE_RULES[purpose].text],
  ];
  const faults = rules.filter(([holds]) => !holds).map(([, fault]) => fault);
  if (faults.length > 0) return { faults };
  const unusableAfter = new Date(issuedAt.getTime() + (SIGN_IN_MAX_AGE_SECONDS + CLOCK_SKEW_SECONDS) * 1_000);
  return { message: { address: getAddress(address), nonce, unusableAfter } };
}

/** Finds texts that can be read in two ways: the wallet may have shown its owner something other than what we read. */
function hasSecondSuffix(text: string): boolean {
  return text.split("\n").filter((line) => line.startsWith("URI: ") || line.startsWith("Nonce: ")).length !== 2;
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** The service's own address. A loopback address has all the loopback's names, as nobody else can use them. */
function originsOf(service: URL): URL[] {
  if (!LOOPBACK_NAMES.includes(service.hostname)) return [service];
  return LOOPBACK_NAMES.map((hostname) => {
    const alias = new URL(service);
    alias.hostname = hostname;
    return alias;
  });
}

function isOfOrigin(uri: string | undefined, origin: string): boolean {
  return uri !== undefined && URL.canParse(uri) && new URL(uri).origin === origin;
}

/** An invalid date is never fresh: every comparison with it is false. */
function isFresh(issuedAt: Date, now: Date): boolean {
  const ageSeconds = (now.getTime() - issuedAt.getTime()) / 1_000;
  return ageSeconds <= SIGN_IN_MAX_AGE_SECONDS && ageSeconds >= -CLOCK_SKEW_SECONDS;
}
