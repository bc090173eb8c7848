import type { ChainClient, FeedPrice } from "../../chain/chain-client.ts";
import type { DeployedToken } from "../../chain/deployment.ts";
import { freshPrice } from "../../chain/fresh-price.ts";
import { BPS_DENOMINATOR, ESCROW_TOKEN_OF, PLATFORM_FEE_BPS } from "../../config/constants.ts";
import type { Currency } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";

/** The price of a checkout, in units of `token`. */
export interface Quote {
  token: DeployedToken;
  /** Gross deposit, the 2% fee included. */
  amount: bigint;
  /** Part of the deposit that goes to the treasury at creation. */
  fee: bigint;
  /** Part of the deposit that the seller gets on release, or the buyer on a refund. */
  locked: bigint;
}

/** A decimal as a fraction: `digits / 10^scale`. */
interface Decimal {
  digits: bigint;
  scale: number;
}

const USDC = "USDC";
const WETH = "WETH";

const pow10 = (exponent: number): bigint => 10n ** BigInt(exponent);

/** Rounds up: a deposit never falls short of the price by a fraction of a unit. */
export function ceilDiv(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/** Fee of a deposit: 2%, rounded up. */
export function computeFee(amount: bigint): bigint {
  return ceilDiv(amount * BigInt(PLATFORM_FEE_BPS), BigInt(BPS_DENOMINATOR));
}

/** Reads a plain decimal such as `12.5` without loss. */
export function parseDecimal(text: string): Decimal {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) throw new RangeError(`Not a plain decimal: ${text}`);
  const fraction = match[2] ?? "";
  return { digits: BigInt(`${match[1] ?? ""}${fraction}`), scale: fraction.length };
}

/** `ceil(price * quantity * 10^decimals)`, exactly. */
export function sameUnitAmount(price: string, quantity: number, decimals: number): bigint {
  const { digits, scale } = parseDecimal(price);
  return ceilDiv(digits * BigInt(quantity) * pow10(decimals), pow10(scale));
}

/** Converts a price in US dollars to token units, at the token's price in US dollars. Rounds up. */
export function usdToTokenAmount(
  priceUsd: string,
  quantity: number,
  token: { decimals: number },
  at: FeedPrice,
): bigint {
  const { digits, scale } = parseDecimal(priceUsd);
  return ceilDiv(digits * BigInt(quantity) * pow10(token.decimals) * pow10(at.decimals), pow10(scale) * at.answer);
}

/** Converts a price in ether to units of a dollar token, at the price of ether in US dollars. Rounds up. */
export function etherToUsdAmount(
  priceEther: string,
  quantity: number,
  token: { decimals: number },
  at: FeedPrice,
): bigint {
  const { digits, scale } = parseDecimal(priceEther);
  return ceilDiv(digits * BigInt(quantity) * at.answer * pow10(token.decimals), pow10(scale) * pow10(at.decimals));
}

/**
 * Quotes a listing in the token that the buyer pays with. USDC and USD listings are 1:1 in USDC, and ETH listings 1:1 in
 * WETH. Other pairs are converted with the ETH/USD feed of the settlement network.
 * @throws ApiError `currency_not_settleable`, `payment_method_not_supported`; PriceUnavailableError
 */
export async function quoteListing(
  chain: ChainClient,
  listing: { price: string; currency: Currency },
  order: { quantity: number; paymentMethod: string },
  chainNow: number,
): Promise<Quote> {
  const { price, currency } = listing;
  const { quantity, paymentMethod } = order;
  const facts = { currency, paymentMethod, network: chain.network };
  const native = ESCROW_TOKEN_OF[currency];
  if (native === undefined) throw new ApiError("currency_not_settleable", { details: facts });
  const token = chain.token(paymentMethod);
  if (token === undefined) {
    const isListingsToken = native.toLowerCase() === paymentMethod;
    throw new ApiError(isListingsToken ? "currency_not_settleable" : "payment_method_not_supported", {
      details: facts,
    });
  }
  const symbol = token.symbol.toUpperCase();
  let amount: bigint;
  if (symbol === native) amount = sameUnitAmount(price, quantity, token.decimals);
  else if (symbol === WETH && native === USDC) {
    amount = usdToTokenAmount(price, quantity, token, await freshPrice(chain, token, chainNow));
  } else if (symbol === USDC && native === WETH) {
    const ether = chain.token(WETH);
    if (ether === undefined) throw new ApiError("currency_not_settleable", { details: facts });
    amount = etherToUsdAmount(price, quantity, token, await freshPrice(chain, ether, chainNow));
  } else throw new ApiError("payment_method_not_supported", { details: facts });
  const fee = computeFee(amount);
  return { token, amount, fee, locked: amount - fee };
}
