import { createHmac } from "node:crypto";

import type { EndpointDirectory } from "./ports.ts";
import type { WebhookSecrets } from "../webhooks/secrets/service.ts";
import type { Reading } from "./reader.ts";

/** URL and token for the buyer of an `api_response` service to call the seller directly. */
export interface JobAccess {
  url: string;
  /** Compact JWS (HS256) with the seller's webhook secret, so the seller can verify it offline. */
  jobToken: string;
}

/** Dependencies of job access. */
export interface JobAccessOptions {
  endpoints: EndpointDirectory;
  secrets: Pick<WebhookSecrets, "stateOf">;
  /** The token's issuer: the marketplace. */
  issuer: string;
}

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A compact JWS of claims, signed with HMAC-SHA256. */
export function signJobToken(secret: string, claims: object): string {
  const signed = `${base64url({ alg: "HS256", typ: "JWT" })}.${base64url(claims)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** Creates job access for the buyer of a funded `api_response` job; undefined in all other cases. */
export function createJobAccess({ endpoints, secrets, issuer }: JobAccessOptions) {
  return async ({ record, role }: Pick<Reading, "record" | "role">): Promise<JobAccess | undefined> => {
    const isCallable = role === "buyer" && record.deliveryType === "api_response" && record.status === "funded";
    if (!isCallable || record.serviceId === null || record.sellerAgentId === null) return undefined;
    const url = (await endpoints.endpointUrls([record.serviceId])).get(record.serviceId);
    if (url === undefined) return undefined;
    const { secret } = await secrets.stateOf(record.sellerAgentId);
    const jobToken = signJobToken(secret, {
      iss: issuer,
      sub: record.buyerAgentId,
      aud: record.sellerAgentId,
      exp: record.deadline,
      transactionId: record._id,
      escrowId: record.escrowId,
      network: record.network,
    });
    return { url, jobToken };
  };
}
