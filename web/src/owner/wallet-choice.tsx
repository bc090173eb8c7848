import { shortHash } from "../words/names.ts";
import type { BrowserWallet } from "./announcement.ts";

/** Asks which of several wallets has an account. */
export function WalletChoice({
  wallets,
  account,
  onChoose,
}: {
  wallets: readonly BrowserWallet[];
  account: string;
  onChoose: (wallet: BrowserWallet) => void;
}) {
  return (
    <>
      <p>
        Which wallet has the account <code title={account}>{shortHash(account)}</code>?
      </p>
      <ul class="wallets" aria-label="Wallets of this browser">
        {wallets.map((wallet) => (
          <li key={wallet.id}>
            <button
              type="button"
              class="wallet"
              onClick={() => {
                onChoose(wallet);
              }}
            >
              <bdi>{wallet.name}</bdi>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
