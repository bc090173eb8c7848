import BigNumber from "bignumber.js";

import { MAINNET, NETWORKS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";
import { toUnixSeconds } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import type { ChainClient } from "./chain-client.ts";
import { PriceUnavailableError } from "./errors.ts";
import { freshPrice } from "./fresh-price.ts";

/**
 * US dollars for one ether by the on-chain feed, read at most a minute ago (decision 23).
 * @throws ChainUnavailableError, PriceUnavailableError
 */
export type EtherPrice = () => Promise<BigNumber>;

const MAX_AGE_MS = 60_000;
/** A price of this age is still given, and the next one is read meanwhile: short outages of the chain go unnoticed. */
const REFRESH_AGE_MS = 30_000;
const WRAPPED_ETHER = "WETH";

/** The price of ether, kept for at most a minute. Requests at the same moment share one reading. */
export function createEtherPrice(chains: Readonly<Record<Network, ChainClient>>, clock: Clock): EtherPrice {
  let known: { usd: BigNumber; readAt: number } | undefined;
  let reading: Promise<BigNumber> | undefined;

  async function read(): Promise<BigNumber> {
    const readAt = clock.now().getTime();
    const found = [MAINNET, ...NETWORKS]
      .map((network) => ({ chain: chains[network], token: chains[network].token(WRAPPED_ETHER) }))
      .find(({ token }) => token !== undefined);
    if (found?.token === undefined) throw new PriceUnavailableError("No network lists a token with a price of ether");
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
    // Its failure concerns nobody yet: the next call reads again.
    reading.catch(() => undefined);
    return Promise.resolve(known.usd);
  };
}
