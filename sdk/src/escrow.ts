import { erc20Abi } from "viem";
import type { Address, Hex, TransactionReceipt } from "viem";
import { readContract } from "viem/actions";

import { toEscrow } from "./calls.ts";
import type { Escrow, EscrowMove } from "./calls.ts";
import { escrowAbi } from "./generated/abis.ts";
import type { EscrowTerms, FundingAuthorization } from "./terms.ts";
import { write } from "./wallet.ts";
import type { ReceiptOptions, Wallet } from "./wallet.ts";

/** A seller's terms for new escrows. The default, all zero and not paused, accepts any escrow. */
export interface SellerTerms {
  /** Least value of a deposit in US dollars with 6 decimals: $5 is `5_000_000n`. */
  minAmountUsd: bigint;
  /** Least time from the creation of the escrow to its deadline, in seconds. */
  minDeliverySeconds: number;
  /** Whether every new escrow is refused. */
  paused: boolean;
}

/** Seller terms to set; those that are missing stay as they are. */
export type NewSellerTerms = Partial<SellerTerms>;

/** Options of a withdrawal. */
export interface WithdrawOptions extends ReceiptOptions {
  /** Where the credit goes, if not to the wallet: for a wallet that the token refuses to pay. */
  recipient?: Address | undefined;
}

/**
 * The escrow contract, called by one wallet and without the API. Each call waits for its block. Its errors are
 * `ContractRevertedError` (named as in `IEscrow`), `TransactionRevertedError` and `TimeoutError`.
 */
export class EscrowContract {
  readonly address: Address;
  readonly #wallet: Wallet;

  constructor(wallet: Wallet, address: Address) {
    this.#wallet = wallet;
    this.address = address;
  }

  /** The escrow. Its state is `None` if the id was never used. */
  async get(escrowId: Hex): Promise<Escrow> {
    const call = { address: this.address, abi: escrowAbi, functionName: "getEscrow", args: [escrowId] } as const;
    return toEscrow(await readContract(this.#wallet, call));
  }

  /** Allows the contract to transfer `amount` token units from the wallet; undefined if it already may. */
  async approve(token: Address, amount: bigint, options?: ReceiptOptions): Promise<TransactionReceipt | undefined> {
    const allowed = await readContract(this.#wallet, {
      address: token,
      abi: erc20Abi,
      functionName: "allowance",
      args: [this.#wallet.account.address, this.address],
    });
    if (allowed >= amount) return undefined;
    const args = [this.address, amount];
    return write(this.#wallet, { address: token, abi: erc20Abi, functionName: "approve", args }, options);
  }

  /** Deposits the token as the buyer. Call `approve` first. */
  createEscrow(terms: Omit<EscrowTerms, "buyer">, options?: ReceiptOptions): Promise<TransactionReceipt> {
    const { escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash } = terms;
    const args = [escrowId, seller, amount, token, deadline, disputeWindow, abandonmentGrace, criteriaHash];
    return this.#write("createEscrow", args, options);
  }

  /** Deposits a buyer's token with the buyer's signature. This wallet pays the gas. */
  createEscrowWithAuthorization(
    authorization: FundingAuthorization,
    options?: ReceiptOptions,
  ): Promise<TransactionReceipt> {
    const { terms, validAfter, validBefore, signature } = authorization;
    return this.#write("createEscrowWithAuthorization", [terms, validAfter, validBefore, signature], options);
  }

  /** Commits the seller to a delivery and starts the dispute window. */
  submitDelivery(escrowId: Hex, proofHash: Hex, options?: ReceiptOptions): Promise<TransactionReceipt> {
    return this.#write("submitDelivery", [escrowId, proofHash], options);
  }

  /**
   * Makes a move: `accept` and `openDispute` (buyer, within the window), `finalize` (anyone, after it), `refund`
   * (seller, before a delivery), `claimAbandoned` (buyer, after deadline and grace), `resolveExpired` (anyone, 30 days
   * after a dispute).
   */
  move(move: EscrowMove, escrowId: Hex, options?: ReceiptOptions): Promise<TransactionReceipt> {
    return this.#write(move, [escrowId], options);
  }

  /** A seller's terms for new escrows. */
  async sellerTerms(seller: Address): Promise<SellerTerms> {
    const call = { address: this.address, abi: escrowAbi, functionName: "sellerTerms", args: [seller] } as const;
    const { minAmountUsd, minDeliverySeconds, paused } = await readContract(this.#wallet, call);
    return { minAmountUsd, minDeliverySeconds, paused };
  }

  /** Sets the wallet's terms as a seller for new escrows. Omitted fields stay. */
  async setSellerTerms(terms: NewSellerTerms, options?: ReceiptOptions): Promise<TransactionReceipt> {
    const { minAmountUsd, minDeliverySeconds, paused } = {
      ...(await this.sellerTerms(this.#wallet.account.address)),
      ...terms,
    };
    return this.#write("setSellerTerms", [minAmountUsd, minDeliverySeconds, paused], options);
  }

  /** Token units that a failed payout left for `recipient` to withdraw. */
  creditOf(recipient: Address, token: Address): Promise<bigint> {
    const args = [recipient, token] as const;
    return readContract(this.#wallet, {
      address: this.address,
      abi: escrowAbi,
      functionName: "creditOf",
      args,
    });
  }

  /** Withdraws the wallet's credit in a token. Errors: `NothingToWithdraw`, `InvalidRecipient`. */
  withdraw(token: Address, { recipient, ...options }: WithdrawOptions = {}): Promise<TransactionReceipt> {
    return recipient === undefined
      ? this.#write("withdraw", [token], options)
      : this.#write("withdrawTo", [token, recipient], options);
  }

  #write(functionName: string, args: readonly unknown[], options?: ReceiptOptions): Promise<TransactionReceipt> {
    return write(this.#wallet, { address: this.address, abi: escrowAbi, functionName, args }, options);
  }
}
