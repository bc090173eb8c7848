import { privateKeyToAddress } from "viem/accounts";
import { z } from "zod";

/** A private key in a variable: 0x and 64 hexadecimal digits that are a point of secp256k1. */
export const privateKey = z
  .templateLiteral(["0x", z.string().regex(/[0-9a-fA-F]{64}/)], { error: "must be 0x and 64 hexadecimal digits" })
  .refine(isPrivateKey, "isn't a private key");

function isPrivateKey(key: string): boolean {
  try {
    privateKeyToAddress(key as `0x${string}`);
    return true;
  } catch {
    return false;
  }
}
