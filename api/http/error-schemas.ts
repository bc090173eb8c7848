import { z } from "zod";

import { ERROR_DETAILS } from "./error-details.ts";
import { ERROR_CATALOGUE, inactiveKeyBody } from "./errors.ts";
import type { ErrorCode } from "./errors.ts";
import { PAYMENT_CODES, paymentRequiredOutput } from "./payment-required.ts";

const detailsOf: Readonly<Partial<Record<ErrorCode, z.ZodType>>> = ERROR_DETAILS;

/** `validation_error` as the name of a schema: `ValidationError`. */
function schemaId(code: ErrorCode): string {
  const name = pascalCase(code);
  return name.endsWith("Error") ? name : `${name}Error`;
}

/** Words that are joined by `_` or spaces, in Pascal case. */
export function pascalCase(words: string): string {
  return words
    .split(/[_ ]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

function bodyOf(code: ErrorCode): z.ZodType {
  if (code === "inactive_api_key") return inactiveKeyBody;
  if ((PAYMENT_CODES as readonly ErrorCode[]).includes(code)) return paymentRequiredOutput;
  const details = detailsOf[code];
  return z
    .object({
      success: z.literal(false),
      error: z.string(),
      code: z.literal(code),
      ...(details === undefined ? {} : { details: details.optional() }),
    })
    .meta({ id: schemaId(code) });
}

/** The body of the answer with each code. The 402 that asks for a payment and the 401 of ucp messages have bodies of their own. */
export const ERROR_BODIES = Object.fromEntries(
  (Object.keys(ERROR_CATALOGUE) as ErrorCode[]).map((code) => [code, bodyOf(code)]),
) as Readonly<Record<ErrorCode, z.ZodType>>;
