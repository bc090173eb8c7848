import { clean, shortened } from "../words/strangers-text.ts";

/** What a wallet offers to pages (EIP-1193). */
export interface WalletProvider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
}

/** A wallet of this browser, as it describes itself. */
export interface BrowserWallet {
  id: string;
  name: string;
  /** A data URI, for `<img>` alone. */
  icon: string | undefined;
  provider: WalletProvider;
}

const NAME_LENGTH = 40;
const ICON_LENGTH = 100_000;

/** Reads an announcement, which any extension may make. @returns undefined for one that isn't a wallet's */
export function readAnnouncement(detail: unknown): BrowserWallet | undefined {
  const { info, provider } = (detail ?? {}) as { info?: Record<string, unknown>; provider?: WalletProvider };
  const { uuid, name, icon } = info ?? {};
  if (typeof uuid !== "string" || typeof name !== "string" || typeof provider?.request !== "function") return undefined;
  const isShown = typeof icon === "string" && icon.startsWith("data:image/") && icon.length <= ICON_LENGTH;
  return {
    id: uuid,
    name: shortened(clean(name).text, NAME_LENGTH),
    icon: isShown ? icon : undefined,
    provider,
  };
}
