import type { ClientSession, Connection } from "mongoose";

import type { Deployment } from "../../../chain/deployment.ts";
import { NetworkSender } from "../../../chain/sending/network-sender.ts";
import type { SendingState } from "../../../chain/sending/record.ts";
import { SendingStore } from "../../../chain/sending/store.ts";
import { SENDING_TIMINGS } from "../../../chain/sending/timings.ts";
import type { SendingTimings } from "../../../chain/sending/timings.ts";
import { createSendingChain } from "../../../chain/sending-chain.ts";
import { createTransactionSigner } from "../../../chain/signer.ts";
import { NETWORKS } from "../../../config/constants.ts";
import type { Network } from "../../../config/constants.ts";
import type { ResolverKeys } from "../../../config/disputes.ts";
import type { RepeatedLoop } from "../../../jobs/background-loop.ts";
import { Lease, leaseModel } from "../../../jobs/lease.ts";
import { RESOLVED_BY } from "../../../indexer/schemas.ts";
import type { Logger } from "../../../lib/logger.ts";
import { rulingAbi } from "./calls.ts";
import { rulingTransactionModel } from "./model.ts";
import type { Ruling, RulingTransactionRecord } from "./model.ts";
import { createRulingQueue } from "./queue.ts";
import { createRulingWork } from "./work.ts";

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

/** The progress of a ruling on its way to the chain. */
export interface SendingProgress {
  state: SendingState;
  /** The transaction that resolved the dispute, or else the latest one that may be mined. */
  txHash: `0x${string}` | null;
  problem: string | null;
  /** Facts about the problem, for operators. */
  detail: string | null;
  /** When state or problem last changed. */
  since: Date;
}

export type RulingSending = ReturnType<typeof createRulingSending>;

/** Puts rulings on chain, each once. See docs/operating/sending.md. */
export function createRulingSending(deps: RulingSendingDeps) {
  const { connection, rpcUrls, deployments, keys, now, processId } = deps;
  const timings = { ...SENDING_TIMINGS, ...deps.timings };
  const model = rulingTransactionModel(connection);
  const leases = leaseModel(connection);
  const store = new SendingStore({ connection, model, now });
  const queue = createRulingQueue(model, now);

  function createNetwork(network: Network) {
    const log = deps.log.child({ network });
    const chain = createSendingChain({ network, rpcUrl: rpcUrls[network], abi: rulingAbi });
    const { system, admin } = keys[network];
    const signerOf = (key: `0x${string}` | undefined) =>
      key === undefined ? undefined : createTransactionSigner(network, key);
    const signers = { system: signerOf(system), admin: signerOf(admin) };
    const sender = new NetworkSender({
      name: "disputes.send-rulings",
      network,
      chain,
      store,
      log,
      now,
      timings,
      work: createRulingWork({ chain, deployment: deployments[network], signers }),
      lanes: RESOLVED_BY.map((role) => ({ filter: { role }, from: signers[role]?.address })),
      lease: new Lease({ leases, name: `disputes.send-rulings:${network}`, owner: processId, ttlMs: timings.leaseMs }),
    });
    const loop: RepeatedLoop = {
      ...sender.loop,
      run(signal) {
        if (system === undefined) log.warn("no key of the system's resolver: rulings wait until this service has one");
        return sender.loop.run(signal);
      },
    };
    return { step: () => sender.step(), loop };
  }

  const networks = {
    "base-sepolia": createNetwork("base-sepolia"),
    base: createNetwork("base"),
  };

  return {
    model,

    /** One loop for each network, to be woken when a record has changed. */
    loops: NETWORKS.map((network) => networks[network].loop),

    /** Looks once at everything that is due on a network. For tests. @returns how many rulings it looked at */
    step: (network: Network) => networks[network].step(),

    /**
     * Puts a ruling into the queue, in the transaction that records it.
     * @returns false if the dispute has a ruling
     * @throws MongoServerError (duplicate key) if another dispute of the same escrow has one
     */
    put: (ruling: Ruling, session: ClientSession): Promise<boolean> => queue.insert(ruling, session),

    /**
     * Replaces the system's ruling by an admin's, as long as no transaction of it can be mined.
     * @returns false if there is none that can be replaced
     */
    replace: (ruling: Ruling & { role: "admin" }, session: ClientSession): Promise<boolean> =>
      queue.replace(ruling, session),

    /** The progress of each of these disputes that has a ruling, by dispute id. */
    async readStates(disputeIds: readonly string[]): Promise<Map<string, SendingProgress>> {
      if (disputeIds.length === 0) return new Map();
      const found = await queue.findMany(disputeIds);
      return new Map(found.map((record) => [record._id, toProgress(record)]));
    },

    /** The rulings of a network that aren't on chain, for readiness and metrics. */
    waiting: (network: Network) => store.waiting(network),
  };
}

function toProgress(record: RulingTransactionRecord): SendingProgress {
  const { state, txHash, inFlight, attempts, problem, detail, since } = record;
  return { state, problem, detail, since, txHash: txHash ?? (inFlight ? attempts.at(-1)?.hash : undefined) ?? null };
}
