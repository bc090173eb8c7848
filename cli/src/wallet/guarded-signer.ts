import { BaseError, encodeFunctionData, erc20Abi } from "viem";
import type { Hex } from "viem";
import { readContract } from "viem/actions";

import {
  authorizationNonce,
  deliveryProofOf,
  escrowAbi,
  EscrowContract,
  RefusedError,
} from "../../../sdk/src/index.ts";
import type { Deal, EscrowState, NetworkStatus, TransactionStatus, Wallet } from "../../../sdk/src/index.ts";
import { notPossible, PAID, ToolRefusal } from "../../../tools/src/index.ts";
import type {
  CallToSign,
  Move,
  MoveOptions,
  Order,
  ShownService,
  SignatureRequest,
  Signer,
} from "../../../tools/src/index.ts";
import type { GuardedAccount, PermittedCall } from "./guarded-account.ts";
import type { Ledger } from "./ledger.ts";
import type { Limits } from "./limits.ts";
import { checkOrder, otherTerms, requirePinnedTerms } from "./order-check.ts";
import type { PinnedToken } from "./order-check.ts";
import { isSame, requirePinned } from "./pins.ts";
import type { NetworkPin, Pins } from "./pins.ts";
import { checkSpend, writeSpend } from "./spending.ts";
import type { Purchase } from "./spending.ts";
import { WalletError } from "./wallet-error.ts";

/** What a signer with limits is made of. */
export interface LimitedSignerParts {
  account: GuardedAccount;
  pins: Pins;
  /** Reads the limits as they are now. @throws WalletError `limits_broken` */
  limits: () => Promise<Limits>;
  ledger: Ledger;
  /** The wallet on a pinned network. */
  walletOn: (network: NetworkPin) => Wallet;
  /** What the service says of its networks now. */
  readNetworks: () => Promise<readonly NetworkStatus[]>;
  /** Checks everything, and answers with the calls instead of signing them. Nothing is written down. */
  isDryRun?: boolean | undefined;
}

/** The other moves: who makes them, and where they lead on chain and in the service. */
const MOVES: Readonly<
  Record<
    Exclude<Move, "fund">,
    { by: "buyer" | "seller" | "anyone"; state: EscrowState; statuses: TransactionStatus[] }
  >
> = {
  submitDelivery: { by: "seller", state: "Delivered", statuses: ["delivered", "released", "disputed", "resolved"] },
  accept: { by: "buyer", state: "Released", statuses: ["released"] },
  openDispute: { by: "buyer", state: "Disputed", statuses: ["disputed", "resolved"] },
  finalize: { by: "anyone", state: "Released", statuses: ["released"] },
  claimAbandoned: { by: "buyer", state: "Abandoned", statuses: ["abandoned"] },
  refund: { by: "seller", state: "Refunded", statuses: ["refunded"] },
  resolveExpired: { by: "anyone", state: "Resolved", statuses: ["resolved"] },
};

/** Services that a process remembers as they were shown. */
const MAX_SHOWN = 10_000;

/** A deal on a pinned network. */
interface Checked {
  deal: Deal;
  pin: NetworkPin;
  token: PinnedToken;
  wallet: Wallet;
  escrow: EscrowContract;
  /** Milliseconds that the move has left. */
  left: () => number;
}

/**
 * Makes moves within the wallet's limits. It encodes each call itself, from the terms that it has held against the order and
 * for the contracts that it has pinned, and writes a spend down before the key signs anything. Moves go one after another.
 */
export function limitedSigner(parts: LimitedSignerParts): Signer {
  const signer = new LimitedSigner(parts);
  let last: Promise<unknown> = Promise.resolve();
  return {
    noteShown: (service) => {
      signer.noteShown(service);
    },
    move(deal, move, options) {
      const turn = last.then(() => signer.move(deal, move, options));
      last = turn.catch(() => undefined);
      return turn;
    },
  };
}

class LimitedSigner {
  readonly #parts: LimitedSignerParts;
  #networksChecked: Promise<void> | undefined;
  readonly #shown = new Map<string, ShownService>();

  constructor(parts: LimitedSignerParts) {
    this.#parts = parts;
  }

  noteShown(service: ShownService): void {
    const known = this.#shown.get(service.serviceId);
    // The newest last, so that the oldest is forgotten.
    this.#shown.delete(service.serviceId);
    this.#shown.set(service.serviceId, { ...known, ...service });
    const [oldest] = this.#shown.keys();
    if (this.#shown.size > MAX_SHOWN && oldest !== undefined) this.#shown.delete(oldest);
  }

  /** Holds a listing against what tools have shown of it in this process. @throws ToolRefusal `other_terms` */
  #requireShown(deal: Deal, { listing }: Order): void {
    const shown = this.#shown.get(listing.id);
    if (shown === undefined) return;
    for (const field of ["sellerAgentId", "price", "priceUnit", "currency", "category", "network"] as const) {
      if (shown[field] !== listing[field]) throw otherTerms(deal, `the service was shown with another ${field}`);
    }
    if (shown.sellerAddress !== undefined && !isSame(shown.sellerAddress, listing.sellerAddress)) {
      throw otherTerms(deal, "the service was shown with another sellerAddress");
    }
  }

