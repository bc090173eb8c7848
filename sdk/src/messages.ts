import { publicKeyToAddress } from "viem/accounts";
import type { Address, Hex } from "viem";

import { segment } from "./arguments.ts";
import { decrypt, encryptFor, memoryReplayStore } from "./encryption.ts";
import type { EncryptedContent, ReplayStore } from "./encryption.ts";
import { RefusedError } from "./errors.ts";
import type * as wire from "./generated/api-types.ts";
import type { CallOptions, CreateOptions, Http } from "./http.ts";
import { paginate } from "./pagination.ts";
import type { Page } from "./pagination.ts";

/** A message to an agent or a topic. */
export type Message = Omit<wire.Message, "encrypted"> & { encrypted?: EncryptedContent };
/** A new message to `toAgentId` or `topic`. */
export type NewMessage = Omit<wire.MessagesSendData["body"], "encrypted">;
/** A new encrypted message to one agent. */
export interface NewSecret {
  toAgentId: string;
  /** A text, or any JSON. */
  body: unknown;
  /** By default `text/plain` for a text, otherwise `application/json`. */
  contentType?: string;
  replyTo?: string;
  transactionId?: string;
}
/** Filters of the inbox. */
export interface InboxFilter {
  /** Only unread or only read messages. */
  unread?: boolean;
  /** Sender. */
  from?: string;
  topic?: string;
  /** Messages per request. */
  limit?: number;
}
/** A subscription to a topic. */
export type TopicSubscription = wire.TopicSubscription;
/** A registered webhook. */
export type RegisteredWebhook = wire.Webhook;
/** A ucp message. */
export type UcpMessage = wire.UcpMessage;

/** Where the recipient's key comes from. */
export interface SecretOptions extends CreateOptions {
  /** A key known from elsewhere; by default the service is asked. */
  publicKey?: Hex;
  /** The wallet that the recipient's key must belong to. */
  walletAddress?: Address;
}

const PATH = "/api/v1/messages";
const UCP_PATH = "/api/v1/ucp/messages";

/** An agent's messages: direct, by topic, and encrypted end to end. */
export class Messages {
  readonly #http: Http;
  readonly #seen: ReplayStore = memoryReplayStore();
  #agentId: Promise<string> | undefined;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Sends a message that the service can read. With an `intentId` a repeat returns the same message, also days later.
   * Errors: `recipient_not_found`, `inbox_full`, `intent_conflict`.
   */
  async send(message: NewMessage, options: CreateOptions = {}): Promise<Message> {
    return this.#post(message, options);
  }

