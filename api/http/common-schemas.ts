import { getAddress, isAddress } from "viem";
import { z } from "zod";

import { NETWORKS } from "../config/constants.ts";
import { textFault } from "../lib/text-rules.ts";

/** A settlement network. */
export const networkSchema = z
  .enum(NETWORKS)
  .meta({ id: "Network", description: "`base-sepolia` is the testnet, `base` the mainnet" });

/**
 * A wallet or contract address, converted to its checksum form. All lower case or all upper case has no checksum. Mixed
 * case must have the right one (EIP-55), so that a mistyped address is noticed.
 */
export const addressSchema = z
  .string()
  .refine((text) => isAddress(text, { strict: false }), {
    error: "Must be an address: 0x and 40 hexadecimal digits",
    abort: true,
  })
  .refine(hasNoWrongChecksum, "Has a wrong checksum (EIP-55): one of its characters may be mistyped")
  .transform((text) => getAddress(text))
  .meta({ override: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" } });

function hasNoWrongChecksum(address: string): boolean {
  const digits = address.slice("0x".length);
  return digits === digits.toLowerCase() || digits === digits.toUpperCase() || getAddress(address) === address;
}

/** An address in an answer. */
export const addressOutput = z.templateLiteral(["0x", z.string()]).meta({
  override: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" },
});

/** A time in an answer, ISO 8601. */
export const timestampOutput = z.iso.datetime();

/** An amount in the smallest units of a token, or a whole number too large for JSON: a decimal string. */
export const tokenUnits = z.string().regex(/^\d+$/);

/** A call that a wallet can send as is. */
export const contractCall = z
  .object({
    to: addressOutput,
    data: z.string().regex(/^0x([0-9a-fA-F]{2})*$/),
    value: z.literal("0").meta({ description: "wei" }),
    chainId: z.int(),
    description: z.string(),
  })
  .meta({ id: "ContractCall" });

/** An amount of US dollars in an answer: a decimal string with at most 6 decimals. */
export const usdOutput = z.string().regex(/^\d+(\.\d{1,6})?$/);

const MAX_URL_LENGTH = 2_048;

/**
 * An http or https address without credentials. The address check runs before each send, so it also
 * catches a name that changes its address later.
 */
export const webUrlSchema = z
  .string()
  .max(MAX_URL_LENGTH)
  .refine(isWebUrl, "Must be an http or https URL without user name and password")
  .superRefine((url, context) => {
    // The other party of a deal reads some of them.
    const fault = textFault("name", url);
    if (fault !== undefined) context.addIssue({ code: "custom", message: fault });
  })
  .meta({
    override: { type: "string", format: "uri", maxLength: MAX_URL_LENGTH, pattern: "^[Hh][Tt][Tt][Pp][Ss]?://" },
  });

function isWebUrl(text: string): boolean {
  if (!/^https?:\/\/[^\s]+$/i.test(text) || !URL.canParse(text)) return false;
  const { username, password, hostname } = new URL(text);
  return username === "" && password === "" && hostname !== "";
}

/** Bodies by the names of their schemas, so that a schema has one body of a kind. */
const bodies = new Map<string, z.ZodType>();

/** Names a body after what it holds, as its schema is named: `TransactionAnswer`. */
function named<Body extends z.ZodType>(content: z.ZodType, suffix: string, body: Body): Body {
  const id = content.meta()?.id;
  if (id === undefined) return body;
  const name = id + suffix;
  const known = bodies.get(name) ?? body.meta({ id: name });
  bodies.set(name, known);
  return known as Body;
}

/** Body of a list answer. */
export function listOf<Item extends z.ZodType>(item: Item) {
  const page = z.object({ success: z.literal(true), data: z.array(item), nextCursor: z.string().nullable() });
  return named(item, "Page", page);
}

/** Body of an answer with one record. */
export function dataOf<Data extends z.ZodType>(data: Data) {
  return named(data, "Answer", z.object({ success: z.literal(true), data }));
}

/** Names what an agent wants once. Every retry sends the same value. */
export const intentIdSchema = z
  .string()
  .regex(/^[!-~]{1,128}$/, "must have 1 to 128 printable ASCII characters without spaces")
  .meta({
    id: "IntentId",
    description:
      "Yours for ever: each retry sends the same value and gets the same record as it stands now. Another purpose takes another value",
  });

/** A free-form JSON object, kept as received. */
export const jsonObject = z
  .custom<Record<string, unknown>>(
    (value) => typeof value === "object" && value !== null && !Array.isArray(value),
    "must be an object",
  )
  .meta({ type: "object", override: { type: "object", additionalProperties: true } });