  async move(deal: Deal, move: Move, options: MoveOptions): Promise<SignatureRequest | undefined> {
    try {
      const checked = await this.#check(deal, options);
      return await (move === "fund" ? this.#fund(checked, options) : this.#settle(checked, move, options));
    } catch (thrown) {
      const error = innerError(thrown);
      if (!(error instanceof WalletError)) throw error;
      const { code, message, whatToDo } = error;
      throw new ToolRefusal({ code, message, whatToDo });
    }
  }

  async #check(deal: Deal, { timeoutMs }: MoveOptions): Promise<Checked> {
    const endsAt = performance.now() + timeoutMs;
    const { pins, walletOn } = this.#parts;
    await this.#requireNetworks();
    const pin = pins.networks.find(({ network }) => network === deal.terms.network);
    if (pin === undefined) throw otherTerms(deal, "it settles on a network that the wallet hasn't pinned");
    const token = requirePinnedTerms(deal, pin);
    const wallet = walletOn(pin);
    const escrow = new EscrowContract(wallet, pin.escrow);
    return { deal, pin, token, wallet, escrow, left: () => Math.max(1, Math.ceil(endsAt - performance.now())) };
  }

  /** Once for each process: terms are held against the pins with every move. */
  async #requireNetworks(): Promise<void> {
    const { pins, readNetworks } = this.#parts;
    this.#networksChecked ??= readNetworks().then((networks) => {
      requirePinned(pins, networks);
    });
    try {
      await this.#networksChecked;
    } catch (error) {
      this.#networksChecked = undefined;
      throw error;
    }
  }

  async #fund(checked: Checked, { maxAmount, order }: MoveOptions): Promise<SignatureRequest | undefined> {
    const { deal, pin, token, wallet, escrow, left } = checked;
    const { terms } = deal;
    if (order === undefined) throw otherTerms(deal, "nobody says what was ordered");
    if (maxAmount === undefined || terms.amount > maxAmount) throw otherTerms(deal, "it costs more than was allowed");
    if ((await escrow.get(terms.escrowId)).state !== "None") {
      await this.#requireOnChain(checked, "buyer");
      if (this.#parts.isDryRun !== true) await deal.waitForStatus(PAID, { timeoutMs: left() });
      return undefined;
    }
    this.#requireShown(deal, order);
    const usd = await checkOrder({ deal, order, pin, token, wallet });
    const purchase = purchaseOf(checked, order, usd);
    const allowed = await readContract(wallet, {
      address: token.address,
      abi: erc20Abi,
      functionName: "allowance",
      args: [wallet.account.address, pin.escrow],
    });
    const calls = fundingCalls(checked).slice(allowed >= terms.amount ? 1 : 0);
    const { ledger, limits, account, isDryRun = false } = this.#parts;
    if (isDryRun) {
      const kind = await checkSpend(ledger, await limits(), purchase, new Date());
      const sentence = `Would pay the deposit of the deal into escrow${kind === "asked" ? ", once its owner approves it" : ""}.`;
      return { calls, sentence, validUntil: terms.quoteExpiresAt };
    }
    await writeSpend(ledger, await limits(), purchase);
    for (const call of calls) account.permitCall(permitted(call));
    account.permitDeposit(pin.chainId, {
      token: token.address,
      escrow: pin.escrow,
      amount: terms.amount,
      nonce: authorizationNonce(pin.chainId, pin.escrow, { ...terms, token: token.address }),
    });
    await escrow.approve(token.address, terms.amount, { timeoutMs: left() });
    const pinned = { ...terms, token: token.address };
    const { transactionHash } = await escrow.createEscrow(pinned, { timeoutMs: left() });
    await deal.reportFunding(transactionHash, { timeoutMs: left() });
    return undefined;
  }

  /** Makes a move of an escrow that exists, after the chain has said that it is the one that the service shows. */
  async #settle(
    checked: Checked,
    move: Exclude<Move, "fund">,
    { payload }: MoveOptions,
  ): Promise<SignatureRequest | undefined> {
    const { deal, pin, escrow, left } = checked;
    const { by, state: target, statuses } = MOVES[move];
    const { isDryRun = false, account } = this.#parts;
    const { escrowId } = deal.terms;
    const state = await this.#requireOnChain(checked, by);
    if (state === "None") throw notPossible(deal.transactionId, move, "pending_funding");
    const proof = deliveryProofOf(payload ?? {});
    const data =
      move === "submitDelivery"
        ? encodeFunctionData({ abi: escrowAbi, functionName: move, args: [escrowId, proof] })
        : encodeFunctionData({ abi: escrowAbi, functionName: move, args: [escrowId] });
    const call = callOf(pin, pin.escrow, data, `Makes the move ${move} of the deal`);
    if (isDryRun) return { calls: [call], sentence: `Would make the move ${move}.`, validUntil: null };
    if (move === "submitDelivery") await deal.handOver(payload ?? {});
    if (state !== target) {
      account.permitCall(permitted(call));
      if (move !== "submitDelivery") {
        await escrow.move(move, escrowId, { timeoutMs: left() });
      } else if (state === "Funded") {
        await escrow.submitDelivery(escrowId, proof, { timeoutMs: left() });
      }
    }
    await deal.waitForStatus(statuses, { timeoutMs: left() });
    return undefined;
  }

  /**
   * Holds the escrow on the pinned chain against the service's terms, and against the ledger.
   * @returns its state
   * @throws ToolRefusal `other_terms`
   */
  async #requireOnChain(
    { deal, token, wallet, escrow }: Checked,
    by: "buyer" | "seller" | "anyone",
  ): Promise<EscrowState> {
    const { terms } = deal;
    const found = await escrow.get(terms.escrowId);
    if (found.state === "None") return found.state;
    const own = wallet.account.address;
    const isOwn = by === "anyone" ? isSame(found.buyer, own) || isSame(found.seller, own) : isSame(found[by], own);
    if (!isOwn) throw otherTerms(deal, "its escrow on chain isn't this wallet's");
    for (const party of ["buyer", "seller"] as const) {
      if (!isSame(found[party], terms[party])) throw otherTerms(deal, `its escrow on chain has another ${party}`);
    }
    if (!isSame(found.token, token.address)) throw otherTerms(deal, "its escrow on chain has another token");
    for (const field of ["amount", "deadline", "disputeWindow", "abandonmentGrace", "criteriaHash"] as const) {
      if (found[field] !== terms[field]) throw otherTerms(deal, `its escrow on chain has another ${field}`);
    }
    await this.#requireLedger(deal);
    return found.state;
  }

  /** A deal that this wallet has paid for keeps its escrow, and an escrow its deal. */
  async #requireLedger(deal: Deal): Promise<void> {
    const { transactionId, escrowId } = deal.terms;
    // A ledger that can't be read refuses to spend, and nothing else: what is paid has to be accepted or disputed in time.
    if ((await this.#parts.ledger.damage()) !== undefined) return;
    const state = await this.#parts.ledger.read();
    const paid = state.spendsWith((spend) => spend.dealId === transactionId || spend.escrowId === escrowId);
    if (paid.every((spend) => spend.dealId === transactionId && spend.escrowId === escrowId)) return;
    throw otherTerms(deal, "the wallet has paid it into another escrow");
  }
}

