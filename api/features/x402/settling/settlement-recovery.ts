import type { Address } from "viem";

import { USDC_DOMAINS } from "../../../config/constants.ts";
import { repeat } from "../../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../../jobs/background-loop.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { Claims } from "./claims.ts";
import { isSigned } from "./settlement.ts";
import type { Settlements, SignedClaim } from "./settlement.ts";
import type { Terms } from "../offer/terms.ts";

/** Pause between passes, in milliseconds. */
const PAUSE_MS = 5_000;
/** First and longest pause after an outage, in milliseconds. */
const RETRY = { minMs: 5_000, maxMs: 60_000 };
/** Maximum number of claims in one pass. */
const BATCH = 20;
/** How long a pass keeps starting on further claims, in milliseconds. */
const LOOK_MS = 30_000;

/** Dependencies of the recovery. */
interface SettlementRecoveryDeps {
  claims: Claims;
  /** Undefined if signed payments can't be settled. */
  settlements: Settlements | undefined;
  log: Logger;
  /** How long one settlement may take, in milliseconds. */
  timeoutMs: number;
}

/**
 * Finishes settlements whose process was killed or whose outcome was unknown, for callers that don't return. The calls of a
 * paid pack are credited here at the latest, and what killed requests count against mandates is taken back. Several workers
 * may run it: a claim has one owner.
 */
export class SettlementRecovery {
  readonly loop: BackgroundLoop;
  readonly #deps: SettlementRecoveryDeps;

  constructor(deps: SettlementRecoveryDeps) {
    this.#deps = deps;
    this.loop = repeat({
      name: "x402.finish",
      step: async () => {
        await this.look();
        return PAUSE_MS;
      },
      retry: RETRY,
      failed: "couldn't finish x402 settlements",
      log: deps.log,
    });
  }

  /** Finishes the longest abandoned claims until the time is over. The next pass continues with the others. */
  async look(): Promise<void> {
    await this.#deps.claims.releaseCounts(BATCH);
    const end = performance.now() + LOOK_MS;
    if (this.#deps.settlements === undefined) return;
    for (const { _id } of await this.#deps.claims.findAbandoned(BATCH)) {
      if (performance.now() > end) return;
      await this.#finish(_id);
    }
  }

  async #finish(id: string): Promise<void> {
    const { claims, settlements, log, timeoutMs } = this.#deps;
    const claim = await claims.takeOver(id);
    if (claim === undefined || settlements === undefined || !isSigned(claim)) return;
    const settlement = await settlements.settle(claim, toTerms(claim), false, AbortSignal.timeout(timeoutMs));
    if (settlement.kind === "pending") await claims.endLease(claim);
    else if (settlement.kind === "settled") await claims.confirm(claim, "settled", settlement);
    else {
      log.warn({ claim: claim._id, reason: settlement.reason }, "an x402 payment for an answered call failed");
      await claims.release(claim);
    }
  }
}

/** The terms of a claim, without resource and description, which settling doesn't need. */
function toTerms({ network, token, payTo, amount }: SignedClaim): Terms {
  return {
    network,
    payTo: payTo as Address,
    amount: BigInt(amount),
    resource: "",
    description: "",
    token: { address: token as Address, ...USDC_DOMAINS[network] },
  };
}
