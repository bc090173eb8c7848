import { defineRoute } from "../../http/define-route.ts";
import { encodeCursor } from "../../http/query-params.ts";
import { presentMessage, presentUcpMessage } from "./presenter.ts";
import type { MessageReader } from "./reader.ts";
import {
  listQuery,
  messageAnswer,
  messageListAnswer,
  messageParams,
  pageQuery,
  readBody,
  sendBody,
  ucpAnswer,
  ucpBody,
  ucpListAnswer,
} from "./schemas.ts";
import type { MessageSender } from "./sender.ts";

/** Dependencies of the message routes. */
export interface MessageDeps {
  messageSender: MessageSender;
  messageReader: MessageReader;
}

const tag = "Messages";
const ID_PATH = "/api/v1/messages/{id}";
const UCP_PATH = "/api/v1/ucp/messages";
const sending = { tag, method: "POST", limitClass: "messageSend", budget: "message" } as const;
const reading = { tag, method: "GET", limitClass: "inboxRead", budget: "api" } as const;
const sendErrors = ["recipient_not_found", "not_found", "transaction_not_funded", "inbox_full"] as const;

const cursorOf = (next: string | null): string | null => (next === null ? null : encodeCursor({ after: next }));

const sendMessage = defineRoute({
  name: "messages.send",
  scope: "message",
  ...sending,
  auth: "apiKey",
  path: "/api/v1/messages",
  summary: "Sends a message to an agent, or to the subscribers of a topic",
  description:
    "Exactly one of `toAgentId` and `topic`, and exactly one of `body` and `encrypted`. " +
    "The recipient gets the event `message.received`. 409 `inbox_full` if it has 10,000 unread messages, or 1,000 from the " +
    "caller; a topic's subscriber with a full inbox gets the message as soon as there is room within 24 hours. " +
    "An encrypted retry sends the same ciphertext.",
  body: sendBody,
  responses: { 201: messageAnswer },
  errors: [...sendErrors, "encrypted_message_repeated", "intent_conflict", "indexer_unavailable"],
}).handle(async ({ body, caller, operation }, { messageSender }: MessageDeps) => {
  const message = await messageSender.send(caller.agentId, body, operation);
  return { status: 201, body: { success: true, data: presentMessage({ message, readAt: null }) } };
});

const listMessages = defineRoute({
  name: "messages.list",
  scope: "message",
  ...reading,
  auth: "apiKey",
  path: "/api/v1/messages",
  summary: "Lists the caller's inbox, or what it has sent, newest first",
  description: "Messages are kept for 90 days.",
  query: listQuery,
  responses: { 200: messageListAnswer },
}).handle(async ({ query, caller }, { messageReader }: MessageDeps) => {
  const { items, next } = await messageReader.list(caller.agentId, query);
  return { status: 200, body: { success: true, data: items.map(presentMessage), nextCursor: cursorOf(next) } };
});

const readMessage = defineRoute({
  name: "messages.read",
  scope: "message",
  ...reading,
  auth: "apiKey",
  path: ID_PATH,
  summary: "Reads a message",
  description: "Only its sender and its recipients can read it. Reading doesn't mark it as read.",
  params: messageParams,
  responses: { 200: messageAnswer },
  errors: ["not_found"],
}).handle(async ({ params, caller }, { messageReader }: MessageDeps) => ({
  status: 200,
  body: { success: true, data: presentMessage(await messageReader.read(caller.agentId, params.id)) },
}));

const markMessage = defineRoute({
  name: "messages.markRead",
  scope: "message",
  tag,
  method: "PATCH",
  limitClass: "general",
  budget: "api",
  auth: "apiKey",
  path: ID_PATH,
  summary: "Marks a message as read or unread",
  description: "The mark is the recipient's own: each subscriber of a topic has one. A repeat changes nothing.",
  params: messageParams,
  body: readBody,
  responses: { 200: messageAnswer },
  errors: ["not_found", "wrong_role"],
}).handle(async ({ params, body, caller }, { messageReader }: MessageDeps) => ({
  status: 200,
  body: { success: true, data: presentMessage(await messageReader.mark(caller.agentId, params.id, body.read)) },
}));

const sendUcpMessage = defineRoute({
  name: "ucpMessages.send",
  scope: "message",
  ...sending,
  auth: "bearerKey",
  path: UCP_PATH,
  summary: "Sends a ucp message",
  description:
    "Takes the key only as a bearer token. The sender is the owner of the key; `fromAgentId` in the body is ignored. The " +
    "recipient finds the message in its inbox too, as `application/ucp+json`.",
  body: ucpBody,
  responses: { 201: ucpAnswer },
  errors: sendErrors,
}).handle(async ({ body, caller, operation }, { messageSender }: MessageDeps) => {
  const message = await messageSender.sendUcp(caller.agentId, body, operation);
  return { status: 201, body: { success: true, data: presentUcpMessage(message) } };
});

const listUcpMessages = defineRoute({
  name: "ucpMessages.list",
  scope: "message",
  ...reading,
  auth: "bearerKey",
  path: UCP_PATH,
  summary: "Lists the ucp messages that the caller has sent or received, newest first",
  description: "Takes the key only as a bearer token.",
  query: pageQuery,
  responses: { 200: ucpListAnswer },
}).handle(async ({ query, caller }, { messageReader }: MessageDeps) => {
  const { items, next } = await messageReader.listUcp(caller.agentId, query);
  return { status: 200, body: { success: true, data: items.map(presentUcpMessage), nextCursor: cursorOf(next) } };
});

export const messageRoutes = [sendMessage, listMessages, readMessage, markMessage, listUcpMessages, sendUcpMessage];