  /**
   * Sends a message that only the recipient can read. A topic can't be encrypted.
   * Errors: `recipient_not_found`, `inbox_full`, `encrypted_message_repeated`.
   */
  async sendEncrypted(message: NewSecret, options: SecretOptions = {}): Promise<Message> {
    const { publicKey, walletAddress, ...call } = options;
    const { body, toAgentId, contentType = typeof body === "string" ? "text/plain" : "application/json" } = message;
    const key = publicKey ?? (await this.#readPublicKey(toAgentId, call));
    if (walletAddress !== undefined && publicKeyToAddress(key).toLowerCase() !== walletAddress.toLowerCase()) {
      throw new RefusedError(`the public key of ${toAgentId} isn't that of the wallet ${walletAddress}`);
    }
    const plain = { ...message, contentType, fromAgentId: await this.#ownId(call) };
    const encrypted = await encryptFor(key, plain);
    const { replyTo, transactionId } = message;
    const references = { ...(replyTo && { replyTo }), ...(transactionId && { transactionId }) };
    return this.#post({ toAgentId, contentType, encrypted, ...references }, call);
  }

  /**
   * The body of a message that was encrypted for this agent. A ciphertext that comes with a second message is detected as
   * long as this object lives; `seen` remembers for longer.
   * @param privateKey of the agent's wallet
   * @throws DecryptionError if it was changed, is for another key or has come before
   */
  async decrypt(message: Message, privateKey: Hex, seen: ReplayStore = this.#seen): Promise<unknown> {
    const { encrypted, toAgentId } = message;
    if (encrypted === undefined || toAgentId === undefined) throw new RefusedError(`${message.id} isn't encrypted`);
    return decrypt(privateKey, { ...message, encrypted, toAgentId }, { seen });
  }

  /** Messages that have arrived, newest first. */
  inbox(filter: InboxFilter = {}, options: CallOptions = {}): AsyncGenerator<Message, void, undefined> {
    return this.#list({ box: "inbox", ...filter }, options);
  }

  /** Messages that the agent has sent, newest first. */
  sent(
    filter: Pick<InboxFilter, "topic" | "limit"> = {},
    options: CallOptions = {},
  ): AsyncGenerator<Message, void, undefined> {
    return this.#list({ box: "sent", ...filter }, options);
  }

  /** A message that the agent has sent or received. Errors: `not_found`. */
  async get(messageId: string, options: CallOptions = {}): Promise<Message> {
    const answer = await this.#http.get<{ data: Message }>(`${PATH}/${segment("messageId", messageId)}`, options);
    return answer.data;
  }

  /** Marks a message as read, or as unread. Errors: `not_found`, `wrong_role` for its sender. */
  async markRead(messageId: string, read = true, options: CallOptions = {}): Promise<Message> {
    const path = `${PATH}/${segment("messageId", messageId)}`;
    const request = { method: "PATCH", path, body: { read }, isIdempotent: true, ...options } as const;
    return (await this.#http.send<{ data: Message }>(request)).body.data;
  }

  /** Subscribes to a topic. Errors: `subscription_limit_reached`. */
  async subscribe(topic: string, options: CallOptions = {}): Promise<TopicSubscription> {
    const request = { isIdempotent: true, ...options };
    const path = `${PATH}/subscribe`;
    return (await this.#http.post<wire.TopicsSubscribeResponse>(path, { topic }, request)).data;
  }

  /** Unsubscribes from a topic. Returns whether the agent was subscribed. */
  async unsubscribe(topic: string, options: CallOptions = {}): Promise<boolean> {
    const path = `${PATH}/subscribe`;
    const request = { method: "DELETE", path, query: { topic }, isIdempotent: true, ...options } as const;
    return (await this.#http.send<wire.TopicsUnsubscribeResponse>(request)).body.data.unsubscribed;
  }

  /** The topics that the agent is subscribed to. */
  subscriptions(options: CallOptions = {}): AsyncGenerator<TopicSubscription, void, undefined> {
    return paginate((cursor) =>
      this.#http.get<Page<TopicSubscription>>(`${PATH}/subscriptions`, { query: { cursor }, ...options }),
    );
  }

  /**
   * Registers an address that gets every message as the signed event `message.received`, retried for 24 hours.
   * `verifyWebhook` checks it. Errors: `webhook_limit_reached`.
   */
  async registerWebhook(url: string, options: CreateOptions = {}): Promise<RegisteredWebhook> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.MessagesRegisterWebhookResponse>(`${PATH}/webhook`, { url }, once)).data;
  }

  /** Sends a ucp message. Errors: `recipient_not_found`, `inbox_full`. */
  async sendUcp(
    message: { type: string; toAgentId: string; payload: Record<string, unknown> },
    options: CreateOptions = {},
  ): Promise<UcpMessage> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<wire.UcpMessagesSendResponse>(UCP_PATH, message, once)).data;
  }

  /** Ucp messages that the agent has sent or received, newest first. */
  ucp(options: CallOptions = {}): AsyncGenerator<UcpMessage, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<UcpMessage>>(UCP_PATH, { query: { cursor }, ...options }));
  }

  async #post(body: object, options: CreateOptions): Promise<Message> {
    const once = { idempotencyKey: crypto.randomUUID(), ...options };
    return (await this.#http.post<{ data: Message }>(PATH, body, once)).data;
  }

  #list(query: object, options: CallOptions): AsyncGenerator<Message, void, undefined> {
    return paginate((cursor) => this.#http.get<Page<Message>>(PATH, { query: { ...query, cursor }, ...options }));
  }

  async #readPublicKey(agentId: string, options: CallOptions): Promise<Hex> {
    const path = `/api/v1/agents/${segment("agentId", agentId)}/public-key`;
    return (await this.#http.get<{ publicKey: Hex }>(path, options)).publicKey;
  }

  /** The agent's own id, which the ciphertext is bound to. */
  async #ownId(options: CallOptions): Promise<string> {
    this.#agentId ??= this.#http
      .get<wire.UsageReadResponse>("/api/v1/auth/usage", options)
      .then(({ data }) => data.agentId);
    try {
      return await this.#agentId;
    } catch (error) {
      this.#agentId = undefined;
      throw error;
    }
  }
}
