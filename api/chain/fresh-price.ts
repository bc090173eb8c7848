import type { ChainClient, FeedPrice } from "./chain-client.ts";
import type { DeployedToken } from "./deployment.ts";
import { PriceUnavailableError } from "./errors.ts";

/**
 * The latest price from a token's feed.
 * @param chainNow unix seconds
 * @throws PriceUnavailableError if the answer is older than the token's `maxPriceAge`, or isn't a price
 */
export async function freshPrice(chain: ChainClient, token: DeployedToken, chainNow: number): Promise<FeedPrice> {
  const price = await chain.price(token);
  const { answer, updatedAt } = price;
  const { symbol, maxPriceAge } = token;
  if (answer <= 0n || updatedAt === 0 || chainNow - updatedAt > maxPriceAge) {
    throw new PriceUnavailableError(`The feed of ${symbol} has no fresh price`, {
      facts: { token: symbol, updatedAt, maxPriceAge },
    });
  }
  return price;
}
