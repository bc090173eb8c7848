// Loaded only when somebody signs.
import type { BrowserWallet } from "./announcement.ts";
import { isSame } from "./needs.ts";
import { asked } from "./signing.ts";

/** The wallet that shows an account to this page already, or the only one there is; undefined if its owner has to choose. */
export async function findWallet(
  wallets: readonly BrowserWallet[],
  account: string,
): Promise<BrowserWallet | undefined> {
  for (const wallet of wallets) {
    const shown = await accountsOf(wallet, "eth_accounts").catch(() => []);
    if (shown.some((one) => isSame(one, account))) return wallet;
  }
  return wallets.length === 1 ? wallets[0] : undefined;
}

/** The accounts that a wallet shows to this page. @throws WalletError */
export async function accountsOf(
  wallet: BrowserWallet,
  method: "eth_accounts" | "eth_requestAccounts",
): Promise<string[]> {
  const accounts = await ask(wallet, method);
  return Array.isArray(accounts) ? accounts.filter((account) => typeof account === "string") : [];
}

/** Asks a wallet for something of EIP-1193. @throws WalletError */
export function ask({ provider }: BrowserWallet, method: string, params?: readonly unknown[]): Promise<unknown> {
  return asked(() => provider.request(params === undefined ? { method } : { method, params }));
}
