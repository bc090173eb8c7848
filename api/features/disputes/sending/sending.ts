import { setTimeout as sleep } from "node:timers/promises";

import type { ClientSession, Connection } from "mongoose";

import type { Deployment } from "../../../chain/deployment.ts";
import { ChainUnavailableError } from "../../../chain/errors.ts";
import { createSendingChain } from "../../../chain/sending-chain.ts";
import { createTransactionSigner } from "../../../chain/signer.ts";
import { NETWORKS } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import type { ResolverKeys } from "../../../config/disputes.ts";
import { isDatabaseOutage } from "../../../db/connection.ts";
import type { BackgroundLoop } from "../../../jobs/background-loop.ts";
import { createLease, leaseModel } from "../../../jobs/lease.ts";
import { RESOLVED_BY } from "../../../indexer/schemas.ts";
import type { ResolvedBy } from "../../../indexer/schemas.ts";
import type { Logger } from "../../../lib/logger.ts";
import { pauseAfter } from "../../../lib/retry.ts";
import { rulingAbi } from "./calls.ts";
import { rulingTransactionModel } from "./model.ts";
import type { Ruling, RulingState, RulingTransactionRecord } from "./model.ts";
import type { Problem } from "./problems.ts";
import { createSender } from "./sender.ts";
import { createRulingStore } from "./store.ts";
import { SENDING_TIMINGS } from "./timings.ts";
import type { SendingTimings } from "./timings.ts";

/** Dependencies of the sending of rulings. */
export interface RulingSendingDeps {
  connection: Connection;
  rpcUrls: Readonly<Record<Network, string>>;
  deployments: Readonly<Record<Network, Pick<Deployment, "escrow" | "resolver">>>;
  keys: Readonly<Record<Network, ResolverKeys>>;
  log: Logger;
  now: () => Date;
  /** Names this process among those that share the database. */
  processId: string;
  timings?: Partial<SendingTimings>;
}

/** Where a ruling is on its way to the chain. */
export interface RulingProgress {
  state: RulingState;
  /** The transaction that resolved the dispute, or else the latest one that may be mined. */
  txHash: `0x${string}` | null;
  problem: Problem | null;
  /** When state or problem last changed. */
  since: Date;
}

/** Rulings of a network that aren't on chain. */
export interface WaitingRulings {
  count: number;
  /** When the oldest was put; null if none waits. */
  oldest: Date | null;
  /** How many have each problem. */
  problems: Partial<Record<Problem, number>>;
}

export type RulingSending = ReturnType<typeof createRulingSending>;

