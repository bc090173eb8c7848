import type { z } from "zod";

import type { EventBody } from "../events/recorder.ts";
import type { MessageRecord } from "./model.ts";
import type { messageAnswer, ucpAnswer } from "./schemas.ts";

/** A message with the caller's read mark; null for its sender. */
export interface ReadMessage {
  message: MessageRecord;
  readAt: Date | null;
}

/** The recipient of a direct message, or the topic of a published one. */
function addressOf({ toAgentId, topic, topicSeq }: MessageRecord) {
  return {
    ...(toAgentId === null ? {} : { toAgentId }),
    ...(topic === null || topicSeq === null ? {} : { topic, topicSeq }),
  };
}

function toContent({ bodyJson, encrypted }: MessageRecord) {
  return {
    ...(bodyJson === null ? {} : { body: JSON.parse(bodyJson) as unknown }),
    ...(encrypted === null ? {} : { encrypted }),
  };
}

/** A message as the API answers it. */
export function presentMessage({ message, readAt }: ReadMessage): z.input<typeof messageAnswer>["data"] {
  const { _id, fromAgentId, contentType, replyTo, transactionId, createdAt } = message;
  return {
    id: _id,
    fromAgentId,
    ...addressOf(message),
    contentType,
    ...toContent(message),
    replyTo,
    transactionId,
    readAt: readAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}

/** A ucp message as the API answers it. */
export function presentUcpMessage(message: MessageRecord): z.input<typeof ucpAnswer>["data"] {
  const { payload } = JSON.parse(message.bodyJson ?? "{}") as { payload: Record<string, unknown> };
  return {
    id: message._id,
    type: message.ucpType ?? "",
    fromAgentId: message.fromAgentId,
    toAgentId: message.toAgentId ?? "",
    payload,
    createdAt: message.createdAt.toISOString(),
  };
}

/**
 * Body of `message.received`.
 * @param hasContent false once the message has been deleted: the log keeps the event without its content
 */
export function toEventBody(message: MessageRecord, hasContent = true): EventBody {
  return {
    event: "message.received",
    messageId: message._id,
    fromAgentId: message.fromAgentId,
    ...addressOf(message),
    contentType: message.contentType,
    ...(hasContent ? toContent(message) : {}),
    replyTo: message.replyTo,
    ...(message.transactionId === null ? {} : { transactionId: message.transactionId }),
    createdAt: message.createdAt.toISOString(),
  };
}
