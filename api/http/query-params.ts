import { z } from "zod";

import { PAGE_LIMIT } from "../config/constants.ts";

/** Shows a text of digits as a number in the API description. */
const shownAs =
  (shown: { type: "number" | "integer"; minimum?: number; maximum?: number }) =>
  ({ jsonSchema }: { jsonSchema: object }): void => {
    delete (jsonSchema as { pattern?: string }).pattern;
    Object.assign(jsonSchema, shown);
  };

/** A number in a query or path, where everything is text: a plain decimal without exponent or white space. */
export function queryNumber(bounds: { min: number; max: number; description: string }) {
  const { min, max, description } = bounds;
  return z
    .string()
    .regex(/^-?\d{1,20}(\.\d{1,18})?$/, "Must be a decimal number")
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .meta({ override: shownAs({ type: "number", minimum: min, maximum: max }), description });
}

/** A whole number in a query or path. */
export function queryInteger(bounds: { min: number; max: number; description?: string }) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, "Must be a whole number")
    .transform(Number)
    .pipe(z.number().int().min(bounds.min).max(bounds.max))
    .meta({
      override: shownAs({ type: "integer", minimum: bounds.min, maximum: bounds.max }),
      ...(bounds.description === undefined ? {} : { description: bounds.description }),
    });
}

/** `limit` of a list. */
export const pageLimit = queryInteger({ min: 1, max: PAGE_LIMIT.max, description: "Entries per page" }).default(
  PAGE_LIMIT.default,
);

const MAX_CURSOR_LENGTH = 500;

/**
 * `cursor` of a list: the `nextCursor` of the previous page. Its content, base64url of JSON, is checked with a schema.
 * It is only a position in a list and needs no secrecy: a made-up cursor reveals nothing more.
 */
export function pageCursor<Position>(position: z.ZodType<Position>) {
  return z
    .string()
    .max(MAX_CURSOR_LENGTH)
    .transform((text, context): Position => {
      const parsed = position.safeParse(decode(text));
      if (parsed.success) return parsed.data;
      context.addIssue({ code: "custom", message: "Must be the nextCursor of an earlier page of the same list" });
      return z.NEVER;
    })
    .meta({
      override: { type: "string", minLength: 1, pattern: "^[A-Za-z0-9_-]+$" },
      description: "`nextCursor` of the previous page of the same list",
    });
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
  } catch {
    return undefined;
  }
}

/** The text of a cursor. */
export function encodeCursor(position: unknown): string {
  return Buffer.from(JSON.stringify(position), "utf8").toString("base64url");
}
