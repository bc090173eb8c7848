import BigNumber from "bignumber.js";

import { MAINNET, NETWORKS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { toUnixSeconds } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import type { ChainClient } from "./chain-client.ts";
import { PriceUnavailableError } from "./errors.ts";
import { freshPrice } from "./fresh-price.ts";

/**
 * The price of one ether in US dollars from the on-chain feed, read at most a minute ago.
 * @throws ChainUnavailableError, PriceUnavailableError
 */
export type EtherPrice = () => Promise<BigNumber>;

const MAX_AGE_MS = 60_000;
/** Age at which the next price is read in the background. Until it arrives, or in a short outage, this one is used. */
const REFRESH_AGE_MS = 30_000;
const WRAPPED_ETHER = "WETH";

/** Caches the price of ether for at most a minute. Concurrent requests share one read. */
export function createEtherPrice(chains: Readonly<Record<Network, ChainClient>>, clock: Clock): EtherPrice {
  let known: { usd: BigNumber; readAt: number } | undefined;
  let reading: Promise<BigNumber> | undefined;

  async function read(): Promise<BigNumber> {
    const readAt = clock.now().getTime();
    const found = [MAINNET, ...NETWORKS]
      .map((network) => ({ chain: chains[network], token: chains[network].token(WRAPPED_ETHER) }))
      .find(({ token }) => token !== undefined);
    if (found?.token === undefined) throw new PriceUnavailableError("No network lists a token with an ether price");
    const { chain, token } = found;
    const { timestamp } = await chain.head();
    const { answer, decimals } = await freshPrice(chain, token, Math.max(timestamp, toUnixSeconds(clock.now())));
    const usd = new BigNumber(answer.toString()).shiftedBy(-decimals);
    known = { usd, readAt };
    return usd;
  }

  return () => {
    const ageMs = known === undefined ? Infinity : clock.now().getTime() - known.readAt;
    if (known !== undefined && ageMs <= REFRESH_AGE_MS) return Promise.resolve(known.usd);
    reading ??= read().finally(() => {
      reading = undefined;
    });
    if (known === undefined || ageMs > MAX_AGE_MS) return reading;
    // A failure is ignored here, because nobody needs the new price yet. The next call reads again.
    reading.catch(() => undefined);
    return Promise.resolve(known.usd);
  };
}