/** Puts rulings on chain, each once (decision 8). See docs/ruling-transactions.md. */
export function createRulingSending(deps: RulingSendingDeps) {
  const { connection, rpcUrls, deployments, keys, now, processId } = deps;
  const timings = { ...SENDING_TIMINGS, ...deps.timings };
  const model = rulingTransactionModel(connection);
  const leases = leaseModel(connection);
  const store = createRulingStore(model, now);

  function createNetwork(network: Network) {
    const log = deps.log.child({ network });
    const chain = createSendingChain({ network, rpcUrl: rpcUrls[network], abi: rulingAbi });
    const { system, admin } = keys[network];
    const signerOf = (key: `0x${string}` | undefined) =>
      key === undefined ? undefined : createTransactionSigner(network, key);
    const signers = { system: signerOf(system), admin: signerOf(admin) };
    const sender = createSender({
      ...{ network, chain, store, signers, log, now, timings },
      deployment: deployments[network],
    });
    // One process sends at a time, which saves work. The versions of the records keep two from doing harm.
    const lease = createLease(leases, `disputes.send-rulings:${network}`, processId, timings.leaseMs);

    async function lookAt(record: RulingTransactionRecord): Promise<void> {
      try {
        // The head of this look: an older one would make a new block look deeper than it is.
        await sender.look(record, await chain.head());
      } catch (error) {
        if (error instanceof ChainUnavailableError || isDatabaseOutage(error)) throw error;
        log.error({ err: error, disputeId: record._id }, "couldn't look at a ruling");
        await sender.postpone(record);
      }
    }

    /** How many rulings of a role may begin. At least one is looked at, because it may have ended in another way. */
    async function roomOf(role: ResolvedBy): Promise<number | undefined> {
      const from = signers[role]?.address;
      if (from === undefined) return undefined;
      return Math.max(1, timings.maxInFlight - (await store.countUnmined({ network, from })));
    }

    /** Looks at rulings as long as this process has the lease; returns how many. */
    async function lookAtAll(due: readonly RulingTransactionRecord[]): Promise<number> {
      for (const [looked, record] of due.entries()) {
        if (!(await lease.acquire())) return looked;
        await lookAt(record);
      }
      return due.length;
    }

    /**
     * Looks at transactions in flight first: however many rulings are queued, these make the room.
     * @returns how many rulings it looked at
     */
    async function step(): Promise<number> {
      if (!(await lease.acquire())) return 0;
      let looked = 0;
      for (const role of RESOLVED_BY) {
        looked += await lookAtAll(await store.dueInFlight(network, role));
        looked += await lookAtAll(await store.dueToSend(network, role, await roomOf(role)));
      }
      return looked;
    }

    const loop: BackgroundLoop = {
      name: `disputes.send-rulings.${network}`,
      async run(signal) {
        if (system === undefined) log.warn("no key of the system's resolver: rulings wait until this service has one");
        let failures = 0;
        while (!signal.aborted) {
          let pauseMs = timings.pollMs;
          try {
            await step();
            if (failures > 0) log.info("rulings are sent again");
            failures = 0;
          } catch (error) {
            pauseMs = Math.min(pauseAfter(failures, timings.retry), timings.leaseMs * 2);
            failures += 1;
            log.error({ err: error, failures, pauseMs }, "couldn't send rulings; trying again");
          }
          await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
        }
        // Without the database the lease expires by itself.
        await lease.release().catch(() => undefined);
      },
    };
    return { step, loop };
  }

  const networks: Readonly<Record<Network, ReturnType<typeof createNetwork>>> = {
    "base-sepolia": createNetwork("base-sepolia"),
    base: createNetwork("base"),
  };

  return {
    model,

    /** One loop for each network. */
    loops: NETWORKS.map((network) => networks[network].loop),

    /** Looks once at everything that is due on a network. For tests. @returns how many rulings it looked at */
    step: (network: Network) => networks[network].step(),

    /**
     * Puts a ruling into the queue, in the transaction that records it.
     * @returns false if the dispute has a ruling
     * @throws MongoServerError (duplicate key) if another dispute of the same escrow has one
     */
    put: (ruling: Ruling, session: ClientSession): Promise<boolean> => store.insert(ruling, session),

    /**
     * Replaces the system's ruling by an admin's, as long as no transaction of it can be mined.
     * @returns false if there is none that can be replaced
     */
    replace: (ruling: Ruling & { role: "admin" }, session: ClientSession): Promise<boolean> =>
      store.replace(ruling, session),

    /** The progress of each of these disputes that has a ruling, by dispute id. */
    async statesOf(disputeIds: readonly string[]): Promise<Map<string, RulingProgress>> {
      if (disputeIds.length === 0) return new Map();
      const found = await store.findMany(disputeIds);
      return new Map(found.map((record) => [record._id, progressOf(record)]));
    },

    /** The rulings of a network that aren't on chain, for readiness and metrics. */
    async waiting(network: Network): Promise<WaitingRulings> {
      const waiting: WaitingRulings = { count: 0, oldest: null, problems: {} };
      for (const { _id: problem, count, oldest } of await store.waiting(network)) {
        waiting.count += count;
        if (waiting.oldest === null || oldest < waiting.oldest) waiting.oldest = oldest;
        if (problem !== null) waiting.problems[problem] = count;
      }
      return waiting;
    },
  };
}

function progressOf({ state, txHash, inFlight, attempts, problem, since }: RulingTransactionRecord): RulingProgress {
  return { state, problem, since, txHash: txHash ?? (inFlight ? attempts.at(-1)?.hash : undefined) ?? null };
}
