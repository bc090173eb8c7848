// Loaded only when somebody signs.
import type { BrowserWallet } from "./announcement.ts";
import { signInText, STATEMENTS } from "./sign-in-text.ts";
import type { Purpose } from "./sign-in-text.ts";

const NONCE_BYTES = 12;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** A signature by a key, not by a contract. */
export const SIGNATURE = /^0x[0-9a-fA-F]{130}$/;

/** A text with its signature, as the API takes it. */
export interface SignedText {
  message: string;
  signature: string;
}

/** Why a wallet didn't do what it was asked. */
export class WalletError extends Error {
  readonly reason: "no_account" | "other_account" | "not_a_key" | "refused" | "busy" | "unknown_chain" | "failed";

  /** @param message the wallet's words, or the account that it shows instead @param options `cause`: what the wallet threw */
  constructor(reason: WalletError["reason"], message = "", options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The account that the wallet shows to this page. @throws WalletError */
export async function chooseAccount({ provider }: BrowserWallet): Promise<string> {
  const accounts = await asked(() => provider.request({ method: "eth_requestAccounts" }));
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof account !== "string" || !ADDRESS.test(account)) throw new WalletError("no_account");
  return account;
}

/** Has a text for a purpose signed by the wallet's account. @throws WalletError */
export function signFor(purpose: Purpose, wallet: BrowserWallet, account: string): Promise<SignedText> {
  return signStatement(STATEMENTS[purpose], wallet, account);
}

/** Has a text with a statement signed by the wallet's account. @throws WalletError */
export async function signStatement(
  statement: string,
  { provider }: BrowserWallet,
  account: string,
): Promise<SignedText> {
  const nonce = hex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  const { host, origin } = location;
  const message = signInText({ statement, account, host, origin, nonce, issuedAt: new Date() });
  const params = [`0x${hex(new TextEncoder().encode(message))}`, account];
  const signature = await asked(() => provider.request({ method: "personal_sign", params }));
  if (typeof signature !== "string" || !SIGNATURE.test(signature)) throw new WalletError("not_a_key");
  return { message, signature };
}

const HEX = 16;

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(HEX).padStart(2, "0")).join("");
}

/** Codes of EIP-1193, JSON-RPC and EIP-3326: refused by the owner, already asking, and a chain that the wallet doesn't know. */
const REFUSED = 4_001;
const BUSY = -32_002;
const UNKNOWN_CHAIN = 4_902;

/** Asks a wallet. @throws WalletError */
export async function asked(request: () => Promise<unknown>): Promise<unknown> {
  try {
    return await request();
  } catch (cause) {
    const { code, message } = (cause ?? {}) as { code?: unknown; message?: unknown };
    if (code === REFUSED) throw new WalletError("refused", "", { cause });
    if (code === BUSY) throw new WalletError("busy", "", { cause });
    if (code === UNKNOWN_CHAIN) throw new WalletError("unknown_chain", "", { cause });
    throw new WalletError("failed", typeof message === "string" ? message : "", { cause });
  }
}
