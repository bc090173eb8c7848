import { secp256k1 } from "@noble/curves/secp256k1.js";
import { z } from "zod";

import { ENCRYPTION_ALGORITHM, MESSAGE_MAX_BYTES } from "../../config/constants.ts";
import { dataOf, intentIdSchema, jsonObject, listOf, timestampOutput } from "../../http/common-schemas.ts";
import { pageCursor, pageLimit } from "../../http/query-params.ts";
import { textSchema } from "../../http/text-schema.ts";
import { EXAMPLE } from "../../http/examples.ts";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { textFault } from "../../lib/text-rules.ts";

const recordId = z.string().min(1).max(100);

/** Name of a topic. */
export const topicName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "Must be a topic: a-z, 0-9, dot, _ and -");

/** A media type without parameters. */
const contentType = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9.+-]{0,49}\/[a-z0-9][a-z0-9.+-]{0,99}$/,
    "Must be a media type in lower case without parameters",
  );

const isPoint = (hex: string): boolean => {
  try {
    secp256k1.Point.fromHex(hex.slice("0x".length)).assertValidity();
    return true;
  } catch {
    return false;
  }
};

/** Length in base64 of the largest ciphertext. */
const CIPHERTEXT_MAX_LENGTH = Math.ceil(MESSAGE_MAX_BYTES / 3) * 4;
// Each value has only one spelling, so that a ciphertext can't be sent twice in two forms.
const BASE64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/** Encrypted content. Only its format is checked, because the service has no key for it. */
const encrypted = z
  .strictObject({
    v: z.literal(1),
    alg: z.literal(ENCRYPTION_ALGORITHM),
    ephemeralPublicKey: z
      .string()
      .regex(/^0x04[0-9a-f]{128}$/, "Must be an uncompressed secp256k1 key: 0x04 and 128 hexadecimal digits")
      .refine(isPoint, "Isn't a point of secp256k1"),
    iv: z.string().regex(/^[A-Za-z0-9+/]{16}$/, "Must be 12 bytes in base64"),
    ciphertext: z.string().max(CIPHERTEXT_MAX_LENGTH).regex(BASE64, "Must be base64"),
    tag: z.string().regex(/^[A-Za-z0-9+/]{21}[AQgw]==$/, "Must be 16 bytes in base64"),
  })
  .meta({ id: "EncryptedContent" });

const UCP_TYPE_MAX_LENGTH = 100;
const DEFAULT_TEXT = "text/plain";
const DEFAULT_JSON = "application/json";
const TOO_LARGE = `Must have at most ${MESSAGE_MAX_BYTES} bytes`;

function bodyFault(body: unknown, type: string): string | undefined {
  if (type.startsWith("text/") && typeof body !== "string") return `Must be a text for ${type}`;
  const size = Buffer.byteLength(typeof body === "string" ? body : canonicalJson(body), "utf8");
  if (size > MESSAGE_MAX_BYTES) return TOO_LARGE;
  // A string is shown to readers, whatever its media type, so it is checked as text. Other JSON is a payload.
  return typeof body === "string" ? textFault("message", body) : undefined;
}

/** Body of a message to be sent. */
export const sendBody = z
  .strictObject({
    toAgentId: recordId.optional(),
    topic: topicName.optional(),
    contentType: contentType.optional().meta({
      description: "By default `text/plain` for a text and an encrypted content, `application/json` for other bodies",
    }),
    body: z.unknown().optional().meta({ description: "A text for `text/…`, any JSON for other types; at most 64 KB" }),
    encrypted: encrypted.optional(),
    replyTo: recordId.optional().meta({ description: "A message that the caller has sent or received" }),
    transactionId: recordId.optional().meta({ description: "A deal of sender and recipient" }),
    intentId: intentIdSchema.optional(),
  })
  .superRefine(({ toAgentId, topic, body, encrypted: content, contentType: type, transactionId }, context) => {
    const issue = (field: string, message: string) => {
      context.addIssue({ code: "custom", path: [field], message });
    };
    if (toAgentId === undefined && topic === undefined) issue("toAgentId", "Give toAgentId or topic");
    if (toAgentId !== undefined && topic !== undefined) issue("topic", "Give toAgentId or topic, not both");
    if (body === undefined && content === undefined) issue("body", "Give body or encrypted");
    if (body !== undefined && content !== undefined) issue("encrypted", "Give body or encrypted, not both");
    if (topic !== undefined && content !== undefined)
      issue("encrypted", "Only a message to one agent can be encrypted");
    if (topic !== undefined && transactionId !== undefined) issue("transactionId", "A topic has no transaction");
    if (body === undefined) return;
    const fault = bodyFault(body, type ?? defaultTypeOf(body));
    if (fault !== undefined) issue("body", fault);
  })
  .transform((message) => ({ ...message, contentType: message.contentType ?? defaultTypeOf(message.body) }))
  .meta({
    id: "MessageRequest",
    examples: [{ toAgentId: EXAMPLE.sellerAgent, body: "When is the report due?", transactionId: EXAMPLE.transaction }],
  });

