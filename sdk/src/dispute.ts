import type { Hex } from "viem";
import { getBlock, readContract } from "viem/actions";

import { agreementData } from "./agreement-data.ts";
import { requireInteger, segment } from "./arguments.ts";
import { rulingHashOf } from "./calls.ts";
import { DealRequests } from "./deal-requests.ts";
import type { DealTerms } from "./deal-terms.ts";
import { RefusedError } from "./errors.ts";
import { EscrowContract } from "./escrow.ts";
import { escrowAbi, resolverAbi } from "./generated/abis.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";
import type { Transaction } from "./records.ts";
import { Patience, poll } from "./waiting.ts";
import type { Attempt, VerbOptions, WaitOptions } from "./waiting.ts";
import { headOf, write } from "./wallet.ts";
import type { Wallet } from "./wallet.ts";

/** A dispute. */
export type DisputeRecord = wire.Dispute;
/** The ruling document with its hash. */
export type Ruling = wire.DisputesReadRulingResponse["data"];
/** One item of evidence. */
export type Evidence = wire.DisputesCreateData["body"]["evidence"] extends (infer Item)[] | undefined ? Item : never;
/** The buyer's complaint, with evidence. */
export type Complaint = Omit<wire.DisputesCreateData["body"], "transactionId">;

/** A division of the escrow. The seller gets the rest. */
export interface SettlementTerms {
  /** The buyer's share, 0 to 100. */
  buyerPercent: number;
  /** Last second at which the chain accepts it, in unix seconds; in an hour by default. */
  deadline?: number;
}

type ReadOptions = Parameters<Http["get"]>[1];

const OFFER_SECONDS = 3_600;

/**
 * The dispute about a deal, from the view of one of its parties. The buyer opens it with `Deal.openDispute`; it is ruled
 * even if nobody says anything. Errors of all verbs: `ApiError`, `RefusedError`, `TimeoutError`.
 */
export class Dispute {
  readonly #http: Http;
  readonly #wallet: Wallet | undefined;
  readonly #terms: DealTerms;
  #id: string | undefined;

  constructor({ http, wallet }: { http: Http; wallet: Wallet | undefined }, terms: DealTerms) {
    this.#http = http;
    this.#wallet = wallet;
    this.#terms = terms;
  }

  /** The dispute as both parties see it. */
  read(options: CallOptions = {}): Promise<DisputeRecord> {
    return this.#read(options);
  }

  /** The buyer says what is wrong, once. Errors: `dispute_not_open_on_chain`, `dispute_reason_given`. */
  async complain(complaint: Complaint, options: CreateOptions = {}): Promise<DisputeRecord> {
    const body = { transactionId: this.#terms.transactionId, ...complaint };
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.DisputesCreateResponse>("/api/v1/disputes", body, once)).data;
  }

  /** Submits one item of evidence. Errors: `evidence_closed`, `evidence_limit_reached`. */
  submitEvidence(evidence: Evidence, options: CreateOptions = {}): Promise<DisputeRecord> {
    return this.#evidence(evidence, options);
  }

  /** Says that nothing more comes from this party. The ruling comes once both parties have said so. */
  complete(options: CreateOptions = {}): Promise<DisputeRecord> {
    return this.#evidence({ complete: true }, options);
  }

  /**
   * The ruling document, verified against its hash. Errors: `ruling_not_available`.
   * @throws RefusedError if the document isn't the one that the hash commits to
   */
  async ruling(options: CallOptions = {}): Promise<Ruling> {
    const path = await this.#path("/ruling", options);
    const { data } = await this.#http.get<wire.DisputesReadRulingResponse>(path, options);
    const hash = rulingHashOf(data.document);
    if (hash !== data.rationaleHash || (data.onChain !== null && data.onChain !== hash)) {
      throw new RefusedError(`the ruling document of dispute ${data.disputeId} doesn't match its hash`);
    }
    return data;
  }

