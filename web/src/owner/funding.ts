// Loaded only when an owner pays a deposit.
import {
  criteriaHashOf,
  decodeUnits,
  encodeAllowanceRead,
  encodeApprove,
  encodeBalanceRead,
  encodeCreateEscrow,
} from "../../../sdk/src/calls.ts";
import type { Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { BrowserWallet } from "./announcement.ts";
import {
  differenceOf,
  MoveError,
  planCall,
  quantity,
  readChain,
  readEscrow,
  requireAccount,
  requireChain,
  requireContract,
  requireRole,
  sendMove,
} from "./moves.ts";
import type { DealTerms, MovePlan } from "./moves.ts";
import { WalletError } from "./signing.ts";
import { ask } from "./wallet-calls.ts";

type Hex = `0x${string}`;

/** One of the transactions that pay a deposit: the allowance for it, while that is too small, and the deposit itself. */
export interface FundingPlan extends MovePlan {
  call: "approve" | "createEscrow";
}

const MS = 1_000;

/**
 * Checks that the deposit can be paid as the page shows it, and prepares the next transaction. After an allowance it is called again.
 * @throws MoveError, WalletError
 */
export async function prepareFunding(wallet: BrowserWallet, terms: DealTerms): Promise<FundingPlan> {
  const { deal, account } = terms;
  const escrow = requireContract(terms) as Hex;
  await requireAccount(wallet, account);
  await requireChain(wallet, deal.chainId);
  requireRole(deal, account, "buyer");
  const criteriaHash = requireTerms(terms);
  await requireUnused(wallet, escrow, terms);
  await requireQuote(wallet, deal);

  const [token, amount, escrowId] = [deal.token as Hex, BigInt(deal.amount), deal.escrowId as Hex];
  const held = await readChain(wallet, token, encodeBalanceRead(account as Hex), decodeUnits);
  if (held < amount) throw new MoveError("balance", deal.currency);
  const allowed = await readChain(wallet, token, encodeAllowanceRead(account as Hex, escrow), decodeUnits);
  const target = { chainId: deal.chainId, from: account };
  if (allowed < amount) {
    const plan = await planCall(wallet, { ...target, to: token, data: encodeApprove(escrow, amount) });
    return { ...plan, call: "approve" };
  }
  const data = encodeCreateEscrow({
    escrowId,
    seller: deal.sellerAddress as Hex,
    amount,
    token,
    deadline: BigInt(deal.deadline),
    disputeWindow: BigInt(deal.disputeWindow),
    abandonmentGrace: BigInt(deal.abandonmentGrace),
    criteriaHash,
  });
  return { ...(await planCall(wallet, { ...target, to: escrow, data })), call: "createEscrow" };
}

/** Has the wallet sign and send one of the transactions. @returns its hash @throws MoveError, WalletError */
export async function sendFunding(plan: FundingPlan, { deal }: DealTerms): Promise<string> {
  // The owner may have looked at it for long.
  await requireQuote(plan.wallet, deal);
  return sendMove(plan);
}

const FEE_PERCENT = 2n;
const HUNDRED = 100n;

/** The hash of the criteria that the page shows, if it is the deal's, and its amounts add up as the contract divides them. @throws MoveError */
function requireTerms({ deal, criteria }: DealTerms): Hex {
  const hash = criteria === undefined ? undefined : criteriaHashOf(criteria);
  if (hash === undefined || hash !== deal.criteriaHash) throw new MoveError("criteria");
  const [amount, fee] = [BigInt(deal.amount), BigInt(deal.platformFee)];
  const taken = (amount * FEE_PERCENT + HUNDRED - 1n) / HUNDRED;
  if (fee !== taken || BigInt(deal.lockedAmount) !== amount - fee) throw new MoveError("fee");
  return hash;
}

/** @throws MoveError if the escrow is there already */
async function requireUnused(wallet: BrowserWallet, contract: string, terms: DealTerms): Promise<void> {
  const escrow = await readEscrow(wallet, contract, terms.deal.escrowId as Hex);
  if (escrow.state === "None") return;
  if (differenceOf(escrow, terms) !== undefined) throw new MoveError("taken");
  throw new MoveError("state", escrow.state);
}

/** @throws MoveError once the quote has ended, by this computer's clock or by the chain's: the seller may decline what comes later */
async function requireQuote(wallet: BrowserWallet, { quoteExpiresAt }: Transaction): Promise<void> {
  if (quoteExpiresAt === null) throw new MoveError("quote_over");
  const block = (await ask(wallet, "eth_getBlockByNumber", ["latest", false])) as { timestamp?: unknown } | null;
  if (typeof block !== "object" || block === null) throw new WalletError("failed");
  const now = Math.max(Date.now(), Number(quantity(block.timestamp)) * MS);
  if (now > Date.parse(quoteExpiresAt)) throw new MoveError("quote_over");
}
