// Loaded only when an owner presses the button of a move or looks for credits: it has the contract's interface.
import { criteriaHashOf, decodeEscrow, encodeEscrowRead, encodeMove, revertNameOf } from "../../../sdk/src/calls.ts";
import type { Escrow, EscrowMove, EscrowState } from "../../../sdk/src/calls.ts";
import type { NetworkStatus, Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { BrowserWallet } from "./announcement.ts";
import { MOVES } from "./deal-words.ts";
import { ether, moveWalletWords, moveWords } from "./move-words.ts";
import { isSame } from "./needs.ts";
import { WalletError } from "./signing.ts";
import { accountsOf, ask } from "./wallet-calls.ts";

type Hex = `0x${string}`;

/** A deal as the page shows it. */
export interface DealTerms {
  deal: Transaction;
  /** The deal's network, as the service describes it. */
  network: NetworkStatus | undefined;
  /** The criteria that are shown; undefined if none are. */
  criteria: Record<string, unknown> | undefined;
  /** The session's agent. */
  account: string;
}

/** A move as the page shows it. */
export interface MoveTerms extends DealTerms {
  move: EscrowMove;
}

/** A transaction that was checked and can be signed. */
export interface MovePlan {
  wallet: BrowserWallet;
  chainId: number;
  /** The account that signs. */
  from: string;
  /** The escrow contract. */
  to: string;
  data: Hex;
  gas: bigint;
  /** What the gas costs at the current price. */
  cost: string;
}

/** Why nothing can be signed; the second line is about a deposit alone. */
type MoveRefusal =
  | ("other_chain" | "other_account" | "not_listed" | "no_contract" | "differs" | "state" | "role" | "reverts")
  | ("taken" | "criteria" | "fee" | "quote_over" | "balance");

/** Why a move isn't made. Nothing was signed. */
export class MoveError extends Error {
  readonly reason: MoveRefusal;
  /** The chain, the account, the term, the state or the contract's error, by its name. */
  readonly detail: string;

  constructor(reason: MoveRefusal, detail = "") {
    super(`${reason} ${detail}`);
    this.reason = reason;
    this.detail = detail;
  }
}

/** A problem in words. */
export interface Problem {
  text: string;
  /** Whether the wallet can be asked to go to the deal's chain. */
  isOtherChain: boolean;
}

/** Says why a move wasn't made. @param wasAsked whether the wallet was asked to send it */
export function problemOf(
  error: unknown,
  wallet: BrowserWallet | undefined,
  { deal, account }: DealTerms,
  wasAsked: boolean,
): Problem {
  const { network, chainId } = deal;
  const context = { wallet: wallet?.name ?? "The wallet", account, network, chainId };
  if (error instanceof MoveError) {
    const { reason, detail } = error;
    return { text: moveWords(reason, detail, context), isOtherChain: reason === "other_chain" };
  }
  const { reason, message } = error instanceof WalletError ? error : { reason: "failed", message: String(error) };
  return { text: moveWalletWords(reason, message, context, wasAsked), isOtherChain: false };
}

/**
 * Checks that the chain has what the page shows, and prepares the transaction.
 * @throws MoveError, WalletError
 */
export async function prepareMove(wallet: BrowserWallet, terms: MoveTerms): Promise<MovePlan> {
  const { move, deal, account } = terms;
  requireRole(deal, account, MOVES[move].by);
  const to = await requireEscrow(wallet, terms, MOVES[move].from);
  return planCall(wallet, { chainId: deal.chainId, from: account, to, data: encodeMove(move, deal.escrowId as Hex) });
}

/**
 * Checks that the wallet has the account and the chain, and that the chain has the deal as the page shows it.
 * @returns the escrow contract
 * @throws MoveError, WalletError
 */
export async function requireEscrow(wallet: BrowserWallet, terms: DealTerms, state: EscrowState): Promise<string> {
  const { deal, account } = terms;
  const contract = requireContract(terms);
  await requireAccount(wallet, account);
  await requireChain(wallet, deal.chainId);
  const escrow = await readEscrow(wallet, contract, deal.escrowId as Hex);
  const difference = escrow.state === "None" ? undefined : differenceOf(escrow, terms);
  if (difference !== undefined) throw new MoveError("differs", difference);
  if (escrow.state !== state) throw new MoveError("state", escrow.state);
  return contract;
}

/** Prepares a transaction without ether. @throws MoveError with the contract's error if it would revert, WalletError */
export async function planCall(
  wallet: BrowserWallet,
  { chainId, from, to, data }: Pick<MovePlan, "chainId" | "from" | "to" | "data">,
): Promise<MovePlan> {
  const gas = withRoom(await estimate(wallet, { from, to, data, value: "0x0" }));
  const price = quantity(await ask(wallet, "eth_gasPrice"));
  return { wallet, chainId, from, to, data, gas, cost: ether(gas * price) };
}

/** Asks the wallet to go to another chain. @throws WalletError */
export async function switchChain(wallet: BrowserWallet, chainId: number): Promise<void> {
  await ask(wallet, "wallet_switchEthereumChain", [{ chainId: hex(chainId) }]);
}

/** Has the wallet sign and send a move. @returns the transaction's hash @throws MoveError, WalletError */
export async function sendMove({ wallet, chainId, from, to, data, gas }: MovePlan): Promise<string> {
  // The owner may have changed both since the page asked.
  await requireAccount(wallet, from);
  await requireChain(wallet, chainId);
  const transaction = { from, to, data, value: "0x0", gas: hex(gas), chainId: hex(chainId) };
  const hash = await ask(wallet, "eth_sendTransaction", [transaction]);
  if (typeof hash !== "string" || !HASH.test(hash)) throw new WalletError("failed");
  return hash;
}

/** Where a transaction ended. */
export interface Mined {
  block: number;
  hasReverted: boolean;
}

/** Waits until a block has a transaction. @returns undefined if none has it after a few minutes, or once the signal aborts */
export async function followMove({ wallet }: MovePlan, hash: string, ended: AbortSignal): Promise<Mined | undefined> {
  const until = performance.now() + LONGEST_MS;
  while (!ended.aborted && performance.now() < until) {
    // A wallet whose node doesn't answer at the moment is asked again.
    const receipt = await ask(wallet, "eth_getTransactionReceipt", [hash]).catch(() => null);
    const { blockNumber, status } = (receipt ?? {}) as { blockNumber?: unknown; status?: unknown };
    if (typeof blockNumber === "string" && typeof status === "string") {
      return { block: Number(blockNumber), hasReverted: Number(status) === 0 };
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return undefined;
}

const PAUSE_MS = 1_000;
const LONGEST_MS = 180_000;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const HEX_DATA = /^0x([0-9a-fA-F]{2})*$/;

/** The escrow contract, if service and deal name the same one, and the token that the page shows. @throws MoveError */
export function requireContract({ deal, network }: DealTerms): string {
  if (network?.chainId !== deal.chainId || !isSame(network.contracts.escrow, deal.escrowContract)) {
    throw new MoveError("not_listed", "contract");
  }
  const listed = network.tokens.find(({ address }) => isSame(address, deal.token));
  if (listed?.symbol !== deal.currency) throw new MoveError("not_listed", "token");
  return network.contracts.escrow;
}

/** The session's account as the wallet writes it. @throws MoveError if the wallet shows another account, WalletError */
export async function requireAccount(wallet: BrowserWallet, account: string): Promise<string> {
  const shown = await accountsOf(wallet, "eth_requestAccounts");
  const own = shown.find((one) => isSame(one, account));
  if (own === undefined) throw new MoveError("other_account", shown[0] ?? "");
  return own;
}

/** @throws MoveError if the wallet is on another chain, WalletError */
export async function requireChain(wallet: BrowserWallet, chainId: number): Promise<void> {
  const current = await chainOf(wallet);
  if (current !== BigInt(chainId)) throw new MoveError("other_chain", current.toString());
}

/** The chain that the wallet is on. @throws WalletError */
export async function chainOf(wallet: BrowserWallet): Promise<bigint> {
  return quantity(await ask(wallet, "eth_chainId"));
}

/** @throws MoveError if the account isn't that party of the deal */
export function requireRole(deal: Transaction, account: string, by: "buyer" | "seller" | "anyone"): void {
  const party = by === "buyer" ? deal.buyerAddress : deal.sellerAddress;
  if (by !== "anyone" && !isSame(party, account)) throw new MoveError("role", by);
}

/** An escrow as the chain has it. @throws MoveError without a contract there, WalletError */
export function readEscrow(wallet: BrowserWallet, to: string, escrowId: Hex): Promise<Escrow> {
  return readChain(wallet, to, encodeEscrowRead(escrowId), decodeEscrow);
}

/** What a contract answers. @throws MoveError without a contract there, WalletError */
export async function readChain<Result>(
  wallet: BrowserWallet,
  to: string,
  data: Hex,
  decode: (answer: Hex) => Result,
): Promise<Result> {
  const answer = await ask(wallet, "eth_call", [{ to, data }, "latest"]);
  if (typeof answer !== "string" || !HEX_DATA.test(answer)) throw new WalletError("failed");
  try {
    return decode(answer as Hex);
  } catch {
    // Another chain may have the same number: the local one and the public one, for example.
    throw new MoveError("no_contract", to);
  }
}

/** The first term of the chain that isn't what the page shows; undefined if all are the same. */
export function differenceOf(escrow: Escrow, { deal, criteria }: DealTerms): string | undefined {
  const terms: readonly (readonly [name: string, onChain: bigint | string, shown: bigint | string])[] = [
    ["buyer", escrow.buyer, deal.buyerAddress],
    ["seller", escrow.seller, deal.sellerAddress],
    ["token", escrow.token, deal.token],
    ["deposit", escrow.amount, BigInt(deal.amount)],
    ["fee", escrow.fee, BigInt(deal.platformFee)],
    ["amount without the fee", escrow.locked, BigInt(deal.lockedAmount)],
    ["deadline", escrow.deadline, BigInt(deal.deadline)],
    ["time to look", escrow.disputeWindow, BigInt(deal.disputeWindow)],
    ["time to decline", escrow.abandonmentGrace, BigInt(deal.abandonmentGrace)],
    ["criteria", escrow.criteriaHash, criteria === undefined ? deal.criteriaHash : criteriaHashOf(criteria)],
  ];
  return terms.find(([, onChain, shown]) => onChain.toString().toLowerCase() !== shown.toString().toLowerCase())?.[0];
}

/** The gas of a call. @throws MoveError with the contract's error if it would revert */
async function estimate(wallet: BrowserWallet, call: Readonly<Record<string, string>>): Promise<bigint> {
  try {
    return quantity(await ask(wallet, "eth_estimateGas", [call]));
  } catch (error) {
    const data = error instanceof WalletError ? revertDataIn(error.cause) : undefined;
    const name = data === undefined ? undefined : revertNameOf(data);
    if (name === undefined) throw error;
    throw new MoveError("reverts", name);
  }
}

const NESTED = ["data", "originalError", "cause", "error"];
const DEEPEST = 6;

/** What a call reverted with. Wallets put it at different depths into their errors. */
function revertDataIn(error: unknown, depth = 0): Hex | undefined {
  if (typeof error === "string") return error.length > "0x".length && HEX_DATA.test(error) ? (error as Hex) : undefined;
  if (typeof error !== "object" || error === null || depth > DEEPEST) return undefined;
  for (const name of NESTED) {
    const found = revertDataIn((error as Record<string, unknown>)[name], depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A number of an answer. @throws WalletError for something else */
export function quantity(answer: unknown): bigint {
  if (typeof answer !== "string" || !/^0x[0-9a-fA-F]{1,64}$/.test(answer)) throw new WalletError("failed");
  return BigInt(answer);
}

/** A quarter above the estimate: other transactions may make the call dearer until its block. */
const withRoom = (gas: bigint): bigint => gas + gas / 4n;

const HEX = 16;

function hex(value: number | bigint): Hex {
  return `0x${value.toString(HEX)}`;
}
