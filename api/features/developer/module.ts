import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { JobDefinition } from "../../jobs/define-job.ts";
import { defineFeature } from "../feature.ts";
import type { KyaLevels } from "../kya/levels.ts";
import { createDeveloperAccess } from "./access.ts";
import { logMailer, smtpMailer } from "./mailer.ts";
import type { MailSettings } from "./mailer.ts";
import { createSendDueMails, MAIL_TIMINGS } from "./mails.ts";
import type { MailTimings } from "./mails.ts";
import { createDeveloperModels } from "./model.ts";
import { developerRoutes } from "./routes.ts";
import type { DeveloperDeps } from "./routes.ts";

export type { MailTimings } from "./mails.ts";

/** Dependencies of the developer feature. */
export interface DeveloperModuleDeps {
  connection: Connection;
  levels: Pick<KyaLevels, "raise" | "leftBy">;
  /** The mail server; `log` writes mails to the log, `none` makes developer access unavailable. */
  mail: MailSettings | "log" | "none";
  publicUrl: string;
  clock: Clock;
  log: Logger;
  timings: MailTimings;
}

const SEND_EVERY_MS = 5_000;

/** Developer access by a verified mail address. */
export const developerModule = defineFeature({
  routes: developerRoutes,
  timings: MAIL_TIMINGS,
  create({ connection, levels, mail, publicUrl, clock, log, timings }: DeveloperModuleDeps) {
    const models = createDeveloperModels(connection);
    const access = createDeveloperAccess({ connection, models, levels, clock });
    const services: DeveloperDeps = { developerAccess: mail === "none" ? undefined : access };
    if (mail === "none") return { services, models, jobs: [], sendDueMails: undefined };
    const sendMail = mail === "log" ? logMailer(log) : smtpMailer(mail, timings);
    const sendDueMails = createSendDueMails({ models, sendMail, publicUrl, clock, timings });
    const jobs: JobDefinition[] = [
      {
        name: "developer.send-mails",
        everyMs: SEND_EVERY_MS,
        run: async (run) => {
          await sendDueMails(run.log, run.signal);
        },
      },
    ];
    return { services, models, jobs, sendDueMails };
  },
});
