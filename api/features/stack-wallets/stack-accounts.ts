import { mnemonicToAccount } from "viem/accounts";

/** The accounts of every local stack: roles, keeper and printed test wallets. Their keys are public. */
const STACK_MNEMONIC = "test test test test test test test test test test test junk";
const STACK_ACCOUNTS = 11;

let addresses: ReadonlySet<string> | undefined;

/** Whether a wallet is an account of every local stack. @param walletKey lower-case address */
export function isStackAccount(walletKey: string): boolean {
  // Deriving them takes a moment, and no service but the local stack needs them.
  addresses ??= new Set(
    Array.from({ length: STACK_ACCOUNTS }, (_, addressIndex) =>
      mnemonicToAccount(STACK_MNEMONIC, { addressIndex }).address.toLowerCase(),
    ),
  );
  return addresses.has(walletKey);
}
