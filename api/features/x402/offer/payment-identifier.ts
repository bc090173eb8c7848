import { z } from "zod";

import { validationError } from "../../../http/errors.ts";

/** Name of the official extension of version 2 by which a client gives its payment an id. */
const PAYMENT_IDENTIFIER = "payment-identifier";
const ID_LENGTH = { min: 16, max: 128 } as const;
const ID_PATTERN = /^[a-zA-Z0-9_-]+$/;

/**
 * The declaration in `PAYMENT-REQUIRED`, the same as that of `@x402/extensions`. That package isn't used, because its reader
 * compiles the client's JSON Schema: a client could make the service evaluate any regular expression. It also depends on
 * nine packages for wallet sign-in.
 */
export const PAYMENT_IDENTIFIER_EXTENSION = {
  [PAYMENT_IDENTIFIER]: {
    info: { required: false },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        required: { type: "boolean" },
        id: { type: "string", minLength: ID_LENGTH.min, maxLength: ID_LENGTH.max, pattern: ID_PATTERN.source },
      },
      required: ["required"],
    },
  },
};

/** The extension as a client echoes it. Its schema is the declared one and isn't read. */
const echo = z.object({
  info: z.object({
    required: z.boolean().optional(),
    id: z.string().min(ID_LENGTH.min).max(ID_LENGTH.max).regex(ID_PATTERN).optional(),
  }),
});

/**
 * The id that a client has given its payment; undefined without one.
 * @throws ApiError `validation_error` for an invalid id: ignoring it would let the client pay twice
 */
export function readPaymentId(extensions: unknown): string | undefined {
  const given = z.record(z.string(), z.unknown()).safeParse(extensions).data?.[PAYMENT_IDENTIFIER];
  if (given === undefined) return undefined;
  const parsed = echo.safeParse(given);
  if (parsed.success) return parsed.data.info.id;
  const message = `info.id must have ${ID_LENGTH.min} to ${ID_LENGTH.max} characters out of A-Z, a-z, 0-9, _ and -`;
  throw validationError([{ path: `headers.payment-signature.extensions.${PAYMENT_IDENTIFIER}`, message }]);
}
