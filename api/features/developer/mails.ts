import { randomBytes } from "node:crypto";

import type { Clock } from "../../lib/clock.ts";
import { sha256Hex } from "../../lib/ids.ts";
import type { Logger } from "../../lib/logger.ts";
import { DELIVERY_TIMINGS } from "./mailer.ts";
import type { DeliveryTimings, SendMail } from "./mailer.ts";
import type { AccessRequestRecord, DeveloperModels } from "./model.ts";

/** Durations of developer access. Tests shorten them. */
export interface MailTimings extends DeliveryTimings {
  /** Pause after the first failed mail in milliseconds; it doubles with each. Also the lease of a try. */
  mailRetryMs: number;
}

/** The default timings. */
export const MAIL_TIMINGS: MailTimings = { mailRetryMs: 60_000, ...DELIVERY_TIMINGS };

/** Tries of a mail before it has failed. */
export const MAIL_ATTEMPTS = 6;
/** How long a mailed token is valid. */
export const TOKEN_HOURS = 24;
const TOKEN_BYTES = 32;
const HOUR_MS = 3_600_000;

/** Dependencies of the mails. */
export interface MailsDeps {
  models: DeveloperModels;
  sendMail: SendMail;
  publicUrl: string;
  clock: Clock;
  timings: MailTimings;
}

/** Sends the mails that are due, and returns how many tries it made. */
export type SendDueMails = (log: Logger, signal: AbortSignal) => Promise<number>;

/**
 * Sends a token to each address whose mail is due. A try is written before it begins: a killed one is repeated after
 * its lease, and after the last one the mail has failed. Only the hash of a token is stored, so each try sends a new
 * one. The mail contains nothing that the request has chosen but the address, because anybody can name any address.
 */
export function createSendDueMails({ models, sendMail, publicUrl, clock, timings }: MailsDeps): SendDueMails {
  const { requests } = models;

  /** Claims the next due mail for the length of a try. */
  async function claim(): Promise<AccessRequestRecord | null> {
    const now = clock.now();
    const leaseMs = { $multiply: [timings.mailRetryMs, { $pow: [2, "$attempts"] }] };
    return requests
      .findOneAndUpdate(
        { status: "pending", dueAt: { $lte: now } },
        [{ $set: { attempts: { $add: ["$attempts", 1] }, dueAt: { $add: [now, leaseMs] } } }],
        { sort: { dueAt: 1 }, returnDocument: "after", updatePipeline: true },
      )
      .lean();
  }

  async function send(request: AccessRequestRecord): Promise<void> {
    const token = randomBytes(TOKEN_BYTES).toString("hex");
    const now = clock.now();
    const stored = { hash: sha256Hex(token), expiresAt: new Date(now.getTime() + TOKEN_HOURS * HOUR_MS) };
    const valid = { $filter: { input: "$tokens", cond: { $gt: ["$$this.expiresAt", now] } } };
    const update = [{ $set: { tokens: { $concatArrays: [valid, [stored]] } } }];
    await requests.updateOne({ _id: request._id }, update, { updatePipeline: true }).orFail();
    const text =
      `Somebody asked for developer access to ${publicUrl} with this address.\n\n` +
      `To verify it, send this token with your agent's API key to POST ${publicUrl}/api/developer/verify ` +
      `within ${TOKEN_HOURS} hours:\n\n${token}\n\nIf it wasn't you, ignore this mail.\n`;
    await sendMail({ to: request._id, subject: "Your developer access token", text });
  }

  return async (log, signal) => {
    let tries = 0;
    while (!signal.aborted) {
      const request = await claim();
      if (request === null) break;
      tries += 1;
      // A request that came in meanwhile has started the count again and stays pending.
      const filter = { _id: request._id, status: "pending", attempts: request.attempts } as const;
      try {
        await send(request);
        await requests.updateOne(filter, { status: "sent" });
      } catch (error) {
        log.error({ err: error, attempts: request.attempts }, "couldn't send a mail");
        if (request.attempts >= MAIL_ATTEMPTS) await requests.updateOne(filter, { status: "failed" });
      }
    }
    return tries;
  };
}
