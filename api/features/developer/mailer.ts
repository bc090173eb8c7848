import type { Logger } from "../../lib/logger.ts";
import { withTimeout } from "../../lib/timeout.ts";

/** A mail in plain text. */
export interface Mail {
  /** A single address (see `emailSchema`). */
  to: string;
  subject: string;
  text: string;
}

/** Sends a mail; rejects if the server doesn't accept it. */
export type SendMail = (mail: Mail) => Promise<void>;

/** The server that takes the mails. */
export interface MailSettings {
  /** `smtp://` or `smtps://` address, with user name and password where it needs them. */
  smtpUrl: string;
  from: string;
}

/** Durations of a delivery. Tests shorten them. */
export interface DeliveryTimings {
  /** How long a server may be silent in each phase of a delivery, in milliseconds. */
  mailPhaseMs: number;
  /** How long a delivery takes at most, in milliseconds: a server that is never silent for long may never end. */
  mailDeliveryMs: number;
}

export const DELIVERY_TIMINGS: DeliveryTimings = { mailPhaseMs: 10_000, mailDeliveryMs: 30_000 };

/** Sends mails by SMTP. No server holds a worker for long. */
export function smtpMailer(
  { smtpUrl, from }: MailSettings,
  { mailPhaseMs, mailDeliveryMs }: DeliveryTimings = DELIVERY_TIMINGS,
): SendMail {
  // Most processes send no mail, so the first one loads the package.
  const load = async () => {
    const { createTransport } = await import("nodemailer");
    return createTransport({
      url: smtpUrl,
      connectionTimeout: mailPhaseMs,
      greetingTimeout: mailPhaseMs,
      dnsTimeout: mailPhaseMs,
      socketTimeout: mailPhaseMs,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  let loading: ReturnType<typeof load> | undefined;
  return async ({ to, subject, text }) => {
    const transport = await (loading ??= load());
    // An address object isn't parsed, so it can't become a second recipient.
    const mail = { from, to: { name: "", address: to }, subject, text };
    await withTimeout("the mail server", mailDeliveryMs, () => transport.sendMail(mail));
  };
}

/** Writes mails to the log: for the local stack, which has no mail server. */
export function logMailer(log: Logger): SendMail {
  return (mail) => {
    log.info({ mail }, "mail");
    return Promise.resolve();
  };
}
