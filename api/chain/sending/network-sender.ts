import type { Address } from "viem";

import type { Network } from "../../config/constants.ts";
import { isDatabaseOutage } from "../../db/connection.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { ChainUnavailableError } from "../errors.ts";
import type { SendingChain } from "../sending-chain.ts";
import type { SendingRecord } from "./record.ts";
import { createSender } from "./sender.ts";
import type { Lane, SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import type { Work } from "./work.ts";

/** Records that one wallet signs for. */
export interface WalletLane {
  filter: Lane["filter"];
  /** Undefined where this service has no key. */
  from: Address | undefined;
}

/** Dependencies of the sending on one network. */
export interface NetworkSenderDeps<R extends SendingRecord> {
  /** `feature.verb`, for the loop. */
  name: string;
  network: Network;
  chain: SendingChain;
  work: Work<R>;
  store: SendingStore<R>;
  lanes: readonly WalletLane[];
  lease: Lease;
  log: Logger;
  now: () => Date;
  timings: SendingTimings;
}

/** The sending on one network. */
export interface NetworkSender {
  /** Looks once at everything that is due. @returns how many records it looked at */
  step(): Promise<number>;
  loop: BackgroundLoop;
}

/**
 * Looks at what is due, again and again. One process sends at a time, which saves work. The versions of the records keep
 * two from doing harm.
 */
export function createNetworkSender<R extends SendingRecord>(deps: NetworkSenderDeps<R>): NetworkSender {
  const { network, chain, work, store, lanes, lease, log, now, timings } = deps;
  const { noun } = work;
  const sender = createSender({ network, chain, work, store, log, now, timings });

  async function lookAt(record: R): Promise<void> {
    try {
      // The head of this look: an older one would make a new block look deeper than it is.
      await sender.look(record, await chain.head());
    } catch (error) {
      if (error instanceof ChainUnavailableError || isDatabaseOutage(error)) throw error;
      log.error({ err: error, ...work.factsOf(record) }, `couldn't look at a ${noun}`);
      await sender.postpone(record);
    }
  }

  /** How many records of a wallet may begin. At least one is looked at, because it may have ended in another way. */
  async function roomOf(from: Address | undefined): Promise<number | undefined> {
    if (from === undefined) return undefined;
    return Math.max(1, timings.maxInFlight - (await store.countUnmined({ network, from })));
  }

  /** Looks at records as long as this process has the lease; returns how many. */
  async function lookAtAll(due: readonly R[]): Promise<number> {
    for (const [looked, record] of due.entries()) {
      if (!(await lease.acquire())) return looked;
      await lookAt(record);
    }
    return due.length;
  }

  /** Looks at transactions in flight first: however many records are queued, these make the room. */
  async function step(): Promise<number> {
    if (!(await lease.acquire())) return 0;
    let looked = 0;
    for (const { filter, from } of lanes) {
      const lane = { network, filter };
      looked += await lookAtAll(await store.dueInFlight(lane));
      looked += await lookAtAll(await store.dueToSend(lane, await roomOf(from)));
    }
    return looked;
  }

  const loop = repeat({
    name: `${deps.name}.${network}`,
    async step() {
      await step();
      return timings.pollMs;
    },
    // After an outage a sender is back soon after another process could have taken its lease.
    retry: { ...timings.retry, maxMs: Math.min(timings.retry.maxMs, timings.leaseMs * 2) },
    failed: `couldn't send any ${noun}`,
    recovered: `each ${noun} is sent again`,
    lease,
    log,
  });
  return { step, loop };
}
