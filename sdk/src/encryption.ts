import { secp256k1 } from "@noble/curves/secp256k1.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import type { Hex } from "viem";

import { canonicalJson } from "./canonical-json.ts";
import { MarketplaceError, RefusedError } from "./errors.ts";
import { jsonText } from "./json.ts";

/** How the content is encrypted. */
export const ENCRYPTION_ALGORITHM = "ECDH-secp256k1+HKDF-SHA256+A256GCM";
const VERSION = 1;
const INFO = "agent-marketplace/message/v1";
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** An encrypted content as the service delivers it. Bytes are base64, the key is `0x04…`. */
export interface EncryptedContent {
  v: 1;
  alg: typeof ENCRYPTION_ALGORITHM;
  ephemeralPublicKey: string;
  iv: string;
  ciphertext: string;
  tag: string;
}

/** The fields that the ciphertext is bound to. If one changes, decryption fails. */
export interface MessageBinding {
  fromAgentId: string;
  toAgentId: string;
  /** `text/…` for a text; for every other type the body is JSON. */
  contentType: string;
  replyTo?: string | null | undefined;
  transactionId?: string | null | undefined;
}

/** A message as it is before encryption. */
export interface PlainMessage extends MessageBinding {
  body: unknown;
}

/** A message with an encrypted content, as the API answers it. */
export interface SealedMessage extends MessageBinding {
  id: string;
  encrypted: EncryptedContent;
}

/** Why a content can't be trusted. `not_authentic`: somebody changed it, or it is for another key. */
export type DecryptionFault = "unsupported" | "malformed" | "not_authentic" | "replayed";

/** An encrypted message that must not be used. */
export class DecryptionError extends MarketplaceError {
  override readonly name = "DecryptionError";
  readonly fault: DecryptionFault;

  constructor(fault: DecryptionFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.fault = fault;
  }
}

/**
 * Remembers which message brought each ciphertext first. Keep it as long as the messages themselves, and longer than the
 * service does (90 days) to detect what comes back after that.
 */
export interface ReplayStore {
  /** Stores the message id of a ciphertext that has none yet, atomically; returns the one that is stored. */
  firstMessageOf(ciphertextId: string, messageId: string): string | Promise<string>;
}

/** A replay store in memory. Its contents are lost when the process ends. */
export function memoryReplayStore(): ReplayStore {
  const known = new Map<string, string>();
  return {
    firstMessageOf(ciphertextId, messageId) {
      const first = known.get(ciphertextId) ?? messageId;
      known.set(ciphertextId, first);
      return first;
    },
  };
}

/** The random values of one encryption. Only tests give their own. */
export interface EncryptionSecrets {
  ephemeralSecretKey: Uint8Array;
  iv: Uint8Array;
}

/**
 * Encrypts a message for the owner of a public key: a new key on secp256k1 for each message, ECDH, HKDF,
 * AES-256-GCM. The ciphertext is bound to sender, recipient, type and references.
 * @param recipientPublicKey uncompressed, `0x04…`, as `GET /api/v1/agents/{id}/public-key` answers it
 * @throws RefusedError for a key that isn't a point of the curve, or a text type without a text
 */
export function encryptFor(recipientPublicKey: Hex, message: PlainMessage): Promise<EncryptedContent> {
  const ephemeralSecretKey = secp256k1.utils.randomSecretKey();
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  return encryptWith({ ephemeralSecretKey, iv }, recipientPublicKey, message);
}

/** The same with given random values, for test vectors. Two messages with the same values would reveal both. */
export async function encryptWith(
  { ephemeralSecretKey, iv }: EncryptionSecrets,
  recipientPublicKey: Hex,
  message: PlainMessage,
): Promise<EncryptedContent> {
  const recipient = publicKeyBytes(recipientPublicKey);
  const ephemeral = secp256k1.getPublicKey(ephemeralSecretKey, false);
  const key = await deriveKey(sharedX(ephemeralSecretKey, recipient), ephemeral, recipient, "encrypt");
  const header = { ephemeralPublicKey: `0x${bytesToHex(ephemeral)}`, iv: toBase64(iv) };
  const plaintext = toPlaintext(message);
  const sealed = new Uint8Array(
    await crypto.subtle.encrypt(parametersOf(iv, associatedData(message, header)), key, plaintext),
  );
  return {
    v: VERSION,
    alg: ENCRYPTION_ALGORITHM,
    ...header,
    ciphertext: toBase64(sealed.subarray(0, -TAG_BYTES)),
    tag: toBase64(sealed.subarray(-TAG_BYTES)),
  };
}

/** Options of a decryption. */
export interface DecryptOptions {
  /** Detects a ciphertext that comes with a second message. Without it, replays are only the service's concern. */
  seen?: ReplayStore | undefined;
}

/**
 * Decrypts a message with the key of the recipient's wallet.
 * @param privateKey 32 bytes as hex. A wallet that only signs can't decrypt: it doesn't give its key away.
 * @returns the body: a text for `text/…`, otherwise parsed JSON
 * @throws DecryptionError if anything was changed, if it is for another key, or if it came before
 * @throws RefusedError for something other than a private key
 */
