import type { Address } from "viem";

import type { Network } from "../../config/constants.ts";
import { isDatabaseOutage } from "../../db/connection.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { RepeatedLoop } from "../../jobs/background-loop.ts";
import type { Lease } from "../../jobs/lease.ts";
import type { Logger } from "../../lib/logger.ts";
import { ChainUnavailableError } from "../errors.ts";
import type { SendingChain } from "../sending-chain.ts";
import type { SendingRecord } from "./record.ts";
import { Sender } from "./sender.ts";
import type { Lane, SendingStore } from "./store.ts";
import type { SendingTimings } from "./timings.ts";
import type { Work } from "./work.ts";

/** Records that one wallet signs for. */
export interface WalletLane {
  filter: Lane["filter"];
  /** Undefined where this service has no key. */
  from: Address | undefined;
}

/** While nothing is due, the pause is this many times longer. */
const IDLE_FACTOR = 5;

/** Dependencies of the sending on one network. */
interface NetworkSenderDeps<R extends SendingRecord> {
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

/**
 * Looks at what is due on one network, again and again. One process sends at a time, which saves work. The versions of the
 * records keep two from doing harm.
 */
export class NetworkSender<R extends SendingRecord> {
  /** To be woken when a record has changed. */
  readonly loop: RepeatedLoop;
  readonly #deps: NetworkSenderDeps<R>;
  readonly #sender: Sender<R>;

  constructor(deps: NetworkSenderDeps<R>) {
    const { name, network, work, lease, log, timings } = deps;
    this.#deps = deps;
    this.#sender = new Sender(deps);
    this.loop = repeat({
      name: `${name}.${network}`,
      step: async () => {
        const dueInMs = await this.#dueInMs();
        if (dueInMs > 0) return Math.min(dueInMs, IDLE_FACTOR * timings.pollMs);
        await this.step();
        return timings.pollMs;
      },
      // After an outage a sender is back soon after another process could have taken its lease.
      retry: { ...timings.retry, maxMs: Math.min(timings.retry.maxMs, timings.leaseMs * 2) },
      failed: `couldn't send any ${work.noun}`,
      recovered: `each ${work.noun} is sent again`,
      lease,
      log,
    });
  }

  /**
   * Looks once at everything that is due. Transactions in flight come first: however many records are queued, these make the
   * room.
   * @returns how many records it looked at
   */
  async step(): Promise<number> {
    const { network, store, lanes, lease } = this.#deps;
    if (!(await lease.acquire())) return 0;
    let looked = 0;
    for (const { filter, from } of lanes) {
      const lane = { network, filter };
      looked += await this.#lookAtAll(await store.dueInFlight(lane));
      looked += await this.#lookAtAll(await store.dueToSend(lane, await this.#roomOf(from)));
    }
    return looked;
  }

  async #dueInMs(): Promise<number> {
    const next = await this.#deps.store.nextDueAt(this.#deps.network);
    return next === undefined ? Infinity : next.getTime() - this.#deps.now().getTime();
  }

  /** Looks at records as long as this process has the lease; returns how many. */
  async #lookAtAll(due: readonly R[]): Promise<number> {
    for (const [looked, record] of due.entries()) {
      if (!(await this.#deps.lease.acquire())) return looked;
      await this.#lookAt(record);
    }
    return due.length;
  }

  async #lookAt(record: R): Promise<void> {
    const { chain, work, log } = this.#deps;
    try {
      // The head of this look: an older one would make a new block look deeper than it is.
      await this.#sender.look(record, await chain.head());
    } catch (error) {
      if (error instanceof ChainUnavailableError || isDatabaseOutage(error)) throw error;
      log.error({ err: error, ...work.factsOf(record) }, `couldn't look at a ${work.noun}`);
      await this.#sender.postpone(record);
    }
  }

  /** How many records of a wallet may begin. At least one is looked at, because it may have ended in another way. */
  async #roomOf(from: Address | undefined): Promise<number | undefined> {
    const { network, store, timings } = this.#deps;
    if (from === undefined) return undefined;
    return Math.max(1, timings.maxInFlight - (await store.countUnmined({ network, from })));
  }
}
