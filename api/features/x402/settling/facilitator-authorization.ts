import { randomBytes } from "node:crypto";

import type { FacilitatorConfig } from "@x402/core/http";
import { SignJWT } from "jose";

import type { FacilitatorKey } from "../../../config/facilitator-key.ts";

type CreateAuthHeaders = NonNullable<FacilitatorConfig["createAuthHeaders"]>;

/** How long a token is valid, in seconds. */
const TOKEN_SECONDS = 120;
const NONCE_BYTES = 16;

/**
 * Authorises requests to a facilitator with a key of the Coinbase Developer Platform. Each request gets its own token,
 * valid for two minutes and only for this method and address. The token matches `generateJwt` of `@coinbase/cdp-sdk`, which
 * isn't used because it depends on axios and the Solana packages.
 */
export function facilitatorAuthorization(url: string, key: FacilitatorKey): CreateAuthHeaders {
  const { host, pathname } = new URL(url);
  const base = host + pathname.replace(/\/+$/, "");

  async function headersFor(endpoint: string): Promise<Record<string, string>> {
    const token = await new SignJWT({ uris: [`POST ${base}/${endpoint}`] })
      .setProtectedHeader({
        alg: key.privateKey.asymmetricKeyType === "ed25519" ? "EdDSA" : "ES256",
        kid: key.id,
        typ: "JWT",
        nonce: randomBytes(NONCE_BYTES).toString("hex"),
      })
      .setSubject(key.id)
      .setIssuer("cdp")
      .setIssuedAt()
      .setNotBefore("0s")
      .setExpirationTime(`${TOKEN_SECONDS}s`)
      .sign(key.privateKey);
    return { Authorization: `Bearer ${token}` };
  }

  return async () => {
    const [verify, settle] = await Promise.all([headersFor("verify"), headersFor("settle")]);
    return { verify, settle };
  };
}
