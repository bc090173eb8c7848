import { pino, stdSerializers } from "pino";
import type { DestinationStream, Logger } from "pino";

export type { Logger } from "pino";

/** Fields that are redacted in the first two levels of a log line. */
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

/** Matches a URL. Host and port are kept; credentials, path and query are removed, as providers put keys there. */
const WEB_ADDRESS = /\b(https?|wss?|mongodb(?:\+srv)?):\/\/(?:[^\s/"'`@]*@)?([^\s/"'`)\]?#,]+)[^\s"'`)\],]*/gi;
const MAX_ERROR_DEPTH = 5;

/** Removes keys from the URLs in a field of an error. */
function withoutAddressKeys(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.replace(WEB_ADDRESS, "$1://$2/…");
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_ERROR_DEPTH) return "…";
  if (Array.isArray(value)) return value.map((item) => withoutAddressKeys(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutAddressKeys(item, depth + 1)]));
}

/** Serialises an error for the log. RPC errors quote the URL that was called, which may contain a provider's key. */
function serializeError(error: unknown): unknown {
  return withoutAddressKeys(error instanceof Error ? { ...stdSerializers.err(error), raw: undefined } : error);
}

const secretPaths = SECRET_FIELDS.flatMap((field) =>
  field.startsWith("[") ? [field, `*${field}`, `*.*${field}`] : [field, `*.${field}`, `*.*.${field}`],
);

/** Logger settings. */
export interface LoggerOptions {
  level: string;
  /** The process that logs: `api` or `worker`. */
  name: string;
  /** Where lines are written; standard output by default. */
  destination?: DestinationStream;
}

/** Creates a logger that writes one JSON object per line, with secrets redacted. */
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