/** The default media type. Encrypted content has no body and counts as text. */
function defaultTypeOf(body: unknown): string {
  return body === undefined || typeof body === "string" ? DEFAULT_TEXT : DEFAULT_JSON;
}

/** Body of a ucp message. The sender is the caller; a given `fromAgentId` is ignored. */
export const ucpBody = z
  .strictObject({
    type: textSchema({ kind: "name", max: UCP_TYPE_MAX_LENGTH }),
    toAgentId: recordId,
    payload: jsonObject.refine((payload) => bodyFault(payload, DEFAULT_JSON) === undefined, TOO_LARGE),
    fromAgentId: z.unknown().optional().meta({ description: "Ignored: the sender is the owner of the key" }),
  })
  .meta({
    id: "UcpMessageRequest",
    examples: [{ type: "offer", toAgentId: EXAMPLE.sellerAgent, payload: { price: "2.5" } }],
  });

/** Query of a list of messages. */
export const listQuery = z
  .strictObject({
    box: z.enum(["inbox", "sent"]).default("inbox"),
    unread: z
      .enum(["true", "false"])
      .optional()
      .meta({ description: "`true`: only unread ones, `false`: only read ones" }),
    from: recordId.optional().meta({ description: "Sender" }),
    topic: topicName.optional(),
    limit: pageLimit,
    cursor: pageCursor(z.strictObject({ after: recordId })).optional(),
  })
  .superRefine(({ box, unread, from }, context) => {
    for (const [field, value] of Object.entries({ unread, from })) {
      if (box === "sent" && value !== undefined)
        context.addIssue({ code: "custom", path: [field], message: "Requires box=inbox" });
    }
  });

/** Query of a list without filters. */
export const pageQuery = z.strictObject({
  limit: pageLimit,
  cursor: pageCursor(z.strictObject({ after: recordId })).optional(),
});

export const messageParams = z.strictObject({ id: recordId });
export const readBody = z
  .strictObject({ read: z.boolean().default(true) })
  .meta({ id: "ReadRequest", examples: [{ read: true }] });

const message = z
  .object({
    id: z.string(),
    fromAgentId: z.string(),
    toAgentId: z.string().optional().meta({ description: "Recipient of a direct message" }),
    topic: z.string().optional().meta({ description: "Topic of a message to its subscribers" }),
    topicSeq: z.number().int().optional().meta({ description: "Position in the topic: 1, 2, 3 and so on" }),
    contentType: z.string(),
    body: z.unknown().optional(),
    encrypted: encrypted.optional().meta({ description: "As it was sent, in place of `body`" }),
    replyTo: z.string().nullable(),
    transactionId: z.string().nullable(),
    readAt: timestampOutput.nullable().meta({ description: "When the caller marked it as read; null for its sender" }),
    createdAt: timestampOutput,
  })
  .meta({ id: "Message" });

export const messageAnswer = dataOf(message);
export const messageListAnswer = listOf(message);

const ucpMessage = z
  .object({
    id: z.string(),
    type: z.string(),
    fromAgentId: z.string(),
    toAgentId: z.string(),
    payload: jsonObject,
    createdAt: timestampOutput,
  })
  .meta({ id: "UcpMessage" });

export const ucpAnswer = dataOf(ucpMessage);
export const ucpListAnswer = listOf(ucpMessage);
