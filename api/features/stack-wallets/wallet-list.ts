import { isDuplicateKey } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { StackWalletModel, StackWalletRecord } from "./model.ts";
import { isStackAccount } from "./stack-accounts.ts";

const HINT =
  "POST /api/v1/stack/wallets makes a wallet for this stack, as the sign-in page and `agent-marketplace init` do";

/** Dependencies of the list. */
export interface WalletListDeps {
  wallets: StackWalletModel;
  /** Whether this service is the local stack. No other service has a list. */
  isLocalStack: boolean;
  now: () => Date;
}

/**
 * The wallets that were made for this local stack. Its chains have the ids of the live ones, and its USDC the live address:
 * what a wallet signs here can be valid there.
 */
export class WalletList {
  readonly #deps: WalletListDeps;

  constructor(deps: WalletListDeps) {
    this.#deps = deps;
  }

  /**
   * Refuses a wallet that wasn't made for this stack. Elsewhere, every wallet passes.
   * @throws ApiError `wallet_not_of_stack`
   */
  async require(address: `0x${string}`): Promise<void> {
    if (!this.#deps.isLocalStack || (await this.has(address))) return;
    throw new ApiError("wallet_not_of_stack", { details: { walletAddress: address, hint: HINT } });
  }

  /** Whether a wallet was made for this stack. */
  async has(address: `0x${string}`): Promise<boolean> {
    const walletKey = address.toLowerCase();
    return isStackAccount(walletKey) || (await this.#deps.wallets.exists({ _id: walletKey })) !== null;
  }

  /** Puts a wallet on the list. Repeating it changes nothing, also from several processes. */
  async add(address: `0x${string}`, madeBy: StackWalletRecord["madeBy"]): Promise<void> {
    const { wallets, now } = this.#deps;
    try {
      await wallets.create({ _id: address.toLowerCase(), madeBy, createdAt: now() });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}
