import { isAddress, isHex, parseUnits } from "viem";
import type { Address } from "viem";
import { getBlock, readContract } from "viem/actions";

import { canonicalJson, escrowAbi } from "../../../sdk/src/index.ts";
import type { Deal, DealTerms, Listing, Wallet } from "../../../sdk/src/index.ts";
import { ToolRefusal } from "../../../tools/src/index.ts";
import type { Order } from "../../../tools/src/index.ts";
import { isSame } from "./pins.ts";
import type { NetworkPin } from "./pins.ts";
import { USD_DECIMALS } from "./usd.ts";

/** What an order has unless it says otherwise. Seconds. */
const DELIVERY_SECONDS = 604_800;
const DISPUTE_WINDOW_SECONDS = 300n;
const ABANDONMENT_GRACE_SECONDS = 172_800n;
const QUOTE_SECONDS = 900;
/** How far the service's block may be from the wallet's, in seconds. */
const CLOCK_SLACK = 60;
const FEE_BPS = 200n;
const ALL_BPS = 10_000n;
/** The price of ether moves between the quote and this check. */
const PRICE_SLACK_BPS = 300n;
const ESCROW_ID_BYTES = 66;
/** The token in which a currency is paid one to one. */
const TOKEN_OF: Readonly<Record<string, string>> = { USD: "USDC", USDC: "USDC", ETH: "WETH" };
const DEAL_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** A token as the wallet has pinned it. */
export type PinnedToken = NetworkPin["tokens"][number];

/** @throws ToolRefusal `other_terms`, `quote_expired` */
export type OnDifference = (how: string) => ToolRefusal;

/** The refusal of terms that aren't those of the order, the listing or the pins. */
export function otherTerms(deal: Deal, how: string): ToolRefusal {
  const dealId = DEAL_ID.test(deal.transactionId) ? { dealId: deal.transactionId } : {};
  return new ToolRefusal({
    code: "other_terms",
    message: `The deal isn't what was ordered: ${how}. Nothing was signed.`,
    whatToDo: "Don't pay this deal. Read the service again, and tell the operator of the marketplace.",
    ...dealId,
  });
}

/**
 * Holds what the service says of a deal against what the wallet has pinned.
 * @throws ToolRefusal `other_terms`
 */
export function requirePinnedTerms(deal: Deal, pin: NetworkPin): PinnedToken {
  const { chainId, escrowContract, escrowId, token, seller, buyer, transactionId } = deal.terms;
  const refuse = (how: string): ToolRefusal => otherTerms(deal, how);
  if (!DEAL_ID.test(transactionId)) throw refuse("its id has characters that no id has");
  if (chainId !== pin.chainId) throw refuse(`it names the chain ${String(chainId)} on ${pin.network}`);
  if (!isSame(escrowContract, pin.escrow)) throw refuse("it names another escrow contract than the wallet has pinned");
  const pinned = pin.tokens.find(({ address }) => isSame(address, token));
  if (pinned === undefined) throw refuse("it names a token that the wallet hasn't pinned");
  if (!isAddress(seller, { strict: false }) || !isAddress(buyer, { strict: false })) {
    throw refuse("its parties have no addresses");
  }
  if (!isHex(escrowId) || escrowId.length !== ESCROW_ID_BYTES) throw refuse("its escrow id isn't 32 bytes");
  return pinned;
}

/** What the check of an order needs. */
export interface OrderCheck {
  deal: Deal;
  order: Order;
  pin: NetworkPin;
  token: PinnedToken;
  /** Reads the pinned chain. */
  wallet: Wallet;
}

/**
 * Holds every term of a quote against the order and the listing, and works the amount out again.
 * @returns the value of the deposit in millionths of a US dollar
 * @throws ToolRefusal `other_terms`, `quote_expired`
 */
export async function checkOrder(check: OrderCheck): Promise<bigint> {
  const { deal, order, pin, token, wallet } = check;
  const { terms } = deal;
  const { listing } = order;
  const refuse = (how: string): ToolRefusal => otherTerms(deal, how);
  if (!isSame(terms.buyer, wallet.account.address)) throw refuse("it names another buyer than this wallet");
  if (!isSame(terms.seller, listing.sellerAddress)) throw refuse("it pays another seller");
  if (terms.network !== listing.network) throw refuse("it settles on another network than the service");
  if (token.symbol !== order.token) throw refuse(`it is paid in ${token.symbol}, not in ${order.token}`);
  requireAmounts(terms, refuse);
  await requireTimes(check, refuse);
  await requireCriteria(deal, order, refuse);
  await requirePrice(check, refuse);
  return valueUsd(wallet, pin, token, terms.amount);
}

