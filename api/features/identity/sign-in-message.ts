import { getAddress } from "viem";
import type { Address } from "viem";

import { CHAIN_IDS, NETWORKS, SIGN_IN_MAX_AGE_SECONDS } from "../../config/constants.ts";
import { addressSchema } from "../../http/common-schemas.ts";
import { parseDateTime, isRequestId, isStatement, isUri, readSignInText, parseWebOrigin } from "./sign-in-text.ts";
import type { SignInField, SignInText } from "./sign-in-text.ts";

/** A purpose whose statement may be worded freely, as long as it names the purpose. */
type NamedPurpose = "register" | "issue_key" | "open_read_session" | "open_session";
/** The purpose of a signed message. Its statement has to name it, or be exactly the one that is given. */
export type SignInPurpose = NamedPurpose | { statement: string };

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

/** The expected purpose, service and time of a message. */
export interface SignInExpectation {
  purpose: SignInPurpose;
  /** Address under which clients reach the API. */
  publicUrl: string;
  now: Date;
}

/** An acceptable message, or everything that is wrong with it. */
export type SignInVerdict = { message: AcceptableMessage } | { faults: string[] };

const NAMES_REGISTRATION = /\bregister\b/i;
const NAMES_KEY = /\bAPI key\b/i;
const MENTIONS_KEYS = /\bAPI keys?\b/i;
const NAMES_SESSION = /\bpage session\b/i;
const NAMES_READING = /\bread-only page session\b/i;
const namesOnlySession = (statement: string) =>
  NAMES_SESSION.test(statement) && !MENTIONS_KEYS.test(statement) && !NAMES_REGISTRATION.test(statement);
const PURPOSE_RULES: Readonly<Record<NamedPurpose, { fits: (statement: string) => boolean; text: string }>> = {
  register: {
    fits: (statement) => NAMES_REGISTRATION.test(statement) && !MENTIONS_KEYS.test(statement),
    text: 'statement must name its purpose with the word "register" and must not contain "API key"',
  },
  issue_key: {
    fits: (statement) => NAMES_KEY.test(statement) && !NAMES_REGISTRATION.test(statement),
    text: 'statement must name its purpose with the words "API key" and must not contain "register"',
  },
  // No text fits two purposes: the wallet shows which one it is signed for, and what the session may do.
  open_read_session: {
    fits: (statement) => namesOnlySession(statement) && NAMES_READING.test(statement),
    text: 'statement must contain "read-only page session", and neither "register" nor "API key"',
  },
  open_session: {
    fits: (statement) => namesOnlySession(statement) && !NAMES_READING.test(statement),
    text: 'statement must contain "page session", and none of "read-only page session", "register" and "API key"',
  },
};

/** A condition, and the fault to report if it doesn't hold. */
type Rule = [holds: boolean, fault: string];

/**
 * Reads an EIP-4361 message. Checks that it was made for this service and this purpose, on a supported chain and within
 * the last ten minutes (docs/api/sign-in.md). The caller checks the signature and that the nonce is new.
 */
export function checkSignInMessage(text: string, expectation: SignInExpectation): SignInVerdict {
  const read = readSignInText(text);
  if ("fault" in read) return { faults: [read.fault] };
  const { fields } = read;
  const issuedAt = parseDateTime(fields.issuedAt.value);
  const rules = [
    ...serviceRules(fields, new URL(expectation.publicUrl)),
    ...statementRules(fields.statement, expectation.purpose),
    ...timeRules(fields, expectation.now),
    ...extraRules(fields),
  ];
  const faults = rules.filter(([holds]) => !holds).map(([, fault]) => fault);
  if (faults.length > 0 || issuedAt === undefined) return { faults };
  const unusableAfter = new Date(issuedAt.getTime() + (SIGN_IN_MAX_AGE_SECONDS + CLOCK_SKEW_SECONDS) * 1_000);
  return { message: { address: getAddress(fields.address.value), nonce: fields.nonce.value, unusableAfter } };
}

const inLine = (fault: string, { line }: SignInField): string => `${fault} (line ${line})`;

