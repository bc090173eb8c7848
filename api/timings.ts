import { MARKET_TIMINGS } from "./features/analytics/module.ts";
import type { MarketTimings } from "./features/analytics/module.ts";
import { FOLLOWER_TIMINGS } from "./features/chain-follower/module.ts";
import type { FollowerTimings } from "./features/chain-follower/module.ts";
import { MAIL_TIMINGS } from "./features/developer/module.ts";
import type { MailTimings } from "./features/developer/module.ts";
import { DISPUTE_TIMINGS } from "./features/disputes/module.ts";
import type { DisputeTimings } from "./features/disputes/module.ts";
import { STREAM_TIMINGS } from "./features/events/module.ts";
import type { StreamTimings } from "./features/events/module.ts";
import { STATEMENT_TIMINGS } from "./features/fees/module.ts";
import type { StatementTimings } from "./features/fees/module.ts";
import { IDEMPOTENCY_TIMINGS } from "./features/idempotency/module.ts";
import type { IdempotencyTimings } from "./features/idempotency/module.ts";
import { KEEPER_TIMINGS } from "./features/keeper/module.ts";
import type { KeeperTimings } from "./features/keeper/module.ts";
import { FAN_OUT_TIMINGS } from "./features/messages/module.ts";
import type { FanOutTimings } from "./features/messages/module.ts";
import { OUTBOX_TIMINGS } from "./features/outbox/module.ts";
import type { OutboxTimings } from "./features/outbox/module.ts";
import { RECONCILIATION_TIMINGS } from "./features/reconciliation/module.ts";
import type { ReconciliationTimings } from "./features/reconciliation/module.ts";
import { TRANSACTION_TIMINGS } from "./features/transactions/module.ts";
import type { TransactionTimings } from "./features/transactions/module.ts";
import { CLAIM_TIMINGS } from "./features/x402/module.ts";
import type { ClaimTimings } from "./features/x402/module.ts";
import { PIPELINE_TIMINGS } from "./http/pipeline.ts";
import type { PipelineTimings } from "./http/pipeline.ts";

/** Durations for waits and background work. Tests shorten them. */
export type Timings = TransactionTimings &
  FollowerTimings &
  OutboxTimings &
  IdempotencyTimings &
  ClaimTimings &
  MailTimings &
  DisputeTimings &
  KeeperTimings &
  ReconciliationTimings &
  FanOutTimings &
  StreamTimings &
  MarketTimings &
  StatementTimings &
  PipelineTimings;

/** The default timings. */
export const TIMINGS: Timings = {
  ...TRANSACTION_TIMINGS,
  ...FOLLOWER_TIMINGS,
  ...OUTBOX_TIMINGS,
  ...IDEMPOTENCY_TIMINGS,
  ...CLAIM_TIMINGS,
  ...MAIL_TIMINGS,
  ...DISPUTE_TIMINGS,
  ...KEEPER_TIMINGS,
  ...RECONCILIATION_TIMINGS,
  ...FAN_OUT_TIMINGS,
  ...STREAM_TIMINGS,
  ...MARKET_TIMINGS,
  ...STATEMENT_TIMINGS,
  ...PIPELINE_TIMINGS,
};
