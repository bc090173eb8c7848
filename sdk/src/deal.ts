import type { Hex, TransactionReceipt } from "viem";
import { getBlock } from "viem/actions";

import { requireObject, requireUnits } from "./arguments.ts";
import { criteriaHashOf } from "./calls.ts";
import type { EscrowMove, EscrowState } from "./calls.ts";
import { deliveryProofOf } from "./canonical-json.ts";
import { DealRequests, limitsOf } from "./deal-requests.ts";
import type { DealTerms } from "./deal-terms.ts";
import { Dispute } from "./dispute.ts";
import { DealEndedError, RefusedError } from "./errors.ts";
import { EscrowContract } from "./escrow.ts";
import type { OnFundingWarning } from "./gasless-safety.ts";
import { signFunding } from "./gasless.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, Http } from "./http.ts";
import { parseRecord } from "./records.ts";
import type { Parsed, Transaction, TransactionStatus, TransactionWithActions } from "./records.ts";
import type { FundingAuthorization } from "./terms.ts";
import { Patience, poll } from "./waiting.ts";
import type { Attempt, VerbOptions, WaitOptions } from "./waiting.ts";
import { headOf } from "./wallet.ts";
import type { Wallet } from "./wallet.ts";

/** Options of the verbs that pay. */
export interface FundOptions extends VerbOptions {
  /** Maximum deposit in token units. A larger one is refused before anything is signed. */
  maxAmount?: bigint | undefined;
}

/** Options of the verbs that pay by signature. */
export interface GaslessOptions extends FundOptions {
  /** Takes warnings, for example that the buyer has no ether to dispute with; by default they go to the console. */
  onWarning?: OnFundingWarning | undefined;
}

/** Options of `fund`. */
export interface DirectFundOptions extends FundOptions {
  /** Pay although the quote has ended. The seller may then decline the job, and the fee isn't given back. */
  allowLate?: boolean | undefined;
}

/** The call of `claimAbandoned` and when the chain starts to accept it. */
export type ClaimAbandonedCall = Parsed<wire.TransactionsClaimAbandonedResponse["data"]>;
/** The call of `finalize` and when the chain starts to accept it. */
export type FinalizeCall = Parsed<wire.TransactionsFinalizeResponse["data"]>;

/** The automatic check of a payload: the facts, each check of the criteria, and the overall result. */
export type CheckReport = wire.TransactionsCheckResponse["data"];

/** Something that happened to a deal, and where to check it. */
export type TimelineEntry = wire.TimelineEntry;
/** Filters of a timeline. */
export type TimelineFilter = Omit<NonNullable<wire.TransactionsReadTimelineData["query"]>, "cursor">;

/** Final statuses. */
const FINAL: readonly TransactionStatus[] = ["released", "refunded", "resolved", "abandoned"];
/** True if the deal's status is final, or if a stranger's escrow has taken its id. */
const hasEnded = ({ status, expiredBy }: Pick<Transaction, "status" | "expiredBy">): boolean =>
  FINAL.includes(status) || (status === "expired" && expiredBy === "escrow_id_taken");
/** Statuses of a deal whose escrow exists. */
const FUNDED: readonly TransactionStatus[] = ["funded", "delivered", "disputed", ...FINAL];
/** Codes that mean "not yet": the API's node may be a block behind the wallet's. */
const FUNDING_LAG: readonly string[] = ["funding_pending", "funding_not_found"];
const DELIVERY_LAG: readonly string[] = ["delivery_transaction_mismatch"];
const ACCEPT_LAG: readonly string[] = ["not_accepted_on_chain"];

/**
 * A deal from the view of one of its parties. A verb sends the wallet's transaction, waits for its block and returns
 * the API's transaction as of that block. Verbs can be repeated: what is already on chain isn't sent again.
 *
 * Errors of all verbs: `RefusedError` (no wallet, wrong chain), `ContractRevertedError` (the contract's error, by
 * name), `TransactionRevertedError`, `ApiError`, `TimeoutError`, and the signal's reason.
 */
export class Deal {
  readonly terms: DealTerms;
  readonly #http: Http;
  readonly #requests: DealRequests;
  readonly #wallet: Wallet | undefined;

  constructor({ http, wallet }: { http: Http; wallet: Wallet | undefined }, terms: DealTerms) {
    this.#http = http;
    this.#requests = new DealRequests(http, terms.transactionId);
    this.#wallet = wallet;
    this.terms = terms;
  }

  get transactionId(): string {
    return this.terms.transactionId;
  }