function serviceRules({ domain, address, uri, version, chainId, nonce }: SignInText, service: URL): Rule[] {
  const origins = listOrigins(service);
  const chainIds = NETWORKS.map((network) => String(CHAIN_IDS[network]));
  return [
    [
      origins.some(({ host }) => host === domain.value.toLowerCase()),
      inLine(`domain must be ${service.host}, without scheme and user name`, domain),
    ],
    [
      addressSchema.safeParse(address.value).success,
      inLine("address must be 0x and 40 hexadecimal digits, with its EIP-55 checksum or in lower case", address),
    ],
    [
      origins.some(({ origin }) => origin === parseWebOrigin(uri.value)),
      inLine(`URI must be an address of ${service.origin}, without user name`, uri),
    ],
    [version.value === "1", inLine("version must be 1", version)],
    [chainIds.includes(chainId.value), inLine(`chain id must be one of ${chainIds.join(", ")}`, chainId)],
    [NONCE.test(nonce.value), inLine("nonce must have 8 to 128 letters and digits", nonce)],
  ];
}

function statementRules(statement: SignInField, purpose: SignInPurpose): Rule[] {
  const { fits, text } = typeof purpose === "string" ? PURPOSE_RULES[purpose] : exactly(purpose.statement);
  return [
    [
      isStatement(statement.value),
      inLine("statement may only contain ASCII letters, digits, spaces and -._~:/?#[]@!$&'()*+,;=", statement),
    ],
    [
      statement.value.length <= MAX_STATEMENT_LENGTH,
      inLine(`statement must have at most ${MAX_STATEMENT_LENGTH} characters`, statement),
    ],
    [fits(statement.value), inLine(text, statement)],
  ];
}

/** A purpose with a single statement, which says all that the wallet agrees to. */
function exactly(expected: string) {
  return { fits: (statement: string) => statement === expected, text: `statement must be "${expected}"` };
}

const DATE_TIME_RULE = "must be a time like 2026-01-31T12:00:00Z";

function timeRules({ issuedAt, expirationTime, notBefore }: SignInText, now: Date): Rule[] {
  const issued = parseDateTime(issuedAt.value);
  const rules: Rule[] =
    issued === undefined
      ? [[false, inLine(`issued-at ${DATE_TIME_RULE}`, issuedAt)]]
      : [
          [
            isFresh(issued, now),
            inLine(`issued-at must be within the last ${SIGN_IN_MAX_AGE_SECONDS} seconds`, issuedAt),
          ],
        ];
  if (expirationTime !== undefined) {
    const expires = parseDateTime(expirationTime.value);
    rules.push([expires !== undefined, inLine(`expiration-time ${DATE_TIME_RULE}`, expirationTime)]);
    if (expires !== undefined) rules.push([expires > now, `line ${expirationTime.line}: the message has expired`]);
  }
  if (notBefore !== undefined) {
    const starts = parseDateTime(notBefore.value);
    rules.push([starts !== undefined, inLine(`not-before ${DATE_TIME_RULE}`, notBefore)]);
    // A client whose clock is ahead sets both times from it, so both have the same tolerance.
    const latest = new Date(now.getTime() + CLOCK_SKEW_SECONDS * 1_000);
    if (starts !== undefined) rules.push([starts <= latest, `line ${notBefore.line}: the message is not valid yet`]);
  }
  return rules;
}

function extraRules({ requestId, resources }: SignInText): Rule[] {
  const rules: Rule[] = resources.map((resource) => [
    isUri(resource.value),
    inLine("resource must be a URI", resource),
  ]);
  if (requestId !== undefined) {
    rules.push([
      isRequestId(requestId.value),
      inLine("request id may only contain ASCII letters, digits, %XX and -._~!$&'()*+,;=:@", requestId),
    ]);
  }
  return rules;
}

const LOOPBACK_NAMES = ["127.0.0.1", "localhost", "[::1]"];

/** The service's own address. A loopback address has all the loopback's names, as nobody else can use them. */
export function listOrigins(service: URL): URL[] {
  if (!LOOPBACK_NAMES.includes(service.hostname)) return [service];
  return LOOPBACK_NAMES.map((hostname) => {
    const alias = new URL(service);
    alias.hostname = hostname;
    return alias;
  });
}

function isFresh(issuedAt: Date, now: Date): boolean {
  const ageSeconds = (now.getTime() - issuedAt.getTime()) / 1_000;
  return ageSeconds <= SIGN_IN_MAX_AGE_SECONDS && ageSeconds >= -CLOCK_SKEW_SECONDS;
}
