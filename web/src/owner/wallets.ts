import { useEffect, useState } from "preact/hooks";

import { readAnnouncement } from "./announcement.ts";
import type { BrowserWallet } from "./announcement.ts";

const MOST = 20;

/**
 * Finds the wallets of this browser (EIP-6963): each announces itself, when it is asked and when it starts.
 * @param onFound called with all wallets whenever there is a new one
 * @returns what ends the search
 */
function findWallets(onFound: (wallets: readonly BrowserWallet[]) => void): () => void {
  const found = new Map<string, BrowserWallet>();
  const heard = (event: Event) => {
    const wallet = readAnnouncement((event as CustomEvent<unknown>).detail);
    if (wallet === undefined || found.has(wallet.id) || found.size >= MOST) return;
    found.set(wallet.id, wallet);
    onFound([...found.values()]);
  };
  addEventListener("eip6963:announceProvider", heard);
  dispatchEvent(new Event("eip6963:requestProvider"));
  return () => {
    removeEventListener("eip6963:announceProvider", heard);
  };
}

/** A wallet that is there announces itself at once. Later than this, the page says what to do. */
const WALLET_MS = 400;

/** The wallets of this browser, and whether one that isn't there yet won't come. */
export function useWallets(): { wallets: readonly BrowserWallet[]; isLate: boolean } {
  const [wallets, setWallets] = useState<readonly BrowserWallet[]>([]);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => {
      setLate(true);
    }, WALLET_MS);
    const stop = findWallets(setWallets);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return { wallets, isLate };
}
