import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";

import type { Gift } from "../../chain/faucet-chain.ts";
import type { Network } from "../../config/constants.ts";
import type { Faucet } from "../faucet/faucet.ts";
import type { VerifySignIn } from "../identity/verify-sign-in.ts";
import type { WalletList } from "./wallet-list.ts";

/** The only statement with which a wallet is listed. It fits no other purpose. */
export const LISTING_STATEMENT = "List this wallet, whose key was made for this local stack.";

/** A new wallet with its key, which nothing keeps. */
export interface MadeWallet {
  address: `0x${string}`;
  privateKey: Hex;
  gifts: readonly (Gift & { network: Network })[];
}

/** A wallet's own word that its key was made for this stack. */
export interface Enlisting {
  message: string;
  signature: Hex;
  /** Whether a web page asks, with a wallet of its browser. */
  isFromPage: boolean;
}

/** Dependencies of the wallets. */
export interface StackWalletsDeps {
  list: WalletList;
  faucet: Faucet;
  verifySignIn: VerifySignIn;
}

/** Makes wallets for the local stack, and lists those that programs have made for it. */
export class StackWallets {
  readonly #deps: StackWalletsDeps;

  constructor(deps: StackWalletsDeps) {
    this.#deps = deps;
  }

  /** Whether every node is anvil. */
  isOpen(): Promise<boolean> {
    return this.#deps.faucet.isOpen();
  }

  /** Whether a wallet was made for this stack. */
  has(address: `0x${string}`): Promise<boolean> {
    return this.#deps.list.has(address);
  }

  /**
   * Makes a wallet with money on both chains. It counts as one call of the client at the faucet.
   * @param ip address of the client
   * @throws ApiError `rate_limit_exceeded`; ChainUnavailableError, after which the wallet is lost with its key
   */
  async make(ip: string): Promise<MadeWallet> {
    const { wallet, gifts } = await this.#deps.faucet.giveToNew(ip, async () => {
      const privateKey = generatePrivateKey();
      const address = privateKeyToAddress(privateKey);
      // Before anyone has the key: a wallet that is shown is on the list, whenever this process ends.
      await this.#deps.list.add(address, "stack");
      return { address, privateKey };
    });
    return { ...wallet, gifts };
  }

  /**
   * Lists the wallet that has signed for it: nobody can list another one's. A text that is sent again lists the same wallet
   * again, so its nonce isn't used up.
   * @throws ApiError `sign_in_message_invalid`, `signature_invalid`; `wallet_not_of_stack` for a page with another wallet
   */
  async enlist({ message, signature, isFromPage }: Enlisting): Promise<`0x${string}`> {
    const { list, verifySignIn } = this.#deps;
    const { accepted } = await verifySignIn({ statement: LISTING_STATEMENT }, message, signature);
    // A page has the wallets of its browser: it knows nothing of how their keys were made.
    if (isFromPage) await list.require(accepted.address);
    await list.add(accepted.address, "program");
    return accepted.address;
  }
}
