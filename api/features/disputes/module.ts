import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { createChainTime } from "../../chain/chain-time.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import type { DisputeSettings } from "../../config/disputes.ts";
import type { Changes } from "../../jobs/change-loop.ts";
import type { Logger } from "../../lib/logger.ts";
import { createCriteriaEvaluator } from "../criteria/evaluator.ts";
import type { CriteriaEvaluator } from "../criteria/evaluator.ts";
import { defineFeature } from "../feature.ts";
import type { SentenceEncoder } from "../../search/embedding/encoder.ts";
import { transactionModel } from "../transactions/model.ts";
import type { TransactionModel } from "../transactions/model.ts";
import type { TransactionReader } from "../transactions/reader.ts";
import { createHostResolver } from "../../outbound/host-resolver.ts";
import { createAdminRuling } from "./admin.ts";
import { DisputeStore } from "./dispute-store.ts";
import { createAttachmentFetcher } from "./judging/attachments.ts";
import { createJudge } from "./judging/judge.ts";
import { disputeModel } from "./model.ts";
import { OpenDisputes } from "./open-disputes.ts";
import { openDisputeRoutes } from "./open-routes.ts";
import type { OpenDisputeDeps } from "./open-routes.ts";
import type { RulingProgress } from "./ports.ts";
import { disputeRoutes } from "./routes.ts";
import type { DisputeDeps } from "./routes.ts";
import { Ruler, RULER_TIMINGS } from "./ruler.ts";
import type { RulerTimings } from "./ruler.ts";
import { createRulings } from "./rulings.ts";
import { createRulingSending } from "./sending/sending.ts";
import type { SendingTimings } from "../../chain/sending/timings.ts";
import { DisputeService } from "./service.ts";
import { createWithdrawal } from "./withdrawal.ts";
import { verifyRuling } from "./verification.ts";
import type { Finding, VerificationOptions } from "./verification.ts";

export { NothingToVerifyError } from "./verification.ts";
export type { Finding } from "./verification.ts";

/** Verifies rulings, for the operator's command. */
export function rulingVerification(
  connection: Connection,
  options: Pick<VerificationOptions, "chains">,
): { verify(disputeId: string): Promise<Finding[]>; close(): Promise<void> } {
  const evaluator = createCriteriaEvaluator();
  const models = { disputes: disputeModel(connection), transactions: transactionModel(connection) };
  return {
    verify: (disputeId) => verifyRuling(disputeId, { ...models, ...options, evaluator }),
    close: () => evaluator.close(),
  };
}

/** Durations of judging and of sending rulings. Tests shorten them. */
export type DisputeTimings = RulerTimings & { rulingSending: Partial<SendingTimings> };

const DISPUTE_TIMINGS: DisputeTimings = { ...RULER_TIMINGS, rulingSending: {} };

/** Dependencies of the disputes feature. */
export interface DisputesModuleDeps {
  connection: Connection;
  changes: Pick<Changes, "on">;
  chains: Readonly<Record<Network, ChainClient>>;
  transactions: TransactionModel;
  reader: TransactionReader;
  evaluator: CriteriaEvaluator;
  encoder: SentenceEncoder;
  settings: DisputeSettings;
  rpcUrls: Readonly<Record<Network, string>>;
  /** Private hosts and addresses that the address check allows. */
  allowedPrivateHosts: readonly string[];
  now: () => Date;
  log: Logger;
  /** Names this process in leases. */
  processId: string;
  timings: DisputeTimings & { chainTimeMaxAgeMs: number };
}

/** Seconds after the evidence period at which a ruling that isn't on chain is overdue. */
const OVERDUE_SECONDS = 600;

/** Disputes: the parties' submissions, the ruling, and sending it to the chain. */
export const disputesModule = defineFeature({
  routes: [...disputeRoutes, ...openDisputeRoutes],
  timings: DISPUTE_TIMINGS,
  create({
    connection,
    chains,
    transactions,
    reader,
    evaluator,
    settings,
    now,
    log,
    timings,
    ...options
  }: DisputesModuleDeps) {
    const disputes = disputeModel(connection);
    const judge = createJudge({
      encoder: options.encoder,
      model: settings.model,
      log,
      attachments: settings.fetchesAttachments
        ? createAttachmentFetcher({
            resolve: createHostResolver({ systemHosts: options.allowedPrivateHosts }),
            allowedPrivateHosts: options.allowedPrivateHosts,
          })
        : undefined,
    });
    const sending = createRulingSending({
      connection,
      log,
      now,
      processId: options.processId,
      rpcUrls: options.rpcUrls,
      deployments: { "base-sepolia": chains["base-sepolia"].deployment, base: chains.base.deployment },
      keys: settings.resolverKeys,
      timings: timings.rulingSending,
    });
    const progress: RulingProgress = {
      async of(disputeId) {
        return (await sending.readStates([disputeId])).get(disputeId);
      },
      hasKey: (network, role) => settings.resolverKeys[network][role] !== undefined,
    };
    const disputeStore = new DisputeStore({ disputes, evidenceSeconds: settings.evidenceSeconds, now });
    const store = createRulings({ connection, disputes, transactions, sending, reader, now });
    const withdrawIfGone = createWithdrawal({ connection, disputes, transactions, reader, now });
    const chainTimeOf = (network: Network) =>
      createChainTime({ chain: chains[network], maxAgeMs: timings.chainTimeMaxAgeMs });
    const chainTimes = { "base-sepolia": chainTimeOf("base-sepolia"), base: chainTimeOf("base") };
    const createRuler = (network: Network) =>
      new Ruler({
        network,
        disputes,
        transactions,
        evaluator,
        judge,
        store,
        withdrawIfGone,
        now,
        log,
        timings,
        chainTime: chainTimes[network],
      });
    const rulers = { "base-sepolia": createRuler("base-sepolia"), base: createRuler("base") };
    options.changes.on(disputes, () => {
      for (const network of NETWORKS) rulers[network].loop.wake();
    });
    options.changes.on(sending.model, () => {
      for (const loop of sending.loops) loop.wake();
    });
    const services: DisputeDeps & OpenDisputeDeps = {
      openDisputes: new OpenDisputes({ disputes, sending }),
      disputes: new DisputeService({ disputes, store: disputeStore, reader, chains, progress, now }),
      adminRuling: createAdminRuling({ disputes, transactions, evaluator, store, progress, chains, chainTimes, now }),
    };
    return {
      services,
      store: disputeStore,
      rulers,
      models: { disputes },
      loops: [...NETWORKS.map((network) => rulers[network].loop), ...sending.loops],
      /** Counts the overdue and held rulings of a network, for readiness and metrics. */
      async delays(network: Network) {
        const chainNow = await reader.chainNow(network);
        const [overdue, waiting] = await Promise.all([
          disputeStore.overdue(network, { graceSeconds: OVERDUE_SECONDS, chainNow }),
          sending.waiting(network),
        ]);
        return { overdue: overdue.count, oldestSeconds: overdue.oldestSeconds, held: waiting.problems };
      },
    };
  },
});
