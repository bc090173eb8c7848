import type { Connection } from "mongoose";

import type { ChainClient } from "../../chain/chain-client.ts";
import { CHAIN_TIME_MAX_AGE_MS, createChainTime } from "../../chain/chain-time.ts";
import { createPaymentChain } from "../../chain/payment-chain.ts";
import type { Network } from "../../config/constants.ts";
import type { Env } from "../../config/env.ts";
import { toUnixSeconds } from "../../lib/clock.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Metrics } from "../../lib/metrics.ts";
import { createMandateLedger } from "../mandates/ledger.ts";
import { leaseModel } from "../../jobs/lease.ts";
import { defineFeature } from "../feature.ts";
import { CLAIM_TIMINGS, Claims } from "./settling/claims.ts";
import type { ClaimTimings, CreditCalls } from "./settling/claims.ts";
import { PaymentCounters } from "./counters.ts";
import { BalanceCheck } from "./settling/balance-check.ts";
import { PaymentResponses } from "./offer/payment-responses.ts";
import { HttpFacilitator } from "./settling/facilitator.ts";
import type { Facilitator } from "./settling/facilitator.ts";
import { X402Gate } from "./gate.ts";
import { PaidCalls } from "./paid-calls.ts";
import { Repeats } from "./repeats.ts";
import { claimModel, keptAnswerModel, lastTransactionModel } from "./model.ts";
import type { ClaimRecord } from "./model.ts";
import { OwnFacilitator } from "./settling/own-facilitator.ts";
import type { OwnFacilitatorOptions } from "./settling/own-facilitator.ts";
import { Packs } from "./credits/packs.ts";
import { PayeeCheck } from "./offer/payee.ts";
import { Reservations } from "./settling/reserve.ts";
import { Bazaar } from "./catalogue/bazaar.ts";
import { bazaarRoutes } from "./catalogue/bazaar-routes.ts";
import type { BazaarDocuments } from "./catalogue/bazaar-routes.ts";
import { x402Routes } from "./credits/routes.ts";
import type { X402Deps } from "./credits/routes.ts";
import { Settlements } from "./settling/settlement.ts";
import { SettlementRecovery } from "./settling/settlement-recovery.ts";

export type { ClaimTimings } from "./settling/claims.ts";

/** Dependencies of the payments. */
export interface X402ModuleDeps {
  connection: Connection;
  chains: Readonly<Record<Network, Pick<ChainClient, "deployment" | "head" | "token">>>;
  env: Pick<Env, "x402" | "publicUrl" | "rpcUrls">;
  clock: Clock;
  log: Logger;
  metrics: Pick<Metrics, "addCounter">;
  timings: ClaimTimings;
  credit: CreditCalls;
  processId: string;
}

/** Payments per call and prepaid packs by x402. */
export const x402Module = defineFeature({
  routes: [...x402Routes, ...bazaarRoutes],
  timings: CLAIM_TIMINGS,
  create({ connection, chains, env, clock, log, metrics, timings, credit, processId }: X402ModuleDeps) {
    const { x402: settings, publicUrl, rpcUrls } = env;
    const { network, payTo, timeoutMs } = settings;
    const models = {
      claims: claimModel(connection),
      answers: keptAnswerModel(connection),
      lastTransactions: lastTransactionModel(connection),
    };
    const now = () => clock.now();
    const counters = new PaymentCounters(metrics);
    const onPaid = (claim: ClaimRecord) => {
      counters.paid(claim);
    };
    const { lastTransactions } = models;
    const ledger = createMandateLedger(connection);
    const claims = new Claims({
      connection,
      ledger,
      claims: models.claims,
      answers: models.answers,
      credit,
      onPaid,
      now,
      timings,
    });
    const chain = createPaymentChain({ network, rpcUrl: rpcUrls[network], deployment: chains[network].deployment });
    const facilitator = createFacilitator(env, { lastTransactions, leases: leaseModel(connection), processId });
    const settlements =
      facilitator === undefined
        ? undefined
        : new Settlements({
            chain,
            facilitator,
            log,
            noteTransaction: (claim, txHash) => claims.noteTransaction(claim, txHash),
            onOutcome(settlement) {
              counters.settlement(settlement);
            },
          });
    const packs = new Packs(settings);
    const responses = new PaymentResponses({
      settings,
      publicUrl,
      token: chains[network].token("USDC")?.address,
      settlesSigned: facilitator !== undefined,
    });
    const payee = payTo === undefined ? undefined : new PayeeCheck({ chain, payTo });
    const chainTime = createChainTime({ chain: chains[network], maxAgeMs: CHAIN_TIME_MAX_AGE_MS });
    const repeats = new Repeats({ network, responses, claims, now });
    const balance = new BalanceCheck({ claims, network, chain, timings });
    const gate = new X402Gate({
      settings,
      packs,
      responses,
      repeats,
      claims,
      ledger,
      reservations: new Reservations({ claims, chain, facilitator, now }),
      paidCalls: new PaidCalls({ responses, repeats, claims, balance, settlements, log }),
      requirePayee: async (signal) => payee?.require(signal),
      readClocks: async () => ({ chainTime: await chainTime.latest(), wallTime: toUnixSeconds(now()) }),
      now,
    });
    const recovery = new SettlementRecovery({ claims, settlements, log, timeoutMs });
    const startedAt = now();
    const seconds = toUnixSeconds(startedAt);
    const bazaar = new Bazaar({
      settings,
      packs,
      publicUrl,
      // Catalogues are for clients that sign.
      termsFor: (charge, path) =>
        settlements === undefined
          ? undefined
          : responses.termsFor(charge, path, { chainTime: seconds, wallTime: seconds }),
      startedAt,
    });
    const services: X402Deps & BazaarDocuments = { packs, bazaar };
    return {
      services,
      models,
      gate,
      loops: [recovery.loop],
      /** Finishes open settlements once. For tests, which don't run the loop. */
      finish: () => recovery.look(),
      /** @throws ConfigurationError if payments would go to the treasury */
      checkPayee: async () => payee?.atStart(),
    };
  },
});

type Shared = Pick<OwnFacilitatorOptions, "lastTransactions" | "leases" | "processId">;

function createFacilitator({ x402, rpcUrls }: X402ModuleDeps["env"], shared: Shared): Facilitator | undefined {
  const { network, facilitatorUrl, facilitatorKey, settlementKey: key, timeoutMs } = x402;
  if (facilitatorUrl !== null) return new HttpFacilitator({ url: facilitatorUrl, key: facilitatorKey, timeoutMs });
  if (key === undefined) return undefined;
  return new OwnFacilitator({ network, rpcUrl: rpcUrls[network], key, timeoutMs, ...shared });
}
