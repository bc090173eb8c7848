import { z } from "zod";

import { dataOf } from "../../http/common-schemas.ts";
import { defineRoute } from "../../http/define-route.ts";
import { ApiError } from "../../http/errors.ts";
import { textSchema } from "../../http/text-schema.ts";
import { kyaOutput, kyaStatusOf } from "../agents/kya-status.ts";
import type { DeveloperAccess } from "./access.ts";
import { TOKEN_HOURS } from "./mails.ts";

/** Dependencies of the developer routes. */
export interface DeveloperDeps {
  /** Undefined in production without a mail server. */
  developerAccess: DeveloperAccess | undefined;
}

const EMAIL_MAX_LENGTH = 254;
/** RFC 5321, 4.5.3.1.1. */
const LOCAL_PART_MAX_LENGTH = 64;
const EMAIL =
  /^[A-Za-z0-9_+-]+(?:\.[A-Za-z0-9_+-]+)*@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;
const NAME_MAX_LENGTH = 100;
const USE_CASE_MAX_LENGTH = 2_000;
const RECEIVED = "If mail can be delivered to this address, a token is on its way.";

/**
 * One plain ASCII address: letters, digits and the usual punctuation before the @, a domain name after it. It has no
 * place for a line break, a second recipient, a comment or a quoted part.
 */
export const emailSchema = z
  .string()
  .max(EMAIL_MAX_LENGTH)
  .regex(EMAIL, "Must be an email address")
  .refine((text) => text.indexOf("@") <= LOCAL_PART_MAX_LENGTH, "Must have at most 64 characters before the @")
  .meta({ override: { type: "string", format: "email", maxLength: EMAIL_MAX_LENGTH, pattern: EMAIL.source } });

const requestAccess = defineRoute({
  name: "developers.requestAccess",
  scope: "none",
  method: "POST",
  path: "/api/developer/access",
  tag: "Developer access",
  summary: "Sends a verification token by mail",
  description:
    `The token is valid for ${TOKEN_HOURS} hours. The answer is the same whether or not the address is known. An address ` +
    "gets at most one mail in ten minutes.",
  auth: "none",
  limitClass: "developerAccess",
  budget: "none",
  body: z
    .strictObject({
      email: emailSchema,
      name: textSchema({ kind: "name", max: NAME_MAX_LENGTH }).optional(),
      useCase: textSchema({ kind: "longText", max: USE_CASE_MAX_LENGTH }).optional(),
    })
    .meta({
      id: "DeveloperAccessRequest",
      examples: [{ email: "dev@agent.example", name: "Ada", useCase: "Risk reports" }],
    }),
  responses: { 202: dataOf(z.object({ message: z.string() }).meta({ id: "MailNotice" })) },
  errors: ["mail_unavailable", "service_unavailable"],
}).handle(async ({ body }, { developerAccess }: DeveloperDeps) => {
  await configured(developerAccess).request(body);
  return { status: 202, body: { success: true, data: { message: RECEIVED } } };
});

const verifyToken = defineRoute({
  name: "developers.verify",
  scope: "none",
  method: "POST",
  path: "/api/developer/verify",
  tag: "Developer access",
  summary: "Verifies the caller's mail address: KYA level 1",
  description: "Each token works once, for any agent. A level that an admin has lowered isn't raised.",
  auth: "apiKey",
  limitClass: "general",
  budget: "api",
  body: z
    .strictObject({
      token: z.string().regex(/^[0-9a-f]{64}$/, "Must be the token of the mail: 64 hexadecimal digits"),
    })
    .meta({ id: "MailVerification", examples: [{ token: "f".repeat(64) }] }),
  responses: { 200: dataOf(z.object({ agentId: z.string(), kya: kyaOutput }).meta({ id: "VerifiedAgent" })) },
  errors: ["verification_token_invalid", "mail_unavailable", "not_found"],
}).handle(async ({ caller, body, requestId, operation }, { developerAccess }: DeveloperDeps) => {
  const level = await configured(developerAccess).verify(caller.agentId, body.token, { requestId, operation });
  return { status: 200, body: { success: true, data: { agentId: caller.agentId, kya: kyaStatusOf(level) } } };
});

function configured(access: DeveloperAccess | undefined): DeveloperAccess {
  if (access === undefined) throw new ApiError("mail_unavailable");
  return access;
}

export const developerRoutes = [requestAccess, verifyToken];