/** What the wallet itself has thrown while viem was sending. */
function innerError(error: unknown): unknown {
  if (!(error instanceof BaseError)) return error;
  const isOwn = (part: unknown): boolean => part instanceof WalletError || part instanceof RefusedError;
  return error.walk(isOwn) ?? error;
}

/** What the ledger has to say of a deal. */
function purchaseOf({ deal, pin, token }: Checked, order: Order, usd: bigint): Purchase {
  const { transactionId: dealId, escrowId, seller, amount } = deal.terms;
  const { intentId, listing, criteria } = order;
  const { schema, checks = [] } = criteria ?? {};
  return {
    spend: {
      dealId,
      intentId,
      escrowId,
      network: pin.network,
      seller,
      token: token.symbol,
      amount: String(amount),
      usd: String(usd),
    },
    category: listing.category,
    hasCriteria: schema !== undefined || checks.length > 0,
  };
}

/** The approval of exactly the deposit, and the escrow, to the pinned addresses. */
function fundingCalls({ deal, pin, token }: Checked): CallToSign[] {
  const { escrowId, seller, amount, deadline, disputeWindow, abandonmentGrace, criteriaHash } = deal.terms;
  const approve = encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [pin.escrow, amount] });
  const create = encodeFunctionData({
    abi: escrowAbi,
    functionName: "createEscrow",
    args: [escrowId, seller, amount, token.address, deadline, disputeWindow, abandonmentGrace, criteriaHash],
  });
  return [
    callOf(pin, token.address, approve, "Allows the escrow contract to take the deposit"),
    callOf(pin, pin.escrow, create, "Pays the deposit into the escrow of the deal"),
  ];
}

function callOf({ chainId }: NetworkPin, to: string, data: Hex, description: string): CallToSign {
  return { to, data, value: "0", chainId, description };
}

function permitted({ chainId, to, data }: CallToSign): PermittedCall {
  return { chainId, to: to as Hex, data: data as Hex };
}
