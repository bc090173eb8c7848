/** What a text is signed for. No text is good for two purposes. */
export type Purpose = "register" | "read" | "all";

/** What a text says that it is for. */
export const STATEMENTS: Readonly<Record<Purpose, string>> = {
  register: "Register this wallet as an agent.",
  read: "Open a read-only page session for this agent.",
  all: "Open a page session for this agent.",
};
/** Base Sepolia. Signing moves nothing, so it doesn't matter which chain the wallet is on. */
const CHAIN_ID = 84_532;

/** The text (EIP-4361). The wallet shows it to its owner, who signs that and nothing else. */
export function signInText({
  statement,
  account,
  host,
  origin,
  nonce,
  issuedAt,
}: {
  statement: string;
  account: string;
  host: string;
  origin: string;
  nonce: string;
  issuedAt: Date;
}): string {
  return [
    `${host} wants you to sign in with your Ethereum account:`,
    account,
    "",
    statement,
    "",
    `URI: ${origin}`,
    "Version: 1",
    `Chain ID: ${CHAIN_ID}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt.toISOString()}`,
  ].join("\n");
}
