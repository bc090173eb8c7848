import { z } from "zod";

const MESSAGE_MAX_LENGTH = 4_000;

/** A text that a wallet signs (docs/api/sign-in.md). */
export const messageSchema = z
  .string()
  .min(1)
  .max(MESSAGE_MAX_LENGTH)
  .meta({
    id: "SignInMessage",
    description:
      "EIP-4361 text: domain and URI of this service, chain id 84532 or 8453, a nonce of letters and digits used once, " +
      "issued within the last 10 minutes, with a statement that names its purpose; nothing else, and nothing after its end",
  });

/** The wallet's signature of the text. */
export const signatureSchema = z
  .string()
  .regex(/^0x[0-9a-fA-F]{130}$/, "Must be an EIP-191 signature: 0x and 130 hexadecimal digits")
  .transform((text) => text as `0x${string}`)
  .meta({ override: { type: "string", pattern: "^0x[0-9a-fA-F]{130}$" } });
