// Loaded only when an owner signs for keys, approvals or the webhook secret: it hashes orders.
import { approvalData } from "../../../sdk/src/approval-data.ts";
import { deliveryProofOf } from "../../../sdk/src/canonical-json.ts";
import type { Approval } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import type { BrowserWallet } from "./announcement.ts";
import { askApi } from "./api.ts";
import { keyStatement, secretStatement, signingWords, usdText } from "./key-words.ts";
import type { KeyAction, SecretAction } from "./key-words.ts";
import { isSame } from "./needs.ts";
import { SIGNATURE, signStatement, WalletError } from "./signing.ts";
import { accountsOf, ask } from "./wallet-calls.ts";

/** An approval whose order isn't the one that it names. */
class DifferentOrder extends Error {}

/** Says why nothing was signed. */
export function signingProblem(error: unknown, wallet: BrowserWallet | undefined, account: string): string {
  const name = wallet?.name ?? "The wallet";
  if (error instanceof DifferentOrder) return signingWords("differs", "", name, account);
  const { reason, message } = error instanceof WalletError ? error : { reason: "failed", message: String(error) };
  return signingWords(reason, message, name, account);
}

/** Has an action on keys signed, and sends it. The answer has the keys that are left. @throws WalletError */
export async function sendKeyAction(wallet: BrowserWallet, session: KeptSession, asked: KeyAction): Promise<Answer> {
  const account = await requireAccount(wallet, session.walletAddress);
  const signed = await signStatement(keyStatement(asked), wallet, account);
  const body = { ...asked, ...signed };
  return askApi("/api/v1/sessions/current/keys", { method: "POST", body }, session);
}

/** Has an action on the webhook secret signed, and sends it. The answer has the secret. @throws WalletError */
export async function sendSecretAction(
  wallet: BrowserWallet,
  session: KeptSession,
  action: SecretAction,
): Promise<Answer> {
  const account = await requireAccount(wallet, session.walletAddress);
  const signed = await signStatement(secretStatement(action), wallet, account);
  const body = { action, ...signed };
  return askApi("/api/v1/sessions/current/webhook-secret", { method: "POST", body }, session);
}

/** The types of a domain with a name and a version alone, which wallets want beside the others. */
const DOMAIN_TYPES = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
];
const MS = 1_000;

/**
 * Has the grant of an approval signed (EIP-712), and sends it. It is for what the page shows: the hash is of that order.
 * @param maxUsd the most that the deposit may be worth, in millionths of a US dollar
 * @throws WalletError, and an error that `signingProblem` knows
 */
export async function sendGrant(
  wallet: BrowserWallet,
  session: KeptSession,
  { id, keyId, network, request, requestHash, expiresAt }: Approval,
  maxUsd: bigint,
): Promise<Answer> {
  if (deliveryProofOf(request) !== requestHash) throw new DifferentOrder();
  const account = await requireAccount(wallet, session.walletAddress);
  const end = Math.floor(Date.parse(expiresAt) / MS);
  const fields = { host: location.host, keyId, network, requestHash };
  const { types, ...data } = approvalData({ id, ...fields, maxUsd, expiresAt: BigInt(end) });
  const typed = JSON.stringify({ ...data, types: { EIP712Domain: DOMAIN_TYPES, ...types } }, bigintAsDigits);
  const signature = await ask(wallet, "eth_signTypedData_v4", [account, typed]);
  if (typeof signature !== "string" || !SIGNATURE.test(signature)) throw new WalletError("not_a_key");
  const body = { ...fields, maxUsd: usdText(maxUsd), expiresAt: end, signature };
  return askApi(`/api/v1/approvals/${encodeURIComponent(id)}`, { method: "POST", body }, session);
}

function bigintAsDigits(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

/** The session's account as the wallet writes it. @throws WalletError if the wallet shows another one */
async function requireAccount(wallet: BrowserWallet, account: string): Promise<string> {
  const shown = await accountsOf(wallet, "eth_requestAccounts");
  const own = shown.find((one) => isSame(one, account));
  if (own === undefined) throw new WalletError("other_account", shown[0] ?? "");
  return own;
}