  /** The escrow contract, called by this agent's wallet. */
  get escrow(): EscrowContract {
    return new EscrowContract(this.#requireWallet(), this.terms.escrowContract);
  }

  /** The dispute about this deal, once the buyer has opened one. */
  get dispute(): Dispute {
    return new Dispute({ http: this.#http, wallet: this.#wallet }, this.terms);
  }

  // ---- Reading -------------------------------------------------------------------------------

  /** The transaction and what this agent may do next. */
  async read({ minBlock, ...options }: CallOptions & { minBlock?: bigint } = {}): Promise<TransactionWithActions> {
    return this.#requests.read({ query: { minBlock }, ...options });
  }

  /**
   * The deal's history, oldest first: moves on chain, this agent's audit entries and webhook attempts of the last seven
   * days, and messages about the deal. Errors: `not_found`, `indexer_unavailable`.
   */
  timeline(filter: TimelineFilter = {}, options: CallOptions = {}): AsyncGenerator<TimelineEntry, void, undefined> {
    return this.#requests.list<TimelineEntry>("/timeline", filter, options);
  }

  /**
   * Waits for a status.
   * @throws DealEndedError if the deal has ended in another status
   * @throws TimeoutError
   */
  async waitForStatus(
    wanted: TransactionStatus | readonly TransactionStatus[],
    options: WaitOptions = {},
  ): Promise<TransactionWithActions> {
    const statuses: readonly TransactionStatus[] = typeof wanted === "string" ? [wanted] : wanted;
    const patience = new Patience(`the status ${statuses.join(" or ")} of transaction ${this.transactionId}`, options);
    return poll(patience, async (): Promise<Attempt<TransactionWithActions>> => {
      const found = await this.#requests.read(limitsOf(patience));
      if (statuses.includes(found.status)) return { result: found };
      if (hasEnded(found)) throw new DealEndedError(this.transactionId, found.status, statuses);
      return {};
    });
  }

  /**
   * The agreed requirements, verified against `criteriaHash`.
   * @throws RefusedError if the document isn't the one that the escrow commits to
   */
  async criteria(options: CallOptions = {}): Promise<Record<string, unknown>> {
    const { criteria } = await this.#requests.get<wire.TransactionsReadCriteriaResponse>("/criteria", options);
    if (criteriaHashOf(criteria) !== this.terms.criteriaHash) {
      throw new RefusedError(
        `the criteria of transaction ${this.transactionId} don't match ${this.terms.criteriaHash}`,
      );
    }
    return criteria;
  }

  /**
   * Checks a payload against the criteria before money moves.
   * @param responsePayload any payload, from the seller before delivering; by default the one that was handed over
   */
  async check(responsePayload?: Record<string, unknown>, options: CallOptions = {}): Promise<CheckReport> {
    const body = responsePayload === undefined ? {} : { responsePayload };
    const request = { isIdempotent: true, ...options };
    return this.#requests.post<wire.TransactionsCheckResponse>("/check", body, request);
  }

  /** The call with which the buyer reclaims an undelivered job, and when. Errors: `wrong_role`. */
  async claimAbandonedCall(options: CallOptions = {}): Promise<ClaimAbandonedCall> {
    const path = "/claimAbandoned";
    return parseRecord(await this.#requests.get<wire.TransactionsClaimAbandonedResponse>(path, options));
  }

  /** The call with which anyone releases the funds after the dispute window, and when. */
  async finalizeCall(options: CallOptions = {}): Promise<FinalizeCall> {
    return parseRecord(await this.#requests.get<wire.TransactionsFinalizeResponse>("/finalize", options));
  }

  // ---- The buyer's verbs ---------------------------------------------------------------------

  /**
   * Approves the deposit, creates the escrow and has the API verify it.
   * @throws RefusedError after the quote's end, unless `allowLate` is set
   * @throws DealEndedError if a stranger's escrow has taken the deal's id
   */
  async fund({ maxAmount, allowLate = false, ...options }: DirectFundOptions = {}): Promise<Transaction> {
    const patience = this.#patience("funding", options);
    const { escrow } = this;
    this.#checkAmount(maxAmount);
    if (await this.#isCreated(escrow)) return this.waitForStatus(FUNDED, this.#rest(patience));
    const { token, amount } = this.terms;
    if (!allowLate) await this.#checkQuote();
    const approved = await escrow.approve(token, amount, { timeoutMs: patience.remainingMs });
    if (approved !== undefined) {
      options.onReceipt?.("approve", approved);
      // The approval may have waited for its block for minutes.
      if (!allowLate) await this.#checkQuote();
    }
    const receipt = await escrow.createEscrow(this.terms, { timeoutMs: patience.remainingMs });
    options.onReceipt?.("createEscrow", receipt);
    return this.reportFunding(receipt.transactionHash, this.#rest(patience));
  }

  /**
   * Signs the deposit instead of sending it. Until the quote ends, anyone with the authorization can create this escrow
   * and nothing else. It costs no gas. See `relayCall`.
   * @throws RefusedError also for a dispute window under an hour (check out with `gasless: true`), while a resolver is
   * being replaced, and if the resolver contract can't be read: the relayer chooses when the escrow is created, and so
   * who may rule it
   */
  async authorizeFunding({
    maxAmount,
    onWarning,
  }: Pick<GaslessOptions, "maxAmount" | "onWarning"> = {}): Promise<FundingAuthorization> {
    const { escrowContract, quoteExpiresAt } = this.terms;
    if (quoteExpiresAt === null) throw new RefusedError(`transaction ${this.transactionId} has no quote`);
    this.#checkAmount(maxAmount);
    const validBefore = BigInt(Math.floor(Date.parse(quoteExpiresAt) / 1_000));
    return signFunding(this.#requireWallet(), escrowContract, this.terms, { validBefore, onWarning });
  }

  /**
   * Funds with the wallet's signature. `relayer` sends the transaction and pays the gas. Refuses what
   * `authorizeFunding` refuses.
   */
  async fundGasless(funding: GaslessOptions & { relayer: Wallet }): Promise<Transaction> {
    const { relayer, maxAmount, onWarning, ...options } = funding;
    const patience = this.#patience("gasless funding", options);
    if (await this.#isCreated(this.escrow)) return this.waitForStatus(FUNDED, this.#rest(patience));
    const authorization = await this.authorizeFunding({ maxAmount, onWarning });
    this.#requireChain(relayer);
    const contract = new EscrowContract(relayer, this.terms.escrowContract);
    const receipt = await contract.createEscrowWithAuthorization(authorization, { timeoutMs: patience.remainingMs });
    options.onReceipt?.("createEscrowWithAuthorization", receipt);
    return this.reportFunding(receipt.transactionHash, this.#rest(patience));
  }

  /**
   * Has the API verify a funding by its transaction hash, and waits for the result. Errors:
   * `funding_failed`, `funding_other_network`, `funding_other_escrow`, `funding_other_terms`, `funding_was_a_transfer`.
   */
  async reportFunding(txHash: Hex, options: WaitOptions = {}): Promise<Transaction> {
    const patience = this.#patience("the verified funding", options);
    return this.#requests.postUntilCurrent("/fund", { txHash }, patience, FUNDING_LAG);
  }

  /** Accepts the delivery on chain, which pays the seller, and confirms it. */
  async accept(options: VerbOptions = {}): Promise<Transaction> {
    const patience = this.#patience("the acceptance", options);
    await this.#move("accept", "Released", patience, options);
    return this.#requests.postUntilCurrent("/confirm", {}, patience, ACCEPT_LAG);
  }

  /** Confirms a delivery that has been accepted on chain. Errors: `not_accepted_on_chain`. */
  async confirm(options: WaitOptions = {}): Promise<Transaction> {
    return this.#requests.postUntilCurrent("/confirm", {}, this.#patience("the confirmation", options), []);
  }

  /** Disputes the delivery within the window; the funds are frozen until a ruling. */
  openDispute(options: VerbOptions = {}): Promise<Transaction> {
    return this.#settle("openDispute", "Disputed", options);
  }

  /** Reclaims the deposit of an undelivered job, without the fee, after deadline and grace. */
  claimAbandoned(options: VerbOptions = {}): Promise<Transaction> {
    return this.#settle("claimAbandoned", "Abandoned", options);
  }

  // ---- The seller's verbs --------------------------------------------------------------------

  /**
   * Submits the result and commits to it on chain. The payload can't be changed later. The buyer can read it once the
   * chain has the commitment. The proof hash is the payload's `deliveryProof`. Errors: `delivery_already_submitted`,
   * `escrow_state_conflict`.
   */
  async deliver(responsePayload: Record<string, unknown>, options: VerbOptions = {}): Promise<Transaction> {
    requireObject("responsePayload", responsePayload);
    const patience = this.#patience("the delivery", options);
    const { escrow } = this;
    const proof = deliveryProofOf(responsePayload);
    await this.handOver(responsePayload, limitsOf(patience));
    const { state } = await escrow.get(this.terms.escrowId);
    if (state !== "Funded") return this.#delivered({ responsePayload }, patience);
    const receipt = await escrow.submitDelivery(this.terms.escrowId, proof, { timeoutMs: patience.remainingMs });
    options.onReceipt?.("submitDelivery", receipt);
    return this.#delivered({ responsePayload, txHash: receipt.transactionHash }, patience);
  }

  /** Submits the result without a transaction, for sellers who commit to it in their own way. */
  async handOver(responsePayload: Record<string, unknown>, options: CallOptions = {}): Promise<Transaction> {
    requireObject("responsePayload", responsePayload);
    const request = { isIdempotent: true, ...options };
    const body = { responsePayload };
    return parseRecord(await this.#requests.post<{ data: wire.Transaction }>("/deliver", body, request));
  }

  /** Declines a funded job: the buyer gets the deposit back, without the fee. */
  refund(options: VerbOptions = {}): Promise<Transaction> {
    return this.#settle("refund", "Refunded", options);
  }

  // ---- Anyone's verbs ------------------------------------------------------------------------

  /** Releases the funds to the seller after the dispute window. */
  finalize(options: VerbOptions = {}): Promise<Transaction> {
    return this.#settle("finalize", "Released", options);
  }

  /** Ends a dispute that nobody has ruled for 30 days: each party gets half. */
  resolveExpired(options: VerbOptions = {}): Promise<Transaction> {
    return this.#settle("resolveExpired", "Resolved", options);
  }

  // ---- Internal ------------------------------------------------------------------------------

  /** Makes a move and waits until the API has reached its block. */
  async #settle(move: EscrowMove, target: EscrowState, options: VerbOptions): Promise<Transaction> {
    const patience = this.#patience(move, options);
    const receipt = await this.#move(move, target, patience, options);
    return this.#requests.readAsOf(receipt?.blockNumber ?? (await headOf(this.#requireWallet())), patience);
  }

  /** Undefined if the escrow already exists. */
  async #move(
    move: EscrowMove,
    target: EscrowState,
    patience: Patience,
    { onReceipt }: VerbOptions,
  ): Promise<TransactionReceipt | undefined> {
    const { escrow } = this;
    const { state } = await escrow.get(this.terms.escrowId);
    if (state === target) return undefined;
    const receipt = await escrow.move(move, this.terms.escrowId, { timeoutMs: patience.remainingMs });
    onReceipt?.(move, receipt);
    return receipt;
  }

  #delivered(body: { responsePayload: object; txHash?: Hex }, patience: Patience): Promise<Transaction> {
    return this.#requests.postUntilCurrent("/deliver", body, patience, DELIVERY_LAG);
  }

  async #isCreated(escrow: EscrowContract): Promise<boolean> {
    return (await escrow.get(this.terms.escrowId)).state !== "None";
  }

  #checkAmount(maxAmount: bigint | undefined): void {
    const { amount } = this.terms;
    if (maxAmount === undefined) return;
    requireUnits("maxAmount", maxAmount);
    if (amount > maxAmount) {
      throw new RefusedError(`the deposit of ${amount} token units is above the limit of ${maxAmount}`);
    }
  }

  /** Refuses to pay once the quote has ended by the clock or by the chain's time. */
  async #checkQuote(): Promise<void> {
    const { quoteExpiresAt } = this.terms;
    if (quoteExpiresAt === null) return;
    const { timestamp } = await getBlock(this.#requireWallet());
    const now = Math.max(Date.now(), Number(timestamp) * 1_000);
    if (now > Date.parse(quoteExpiresAt)) {
      throw new RefusedError(
        `the quote of transaction ${this.transactionId} ended at ${quoteExpiresAt}: check out again, or pass allowLate`,
      );
    }
  }

  #requireWallet(): Wallet {
    if (this.#wallet === undefined) throw new RefusedError("this agent has no wallet: pass one to Marketplace.agent");
    this.#requireChain(this.#wallet);
    return this.#wallet;
  }

  #requireChain({ chain }: Wallet): void {
    const { network, chainId } = this.terms;
    if (chain.id !== chainId) throw new RefusedError(`the deal settles on ${network} (${chainId}), not on ${chain.id}`);
  }

  #patience(what: string, options: WaitOptions): Patience {
    return new Patience(`${what} of transaction ${this.transactionId}`, options);
  }

  #rest({ signal, remainingMs }: Patience): WaitOptions {
    return { signal, timeoutMs: remainingMs };
  }
}
