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

/** How long a line waits for others before it is written, in milliseconds, and how many bytes make it go at once. */
const FLUSH_MS = 100;
const FLUSH_BYTES = 4_096;
/** Lines are dropped while this much waits for a reader of standard output that has stopped reading. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

/**
 * Standard output, written in the background: a write for each line would cost the API a tenth of its time. An exit, an
 * uncaught error and a fatal line write what waits, possibly before lines that are just being written: the times of the
 * lines tell their order. Only SIGKILL or a crash of the runtime loses the lines of the last tenth of a second.
 */
function bufferedOutput(): DestinationStream {
  return pino.destination({
    dest: 1,
    sync: false,
    minLength: FLUSH_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: FLUSH_MS,
  });
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
  return pino(settings, options.destination ?? bufferedOutput());
}
