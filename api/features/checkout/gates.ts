import { formatUnits } from "viem";

import type { ChainClient } from "../../chain/chain-client.ts";
import type { EscrowLimits } from "../../chain/escrow-limits.ts";
import { PriceUnavailableError, TokenNotListedError } from "../../chain/errors.ts";
import {
  KYA_LEVEL_RULES,
  KYA_LEVELS,
  MAINNET,
  MAINNET_GRADUATION_SCORE,
  QUOTE_SECONDS,
  TESTNET,
  USD_DECIMALS,
} from "../../config/constants.ts";
import type { KyaLevel, Network } from "../../config/constants.ts";
import { ApiError } from "../../http/errors.ts";
import type { Quote } from "./quote.ts";

/** The parties of a checkout. */
export interface CheckoutParties {
  buyer: `0x${string}`;
  seller: `0x${string}`;
}

/** Largest deposit that an escrow can hold: 96 bits. */
const MAX_AMOUNT = 2n ** 96n - 1n;
const PRICE_RETRY_SECONDS = 60;
const PAUSE_RETRY_SECONDS = 60;

/** An amount with 6 decimals in whole dollars, for readers of an error who would take `10000000` for ten million. */
const dollars = (amountUsd: bigint): string => formatUnits(amountUsd, USD_DECIMALS);

/**
 * Requires a testnet score of at least 10 for a mainnet checkout, read directly from the score contract. If its RPC is
 * unreachable, the client's error becomes a 503 with Retry-After.
 */
export async function requireGraduation(
  network: Network,
  buyer: `0x${string}`,
  chains: Readonly<Record<Network, ChainClient>>,
): Promise<void> {
  if (network !== MAINNET) return;
  const score = await chains[TESTNET].scoreOf(buyer);
  if (score >= BigInt(MAINNET_GRADUATION_SCORE)) return;
  throw new ApiError("testnet_graduation_required", {
    details: { onChainScore: Number(score), graduationScore: MAINNET_GRADUATION_SCORE },
  });
}

/** The deposit must be within what the token and the contract accept. */
function requireAmountInRange({ amount }: Quote, minimum: bigint): void {
  if (amount >= minimum && amount <= MAX_AMOUNT) return;
  throw new ApiError("amount_out_of_range", {
    details: { amount: amount.toString(), minimum: minimum.toString(), maximum: MAX_AMOUNT.toString() },
  });
}

/**
 * Reads the contract's limits for a deposit.
 * @throws ApiError `payment_method_not_supported`, `price_feed_unavailable`
 */
export async function readLimits(
  chain: ChainClient,
  parties: CheckoutParties,
  quote: { token: Pick<Quote["token"], "symbol" | "address">; amount: bigint },
): Promise<EscrowLimits> {
  try {
    return await chain.escrowLimits({ ...parties, token: quote.token.address, amount: quote.amount });
  } catch (error) {
    if (error instanceof TokenNotListedError) {
      const details = { paymentMethod: quote.token.symbol.toLowerCase(), network: chain.network };
      throw new ApiError("payment_method_not_supported", { details, cause: error });
    }
    if (!(error instanceof PriceUnavailableError)) throw error;
    const details = { token: quote.token.symbol };
    throw new ApiError("price_feed_unavailable", { details, retryAfterSeconds: PRICE_RETRY_SECONDS, cause: error });
  }
}

/**
 * Checks what `createEscrow` checks. It rejects a token that is no longer listed, a deposit out of range, and any
 * escrow while the contract is paused. It also rejects a job above the lower of both parties' caps, or against the
 * seller's own terms. The contract measures the time to deliver from the funding block. That may be the last block
 * of the quote, and the seller's minimum must still be left then.
 * @param deliverySeconds from now to the deadline
 */
export async function requireWithinLimits(
  chain: ChainClient,
  parties: CheckoutParties,
  quote: Quote,
  deliverySeconds: number,
): Promise<EscrowLimits> {
  const limits = await readLimits(chain, parties, quote);
  const { valueUsd, capUsd, cappedAgent, sellerTerms } = limits;
  requireAmountInRange(quote, limits.minAmount);
  if (limits.paused) {
    const details = { network: chain.network, escrowContract: chain.deployment.escrow };
    throw new ApiError("new_escrows_paused", { details, retryAfterSeconds: PAUSE_RETRY_SECONDS });
  }
  if (capUsd !== null && valueUsd > capUsd) {
    throw new ApiError("job_value_cap_exceeded", {
      details: {
        valueUsd: valueUsd.toString(),
        capUsd: capUsd.toString(),
        usdDecimals: USD_DECIMALS,
        valueDollars: dollars(valueUsd),
        capDollars: dollars(capUsd),
        cappedWallet: cappedAgent,
      },
    });
  }
  const { minAmountUsd, minDeliverySeconds, paused } = sellerTerms;
  const minDeliveryDeadlineSeconds = minDeliverySeconds === 0 ? 0 : minDeliverySeconds + QUOTE_SECONDS;
  if (paused || valueUsd < minAmountUsd || deliverySeconds < minDeliveryDeadlineSeconds) {
    throw new ApiError("seller_terms_not_met", {
      details: {
        paused,
        minAmountUsd: minAmountUsd.toString(),
        usdDecimals: USD_DECIMALS,
        minDeliverySeconds,
        minAmountDollars: dollars(minAmountUsd),
        valueDollars: dollars(valueUsd),
        // The lowest deliveryDeadlineSeconds that works: the seller's minimum after the whole quote.
        minDeliveryDeadlineSeconds,
      },
    });
  }
  return limits;
}

/**
 * Requires a verified buyer for a high-value job: KYA level 2 above $1,000, level 3 above $10,000.
 * @param valueUsd value of the deposit with 6 decimals
 * @param readLevel reads the buyer's level; not called for a job that every level may buy
 */
export async function requireVerifiedBuyer(valueUsd: bigint, readLevel: () => Promise<KyaLevel>): Promise<void> {
  const mayBuy = (level: KyaLevel) => {
    const { maxJobValueUsd } = KYA_LEVEL_RULES[level];
    return maxJobValueUsd === null || valueUsd <= BigInt(maxJobValueUsd) * 10n ** BigInt(USD_DECIMALS);
  };
  const requiredLevel = KYA_LEVELS.find(mayBuy);
  if (requiredLevel === 0) return;
  const kyaLevel = await readLevel();
  if (mayBuy(kyaLevel)) return;
  throw new ApiError("agent_not_verified", {
    details: {
      valueUsd: valueUsd.toString(),
      usdDecimals: USD_DECIMALS,
      valueDollars: dollars(valueUsd),
      kyaLevel,
      requiredLevel,
    },
  });
}

/** The buyer must hold the deposit. */
export async function requireBalance(chain: ChainClient, buyer: `0x${string}`, quote: Quote): Promise<void> {
  const balance = await chain.tokenBalance(quote.token.address, buyer);
  if (balance >= quote.amount) return;
  throw new ApiError("insufficient_token_balance", {
    details: { token: quote.token.address, required: quote.amount.toString(), balance: balance.toString() },
  });
}