  /** Signs a division of the escrow and offers it to the other party. */
  async offerSettlement(
    { buyerPercent, ...terms }: SettlementTerms,
    options: CreateOptions = {},
  ): Promise<DisputeRecord> {
    requireInteger("buyerPercent", buyerPercent, 0, 100);
    if (terms.deadline !== undefined) requireInteger("deadline", terms.deadline, 1, Number.MAX_SAFE_INTEGER);
    const wallet = this.#requireWallet();
    const deadline = terms.deadline ?? (await inAnHour(wallet));
    const { account, chain } = wallet;
    const { escrowId } = this.#terms;
    const resolver = await this.#resolver(wallet);
    const data = agreementData({ chainId: chain.id, resolver, escrowId, buyerPercent, deadline });
    const signature = await wallet.signTypedData({ account, ...data });
    const path = await this.#path("/settlement", options);
    const body = { buyerPercent, deadline, signature };
    const request = { isIdempotent: true, ...options };
    return (await this.#http.post<wire.DisputesOfferSettlementResponse>(path, body, request)).data;
  }

  /**
   * Signs what the other party has offered, if it is what this party agrees to: an offer can be replaced after it was read.
   * @param buyerPercent the buyer's share that this party agrees to, 0 to 100
   * @throws RefusedError without an open offer of that share
   */
  async acceptSettlement(buyerPercent: number, options: CreateOptions = {}): Promise<DisputeRecord> {
    requireInteger("buyerPercent", buyerPercent, 0, 100);
    const { buyer, seller } = (await this.read(options)).settlement.offers;
    const isBuyer = this.#requireWallet().account.address.toLowerCase() === this.#terms.buyer.toLowerCase();
    const offered = isBuyer ? seller : buyer;
    if (offered?.status !== "open") throw new RefusedError("the other party has no open offer");
    if (offered.buyerPercent !== buyerPercent) {
      throw new RefusedError(`the other party offers ${offered.buyerPercent} % to the buyer, not ${buyerPercent} %`);
    }
    return this.offerSettlement({ buyerPercent, deadline: offered.deadline }, options);
  }

  /**
   * Ends the dispute as both parties have signed, and returns the API's transaction as of that block. Anyone may send it;
   * this wallet pays the gas. It can be repeated: a resolved escrow isn't resolved again.
   * @throws RefusedError unless both offers are for the same terms
   */
  async agree({ onReceipt, ...options }: VerbOptions = {}): Promise<Transaction> {
    const wallet = this.#requireWallet();
    const { transactionId, escrowContract, escrowId } = this.#terms;
    const patience = new Patience(`the agreement of transaction ${transactionId}`, options);
    const requests = new DealRequests(this.#http, transactionId);
    const { state } = await new EscrowContract(wallet, escrowContract).get(escrowId);
    if (state === "Resolved") return requests.readAsOf(await headOf(wallet), patience);
    const args = [escrowId, ...(await this.#agreement(patience))];
    const call = { address: await this.#resolver(wallet), abi: resolverAbi, functionName: "resolveByAgreement", args };
    const receipt = await write(wallet, call, { timeoutMs: patience.remainingMs });
    onReceipt?.(call.functionName, receipt);
    return requests.readAsOf(receipt.blockNumber, patience);
  }

  /** Waits until the chain has paid, by a ruling, an agreement or the timeout. */
  async waitForResolution(options: WaitOptions = {}): Promise<DisputeRecord> {
    const patience = new Patience(`the resolution of transaction ${this.#terms.transactionId}`, options);
    return poll(patience, async (): Promise<Attempt<DisputeRecord>> => {
      const { signal, remainingMs: timeoutMs } = patience;
      const found = await this.#read({ signal, timeoutMs, retry: { maxAttempts: 1 } });
      return found.status === "resolved" ? { result: found } : {};
    });
  }

  /** Share, deadline and signatures of the same terms. @throws RefusedError if the parties haven't signed the same */
  async #agreement({ signal, remainingMs: timeoutMs }: Patience): Promise<readonly unknown[]> {
    const { buyer, seller } = (await this.#read({ signal, timeoutMs })).settlement.offers;
    if (buyer === null || buyer.buyerPercent !== seller?.buyerPercent || buyer.deadline !== seller.deadline) {
      throw new RefusedError("the parties haven't signed the same terms");
    }
    return [BigInt(buyer.buyerPercent), BigInt(buyer.deadline), [buyer.signature, seller.signature]];
  }

  async #read(options: ReadOptions): Promise<DisputeRecord> {
    const path = await this.#path("", options);
    return (await this.#http.get<wire.DisputesReadResponse>(path, options)).data;
  }

  async #evidence(body: object, options: CreateOptions): Promise<DisputeRecord> {
    const path = `/api/v1/transactions/${segment("transactionId", this.#terms.transactionId)}/dispute/evidence`;
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.TransactionsSubmitEvidenceResponse>(path, body, once)).data;
  }

  /** The resolver contract, as the escrow contract names it. */
  #resolver(wallet: Wallet): Promise<Hex> {
    const { escrowContract: address } = this.#terms;
    return readContract(wallet, { address, abi: escrowAbi, functionName: "resolverContract" });
  }

  #requireWallet(): Wallet {
    const { network, chainId } = this.#terms;
    const wallet = this.#wallet;
    if (wallet === undefined) throw new RefusedError("this agent has no wallet: pass one to Marketplace.agent");
    if (wallet.chain.id === chainId) return wallet;
    throw new RefusedError(`the deal settles on ${network} (${chainId}), not on ${wallet.chain.id}`);
  }

  /** A path under the transaction's dispute. @throws RefusedError without a dispute */
  async #path(rest: string, options: ReadOptions): Promise<string> {
    const { transactionId } = this.#terms;
    if (this.#id === undefined) {
      const path = `/api/v1/transactions/${segment("transactionId", transactionId)}`;
      const { data } = await this.#http.get<wire.TransactionsReadResponse>(path, options);
      if (data.disputeId === null) throw new RefusedError(`transaction ${transactionId} isn't disputed`);
      this.#id = data.disputeId;
    }
    return `/api/v1/disputes/${segment("disputeId", this.#id)}${rest}`;
  }
}

/** An hour from now by the chain's time, which decides whether an agreement holds. Unix seconds. */
async function inAnHour(wallet: Wallet): Promise<number> {
  const { timestamp } = await getBlock(wallet);
  return Math.max(Number(timestamp), Math.floor(Date.now() / 1_000)) + OFFER_SECONDS;
}