export async function decrypt(privateKey: Hex, message: SealedMessage, options: DecryptOptions = {}): Promise<unknown> {
  const secretKey = secretKeyBytes(privateKey);
  const { encrypted } = message;
  if ((encrypted.v as number) !== VERSION || (encrypted.alg as string) !== ENCRYPTION_ALGORITHM) {
    throw new DecryptionError("unsupported", `version ${String(encrypted.v)} of ${encrypted.alg} is unknown`);
  }
  const { ephemeral, iv, sealed } = parseParts(encrypted);
  const recipient = secp256k1.getPublicKey(secretKey, false);
  const key = await deriveKey(sharedX(secretKey, ephemeral), ephemeral, recipient, "decrypt");
  let plaintext: string;
  try {
    const opened = await crypto.subtle.decrypt(parametersOf(iv, associatedData(message, encrypted)), key, sealed);
    plaintext = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(opened);
  } catch (cause) {
    throw new DecryptionError("not_authentic", "the message was changed, or it is for another key", { cause });
  }
  // Only what is authentic counts as seen. Otherwise a forgery would make the real message look repeated.
  const ciphertextId = bytesToHex(sha256(concatBytes(ephemeral, iv)));
  const first = await options.seen?.firstMessageOf(ciphertextId, message.id);
  if (first !== undefined && first !== message.id) {
    throw new DecryptionError("replayed", `the ciphertext has come before, with ${first}`);
  }
  return isText(message) ? plaintext : (JSON.parse(plaintext) as unknown);
}

const isText = ({ contentType }: MessageBinding): boolean => contentType.startsWith("text/");

function toPlaintext(message: PlainMessage): Uint8Array<ArrayBuffer> {
  const { body, contentType } = message;
  if (!isText(message)) {
    const text = jsonText(body);
    if (text === undefined) throw new RefusedError("the body has no JSON form");
    return new Uint8Array(utf8ToBytes(text));
  }
  if (typeof body !== "string" || !body.isWellFormed()) throw new RefusedError(`${contentType} requires a text`);
  return new Uint8Array(utf8ToBytes(body));
}

/** Canonical JSON (RFC 8785) of everything around the plaintext. */
function associatedData(
  { fromAgentId, toAgentId, contentType, replyTo = null, transactionId = null }: MessageBinding,
  { ephemeralPublicKey, iv }: Pick<EncryptedContent, "ephemeralPublicKey" | "iv">,
): Uint8Array<ArrayBuffer> {
  const bound = { fromAgentId, toAgentId, contentType, replyTo, transactionId, ephemeralPublicKey, iv };
  return new Uint8Array(utf8ToBytes(canonicalJson({ v: VERSION, alg: ENCRYPTION_ALGORITHM, ...bound })));
}

function parametersOf(iv: Uint8Array, additionalData: Uint8Array<ArrayBuffer>) {
  return { name: "AES-GCM", iv: new Uint8Array(iv), additionalData, tagLength: TAG_BYTES * 8 };
}

/** The x-coordinate of the shared point. */
function sharedX(secretKey: Uint8Array, publicKey: Uint8Array): Uint8Array {
  return secp256k1.getSharedSecret(secretKey, publicKey, true).slice(1);
}

/** Both public keys are in the salt, so the key belongs to this pair alone. */
function deriveKey(shared: Uint8Array, ephemeral: Uint8Array, recipient: Uint8Array, usage: "encrypt" | "decrypt") {
  const bytes = hkdf(sha256, shared, concatBytes(ephemeral, recipient), utf8ToBytes(INFO), KEY_BYTES);
  return crypto.subtle.importKey("raw", new Uint8Array(bytes), "AES-GCM", false, [usage]);
}

function publicKeyBytes(publicKey: string): Uint8Array {
  try {
    if (!/^0x04[0-9a-f]{128}$/i.test(publicKey)) throw new Error("not uncompressed");
    const bytes = hexToBytes(publicKey.slice(2));
    secp256k1.Point.fromBytes(bytes).assertValidity();
    return bytes;
  } catch (cause) {
    throw new RefusedError("the recipient's public key isn't an uncompressed secp256k1 key", { cause });
  }
}

function secretKeyBytes(privateKey: unknown): Uint8Array {
  if (typeof privateKey !== "string" || !/^0x[0-9a-f]{64}$/i.test(privateKey)) {
    throw new RefusedError("decryption needs the wallet's private key: a wallet that only signs can't decrypt");
  }
  return hexToBytes(privateKey.slice(2));
}

function parseParts({ ephemeralPublicKey, iv, ciphertext, tag }: EncryptedContent) {
  try {
    const parts = {
      ephemeral: publicKeyBytes(ephemeralPublicKey),
      iv: fromBase64(iv),
      sealed: new Uint8Array(concatBytes(fromBase64(ciphertext), fromBase64(tag))),
    };
    if (parts.iv.length !== IV_BYTES || fromBase64(tag).length !== TAG_BYTES) throw new Error("wrong length");
    return parts;
  } catch (cause) {
    throw new DecryptionError("malformed", "the encrypted content isn't well-formed", { cause });
  }
}

// Not Buffer, which browsers lack. A spread of many bytes would exceed the stack.
function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}
