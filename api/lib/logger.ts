import { pino } from "pino";
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
    redact: { paths: secretPaths, censor: "[redacted]" },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination);
}
