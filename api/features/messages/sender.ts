import type { ClientSession, Connection } from "mongoose";
import type { z } from "zod";

import { isDuplicateKey, withTransaction } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { Operation } from "../../http/operation.ts";
import type { Clock } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { Announcement, EventRecorder } from "../events/recorder.ts";
import { askedOf } from "../intents/intents.ts";
import type { Intent, Intents } from "../intents/intents.ts";
import { toInboxEntry, takePlace } from "./inboxes.ts";
import type { MessageModels, MessageRecord } from "./model.ts";
import { toEventBody } from "./presenter.ts";
import type { MessageReader } from "./reader.ts";
import type { sendBody, ucpBody } from "./schemas.ts";

/** The media type of a ucp message in the inbox. */
const UCP_CONTENT_TYPE = "application/ucp+json";

/** Dependencies of the sender. */
export interface MessageSenderDeps {
  connection: Connection;
  intents: Intents;
  models: MessageModels;
  reader: Pick<MessageReader, "read">;
  recorder: Pick<EventRecorder, "record">;
  clock: Clock;
  /** @throws ApiError `not_found` */
  findAgent: (agentId: string) => Promise<unknown>;
  /** Requires that an agent may refer to a transaction. @throws ApiError `not_found`, `transaction_not_funded` */
  findTransaction: (transactionId: string, agentId: string) => Promise<unknown>;
}

/** The announcement of a message to its recipients. */
export function receivedBy(message: MessageRecord, recipients: readonly string[]): Announcement {
  const orderKey = message.topic === null ? null : `topic:${message.topic}`;
  return {
    type: "message.received",
    record: { recordId: message._id, transactionId: message.transactionId, orderKey },
    body: toEventBody(message),
    incarnation: 0,
    recipients,
    targets: [],
    occurredAt: message.createdAt,
  };
}

/** Stores messages and ucp messages. The worker delivers a topic's messages to its subscribers. */
export class MessageSender {
  readonly #deps: MessageSenderDeps;
  readonly #messages;
  readonly #inboxEntries;
  readonly #topics;

  constructor(deps: MessageSenderDeps) {
    this.#deps = deps;
    this.#messages = deps.models.messages;
    this.#inboxEntries = deps.models.inboxEntries;
    this.#topics = deps.models.topics;
  }