/** The fee is 2%, rounded up, and the rest is what a refund gives back. */
function requireAmounts({ amount, platformFee, refundableAmount }: DealTerms, refuse: OnDifference): void {
  const fee = ceilDiv(amount * FEE_BPS, ALL_BPS);
  if (amount <= 0n) throw refuse("it costs nothing");
  if (platformFee !== fee) throw refuse(`its fee is ${String(platformFee)} units, and 2% are ${String(fee)}`);
  if (refundableAmount !== amount - fee) throw refuse("what a refund gives back isn't the deposit without the fee");
}

async function requireTimes({ deal, order, wallet }: OrderCheck, refuse: OnDifference): Promise<void> {
  const { deadline, disputeWindow, abandonmentGrace, quoteExpiresAt } = deal.terms;
  const now = Number((await getBlock(wallet)).timestamp);
  const wanted = order.deliverWithinSeconds ?? DELIVERY_SECONDS;
  const left = Number(deadline) - now;
  if (left > wanted + CLOCK_SLACK) throw refuse("its deadline is later than was ordered");
  if (left < wanted - QUOTE_SECONDS - CLOCK_SLACK) throw refuse("its deadline is earlier than was ordered");
  if (disputeWindow !== DISPUTE_WINDOW_SECONDS) throw refuse(`its dispute window is ${String(disputeWindow)} s`);
  if (abandonmentGrace !== ABANDONMENT_GRACE_SECONDS) throw refuse(`its grace is ${String(abandonmentGrace)} s`);
  const end = Date.parse(quoteExpiresAt ?? "") / 1_000;
  if (Number.isNaN(end)) throw refuse("its quote has no end");
  if (end > now + QUOTE_SECONDS + CLOCK_SLACK) throw refuse("its quote holds for longer than a quote does");
  if (end < Math.max(now, Date.now() / 1_000)) {
    throw new ToolRefusal({
      code: "quote_expired",
      message: "The quote of this purchase ended before it was paid.",
      whatToDo: "Check with get_deal that it wasn't paid. Then order again with a new intentId.",
      dealId: deal.transactionId,
    });
  }
}

/** The document that the criteriaHash commits to has to say what was ordered, field by field. */
async function requireCriteria(deal: Deal, order: Order, refuse: OnDifference): Promise<void> {
  const { listing } = order;
  const wanted: Record<string, unknown> = {
    serviceId: listing.id,
    sellerAgentId: listing.sellerAgentId,
    title: listing.title,
    description: listing.description,
    category: listing.category,
    price: listing.price,
    priceUnit: listing.priceUnit,
    currency: listing.currency,
    quantity: order.quantity,
    requestPayload: order.request ?? null,
    criteria: order.criteria ?? null,
  };
  const agreed = await deal.criteria();
  for (const name of new Set([...Object.keys(wanted), ...Object.keys(agreed)])) {
    const isWanted = name in wanted && canonicalJson(agreed[name] ?? null) === canonicalJson(wanted[name]);
    if (!isWanted) throw refuse(name in wanted ? `its ${name} differs` : "its terms have a field that nobody ordered");
  }
}

/** A price in the token itself is exact. One in the other token is compared by the feed of the escrow contract. */
async function requirePrice(check: OrderCheck, refuse: OnDifference): Promise<void> {
  const { deal, order, pin, token, wallet } = check;
  const { currency } = order.listing;
  const native = pin.tokens.find(({ symbol }) => symbol === TOKEN_OF[currency]);
  if (native === undefined) throw refuse("the wallet knows no token for the service's currency");
  const { amount } = deal.terms;
  const price = priceIn(order.listing, order.quantity, native.decimals);
  if (native.symbol === token.symbol) {
    if (amount !== price) throw refuse(`it costs ${String(amount)} units, and the service ${String(price)}`);
    return;
  }
  const [asked, listed] = await Promise.all([
    valueUsd(wallet, pin, token, amount),
    valueUsd(wallet, pin, native, price),
  ]);
  if (asked * ALL_BPS > listed * (ALL_BPS + PRICE_SLACK_BPS)) {
    throw refuse("it costs more than the service, by the price of ether that the escrow contract uses");
  }
}

/** What the listing costs in units of the token of its currency, rounded up. */
function priceIn({ price }: Pick<Listing, "price">, quantity: number, decimals: number): bigint {
  const scale = 18;
  // A price is a JSON number of at most 15 digits; JavaScript writes small ones with an exponent.
  const digits = parseUnits(price.toLocaleString("en-US", { useGrouping: false, maximumFractionDigits: 18 }), scale);
  return ceilDiv(digits * BigInt(quantity) * 10n ** BigInt(decimals), 10n ** BigInt(scale));
}

/** Millionths of a US dollar. USDC counts as dollars; for other tokens the escrow contract's own feed decides. */
async function valueUsd(wallet: Wallet, pin: NetworkPin, token: PinnedToken, amount: bigint): Promise<bigint> {
  if (token.symbol === "USDC" && token.decimals === USD_DECIMALS) return amount;
  const args: readonly [Address, bigint] = [token.address, amount];
  return readContract(wallet, { address: pin.escrow, abi: escrowAbi, functionName: "usdValue", args });
}

function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}
