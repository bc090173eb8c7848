import { createPrivateKey, createPublicKey } from "node:crypto";
import type { KeyObject } from "node:crypto";

import { z } from "zod";

/** A key of the Coinbase Developer Platform, with which requests to its facilitator are authorised. */
export interface FacilitatorKey {
  id: string;
  /** Ed25519 or P-256. */
  privateKey: KeyObject;
}

const SEED_BYTES = 32;
const ED25519_BYTES = 2 * SEED_BYTES;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** A key's secret in a variable: base64 of an Ed25519 seed and public key, or a P-256 key as PEM. */
export const facilitatorSecret = z.string().transform((text, context) => {
  const key = text.includes("-----BEGIN") ? pemKey(text) : ed25519Key(text);
  if (key !== undefined) return key;
  context.addIssue("must be the secret of an Ed25519 key (base64) or of an ECDSA key (PEM)");
  return z.NEVER;
});

/** Environment files often hold the line breaks of a PEM as `\n`. */
function pemKey(text: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(text.replaceAll("\\n", "\n"));
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}

function ed25519Key(text: string): KeyObject | undefined {
  const bytes = BASE64.test(text) ? Buffer.from(text, "base64") : Buffer.alloc(0);
  if (bytes.length !== ED25519_BYTES) return undefined;
  const x = bytes.subarray(SEED_BYTES).toString("base64url");
  const jwk = { kty: "OKP", crv: "Ed25519", d: bytes.subarray(0, SEED_BYTES).toString("base64url"), x };
  try {
    const key = createPrivateKey({ key: jwk, format: "jwk" });
    // A secret that was copied incompletely or with an error has another public key.
    return createPublicKey(key).export({ format: "jwk" }).x === x ? key : undefined;
  } catch {
    return undefined;
  }
}