  /**
   * @throws ApiError `recipient_not_found`, `not_found` for `replyTo` and `transactionId`, `transaction_not_funded`,
   * `inbox_full`, `encrypted_message_repeated`, `intent_conflict`
   */
  send(
    fromAgentId: string,
    { intentId, ...asked }: z.output<typeof sendBody>,
    operation: Operation,
  ): Promise<MessageRecord> {
    const { body, encrypted, contentType, ...fields } = asked;
    const { toAgentId = null, topic = null, replyTo = null, transactionId = null } = fields;
    const message: MessageRecord = {
      ...this.#base(fromAgentId, operation),
      toAgentId,
      topic,
      contentType,
      replyTo,
      transactionId,
      bodyJson: body === undefined ? null : JSON.stringify(body),
      encrypted: encrypted ?? null,
    };
    if (encrypted !== undefined) {
      const parts = [toAgentId, encrypted.ephemeralPublicKey, encrypted.iv];
      message.encryptionId = sha256Hex(parts.join("|"));
    }
    if (intentId === undefined) return this.#store(message, operation);
    return this.#store(message, operation, {
      agentId: fromAgentId,
      intentId,
      kind: "message",
      asked: askedOf(asked),
    });
  }

  /** Same errors as `send`. */
  sendUcp(
    fromAgentId: string,
    { toAgentId, type, payload }: z.output<typeof ucpBody>,
    operation: Operation,
  ): Promise<MessageRecord> {
    const message: MessageRecord = {
      ...this.#base(fromAgentId, operation),
      toAgentId,
      contentType: UCP_CONTENT_TYPE,
      bodyJson: JSON.stringify({ type, payload }),
      ucpType: type,
      ucpParties: [...new Set([fromAgentId, toAgentId])],
    };
    return this.#store(message, operation);
  }

  async #checkRecipient(toAgentId: string): Promise<void> {
    await this.#deps.findAgent(toAgentId).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === "not_found")
        throw new ApiError("recipient_not_found", { details: { toAgentId } });
      throw error;
    });
  }

  async #checkReferences({ fromAgentId, toAgentId, replyTo, transactionId }: MessageRecord): Promise<void> {
    if (replyTo !== null) {
      await named({ replyTo }, () => this.#deps.reader.read(fromAgentId, replyTo));
    }
    if (transactionId !== null && toAgentId !== null) {
      await named({ transactionId }, async () => {
        await this.#deps.findTransaction(transactionId, fromAgentId);
        await this.#deps.findTransaction(transactionId, toAgentId);
      });
    }
  }

  async #deliver(message: MessageRecord, toAgentId: string, session: ClientSession): Promise<void> {
    const seq = await takePlace(this.#deps.models, toAgentId, message.fromAgentId, session);
    if (seq === undefined) throw new ApiError("inbox_full");
    await this.#messages.create([message], { session });
    await this.#inboxEntries.create([toInboxEntry(message, toAgentId, seq)], { session });
    await this.#deps.recorder.record([receivedBy(message, [toAgentId])], session);
  }

  /** Stores a message in a topic. The worker delivers it later, so subscribers don't delay publishers. */
  async #publish(message: MessageRecord, topic: string, session: ClientSession): Promise<MessageRecord> {
    const { seq } = await this.#topics
      .findOneAndUpdate(
        { _id: topic },
        [
          {
            $set: {
              seq: { $add: [{ $ifNull: ["$seq", 0] }, 1] },
              holder: { $ifNull: ["$holder", null] },
              retryAt: { $ifNull: ["$retryAt", null] },
              // A running turn checks for new messages before it ends.
              dueAt: { $cond: [{ $gt: ["$holder", null] }, "$dueAt", "$$NOW"] },
            },
          },
        ],
        { upsert: true, returnDocument: "after", updatePipeline: true, session },
      )
      .lean()
      .orFail();
    const published = { ...message, topicSeq: seq };
    await this.#messages.create([published], { session });
    return published;
  }

  /** The message of an intent; undefined if there is none yet. @throws ApiError `intent_conflict` */
  async #sentFor(intent: Intent | undefined): Promise<MessageRecord | undefined> {
    if (intent === undefined) return undefined;
    return this.#deps.intents.recordOf(intent, (id) => this.#messages.findById(id).lean());
  }

  async #store(message: MessageRecord, operation: Operation, intent?: Intent): Promise<MessageRecord> {
    const { _id, toAgentId, topic, createdAt } = message;
    const same = await this.#sentFor(intent);
    if (same !== undefined) return same;
    const earlier = operation.isRepeat ? await this.#messages.findById(_id).lean() : null;
    if (earlier !== null) return earlier;
    if (toAgentId !== null) await this.#checkRecipient(toAgentId);
    await this.#checkReferences(message);
    try {
      return await withTransaction(this.#deps.connection, async (session) => {
        if (intent !== undefined) await this.#deps.intents.claim(intent, _id, createdAt, session);
        if (topic !== null) return this.#publish(message, topic, session);
        if (toAgentId !== null) await this.#deliver(message, toAgentId, session);
        return message;
      });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // Another process ran the same operation, or a request for the same intent, while this one was paused.
      const sent = (await this.#sentFor(intent)) ?? (await this.#messages.findById(_id).lean());
      if (sent !== null) return sent;
      if (isDuplicateKey(error, "encryptionId")) throw new ApiError("encrypted_message_repeated");
      throw error;
    }
  }

  #base(fromAgentId: string, operation: Operation) {
    const createdAt = this.#deps.clock.now();
    return {
      _id: operation.newId("msg", createdAt),
      fromAgentId,
      createdAt,
      topic: null,
      topicSeq: null,
      encrypted: null,
      replyTo: null,
      transactionId: null,
    };
  }
}

/** Adds the missing reference to the details of a `not_found`. */
async function named(reference: Record<string, string>, find: () => Promise<unknown>): Promise<void> {
  try {
    await find();
  } catch (error) {
    if (error instanceof ApiError && error.code === "not_found") {
      throw new ApiError("not_found", { details: reference });
    }
    throw error;
  }
}
