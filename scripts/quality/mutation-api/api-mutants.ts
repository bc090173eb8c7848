import type { ApiMutant } from "./api-mutant.ts";
import { ANALYTICS_FAULTS } from "./analytics.ts";
import { BEFORE_FUNDING_FAULTS } from "./before-funding.ts";
import { CONNECTION_FAULTS } from "./connections.ts";
import { DEAL_FAULTS } from "./deals.ts";
import { DECLINE_FAULTS } from "./declines.ts";
import { DISPUTE_FAULTS } from "./disputes.ts";
import { DOOR_FAULTS } from "./door.ts";
import { EMBEDDING_FAULTS } from "./embeddings.ts";
import { EVENT_FAULTS } from "./events.ts";
import { FIRST_CONTACT_FAULTS } from "./first-contact.ts";
import { FOLLOWER_FAULTS } from "./follower.ts";
import { IDENTITY_FAULTS } from "./identities.ts";
import { INTENT_FAULTS } from "./intents.ts";
import { KEEPER_FAULTS } from "./keeper.ts";
import { LIST_FAULTS } from "./lists.ts";
import { MANDATE_FAULTS } from "./mandates.ts";
import { MARKET_FAULTS } from "./market.ts";
import { SEARCH_FAULTS } from "./search.ts";
import { MESSAGE_FAULTS } from "./messages.ts";
import { MODERATION_FAULTS } from "./moderation.ts";
import { MOVE_FAULTS } from "./moves.ts";
import { OPERATION_FAULTS } from "./operation.ts";
import { PAID_REPEAT_FAULTS } from "./paid-repeats.ts";
import { PAYMENT_FAULTS } from "./payments.ts";
import { RECONCILIATION_FAULTS } from "./reconciliation.ts";
import { SENDING_FAULTS } from "./sending.ts";
import { SESSION_FAULTS } from "./sessions.ts";
import { TEXT_FAULTS } from "./texts.ts";

/** The faults that the API's tests must find. */
export const API_MUTANTS: readonly ApiMutant[] = [
  ...DOOR_FAULTS,
  ...CONNECTION_FAULTS,
  ...MARKET_FAULTS,
  ...MANDATE_FAULTS,
  ...SESSION_FAULTS,
  ...SEARCH_FAULTS,
  ...DEAL_FAULTS,
  ...BEFORE_FUNDING_FAULTS,
  ...FIRST_CONTACT_FAULTS,
  ...DECLINE_FAULTS,
  ...IDENTITY_FAULTS,
  ...INTENT_FAULTS,
  ...MODERATION_FAULTS,
  ...MOVE_FAULTS,
  ...PAYMENT_FAULTS,
  ...PAID_REPEAT_FAULTS,
  ...DISPUTE_FAULTS,
  ...KEEPER_FAULTS,
  ...EVENT_FAULTS,
  ...MESSAGE_FAULTS,
  ...ANALYTICS_FAULTS,
  ...EMBEDDING_FAULTS,
  ...RECONCILIATION_FAULTS,
  ...FOLLOWER_FAULTS,
  ...LIST_FAULTS,
  ...SENDING_FAULTS,
  ...OPERATION_FAULTS,
  ...TEXT_FAULTS,
];
