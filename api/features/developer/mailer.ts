import type { Logger } from "../../lib/logger.ts";

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

/** Each phase of a delivery ends after this long, so a silent server doesn't hold a worker. */
const PHASE_TIMEOUT_MS = 10_000;

/** Sends mails by SMTP. */
export function smtpMailer({ smtpUrl, from }: MailSettings): SendMail {
  // Most processes send no mail, so the first one loads the package.
  const load = async () => {
    const { createTransport } = await import("nodemailer");
    return createTransport({
      url: smtpUrl,
      connectionTimeout: PHASE_TIMEOUT_MS,
      greetingTimeout: PHASE_TIMEOUT_MS,
      dnsTimeout: PHASE_TIMEOUT_MS,
      socketTimeout: PHASE_TIMEOUT_MS,
      disableFileAccess: true,
      disableUrlAccess: true,
    });
  };
  let loading: ReturnType<typeof load> | undefined;
  return async ({ to, subject, text }) => {
    const transport = await (loading ??= load());
    // An address object isn't parsed, so it can't become a second recipient.
    await transport.sendMail({ from, to: { name: "", address: to }, subject, text });
  };
}

/** Writes mails to the log: for the local stack, which has no mail server. */
export function logMailer(log: Logger): SendMail {
  return (mail) => {
    log.info({ mail }, "mail");
    return Promise.resolve();
  };
}
