import { pino, stdSerializers } from "pino";
import type { DestinationStream, Logger } from "pino";

export type { Logger } from "pino";

/** Fields that never reach a log, wherever they stand within the first two levels of a log line. */
const SECRET_FIELDS = [
  "apiKey",
  "key",
  "secret",
  "signature",
  "authorization",
  '["x-api-key"]',
  '["x-payment"]',
  '["payment-signature"]',
  "privateKey",
  "plaintext",
];

/** An address in a text: host and port stay, user name, path and query go, since providers put their keys there. */
const WEB_ADDRESS = /\b(https?|wss?|mongodb(?:\+srv)?):\/\/(?:[^\s/"'`@]*@)?([^\s/"'`)\]?#,]+)[^\s"'`)\],]*/gi;
const MAX_ERROR_DEPTH = 5;

/** A value of an error with the keys in its addresses taken out. */
function withoutAddressKeys(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.replace(WEB_ADDRESS, "$1://$2/…");
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_ERROR_DEPTH) return "…";
  if (Array.isArray(value)) return value.map((item) => withoutAddressKeys(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutAddressKeys(item, depth + 1)]));
}

/** An error for the log. The texts of RPC errors name the address that was called, and with it a provider's key. */
function serializeError(error: unknown): unknown {
  return withoutAddressKeys(error instanceof Error ? { ...stdSerializers.err(error), raw: undefined } : error);
}

const secretPaths = SECRET_FIELDS.flatMap((field) =>
  field.startsWith("[") ? [field, `*${field}`, `*.*${field}`] : [field, `*.${field}`, `*.*.${field}`],
);

/** Settings of the log. */
export interface LoggerOptions {
  level: string;
  /** The process that writes: `api` or `worker`. */
  name: string;
  /** Where lines go; standard output when left out. */
  destination?: DestinationStream;
}

/** A log of one JSON object a line, with secrets redacted. */
export function createLogger(options: LoggerOptions): Logger {
  const settings = {
    name: options.name,
    level: options.level,
    serializers: { err: serializeError },
    redact: { paths: secretPaths, censor: "[redacted]" },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}
