// The grammar of a sign-in text: EIP-4361, narrowed as docs/api/sign-in.md says.

/** A field of the text and the line that it is on. Lines count from 1. */
export interface SignInField {
  value: string;
  line: number;
}

/** The fields of a sign-in text in their order. Their values aren't checked yet. */
export interface SignInText {
  domain: SignInField;
  address: SignInField;
  statement: SignInField;
  uri: SignInField;
  version: SignInField;
  chainId: SignInField;
  nonce: SignInField;
  issuedAt: SignInField;
  expirationTime?: SignInField;
  notBefore?: SignInField;
  requestId?: SignInField;
  resources: SignInField[];
}

const HEADER_END = " wants you to sign in with your Ethereum account:";
const RESOURCES = "Resources:";
const RESOURCE_START = "- ";

const REQUIRED = [
  ["uri", "URI: "],
  ["version", "Version: "],
  ["chainId", "Chain ID: "],
  ["nonce", "Nonce: "],
  ["issuedAt", "Issued At: "],
] as const;
const OPTIONAL = [
  ["expirationTime", "Expiration Time: "],
  ["notBefore", "Not Before: "],
  ["requestId", "Request ID: "],
] as const;

/**
 * Takes a text apart, line by line. Each field has one place, so that no text can be read in two ways: the wallet shows
 * its owner exactly what the service reads.
 */
export function readSignInText(text: string): { fields: SignInText } | { fault: string } {
  const lines = text.split("\n");
  const at = (index: number): SignInField => ({ value: lines[index] ?? "", line: index + 1 });
  const after = (index: number, label: string): SignInField => ({
    value: at(index).value.slice(label.length),
    line: index + 1,
  });
  const has = (index: number, label: string) => at(index).value.startsWith(label);

  const header = at(0).value;
  if (!header.endsWith(HEADER_END)) return { fault: `line 1 must be a domain and "${HEADER_END}"` };
  if (at(2).value !== "") return { fault: "line 3 must be empty" };
  // Without a statement its line isn't there: the next line is the empty one that follows it.
  const statement = at(3);
  let next = statement.value === "" ? 4 : 5;
  if (at(next - 1).value !== "") return { fault: `line ${next} must be empty` };

  const required: Partial<Record<(typeof REQUIRED)[number][0], SignInField>> = {};
  for (const [name, label] of REQUIRED) {
    if (!has(next, label)) return { fault: `line ${next + 1} must start with "${label}"` };
    required[name] = after(next, label);
    next += 1;
  }
  const optional: Partial<Record<(typeof OPTIONAL)[number][0], SignInField>> = {};
  for (const [name, label] of OPTIONAL) {
    if (!has(next, label)) continue;
    optional[name] = after(next, label);
    next += 1;
  }
  const resources: SignInField[] = [];
  if (at(next).value === RESOURCES) {
    next += 1;
    for (; has(next, RESOURCE_START); next += 1) resources.push(after(next, RESOURCE_START));
  }
  if (next < lines.length) {
    return {
      fault:
        `line ${next + 1} must not be there: only ${OPTIONAL.map(([, label]) => `"${label}"`).join(", ")} and "${RESOURCES}" ` +
        `may follow, once and in this order, and nothing after them, not even a line break`,
    };
  }
  const domain = { value: header.slice(0, -HEADER_END.length), line: 1 };
  const fields = {
    domain,
    address: at(1),
    statement,
    ...(required as Required<typeof required>),
    ...optional,
    resources,
  };
  return { fields };
}

/** Characters of a statement: `reserved`, `unreserved` and space of the ABNF. */
const STATEMENT = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;= ]*$/;
/** `pchar` of RFC 3986. */
const PCHAR = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@]|%[0-9A-Fa-f]{2})`;
const REQUEST_ID = new RegExp(`^${PCHAR}*$`);
/** The characters of a URI in RFC 3986, behind its scheme. */
const ANY_URI = new RegExp(String.raw`^[A-Za-z][A-Za-z0-9+\-.]*:(?:${PCHAR}|[/?#[\]])*$`);
/** An address of an HTTP service without user name. */
const WEB_URI = new RegExp(String.raw`^https?://[A-Za-z0-9\-._~!$&'()*+,;=:[\]]+(?:[/?#](?:${PCHAR}|[/?#])*)?$`, "i");
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

export const isStatement = (text: string): boolean => STATEMENT.test(text);
export const isRequestId = (text: string): boolean => REQUEST_ID.test(text);
export const isUri = (text: string): boolean => ANY_URI.test(text);

/** The origin of a web address; undefined for any other text. */
export function parseWebOrigin(text: string): string | undefined {
  return WEB_URI.test(text) && URL.canParse(text) ? new URL(text).origin : undefined;
}

/** A `date-time` of RFC 3339 whose day exists; undefined for any other text. */
export function parseDateTime(text: string): Date | undefined {
  const [, year, month, day] = DATE_TIME.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return undefined;
  // A day that its month doesn't have would be taken as one of the next month.
  const date = new Date(Date.UTC(year, month - 1, day));
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const moment = new Date(text.toUpperCase());
  return Number.isNaN(moment.getTime()) ? undefined : moment;
}
