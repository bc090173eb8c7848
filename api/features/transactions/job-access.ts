import { SignJWT } from "jose";

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

/** Creates job access for the buyer of a funded `api_response` job; undefined in all other cases. */
export function createJobAccess({ endpoints, secrets, issuer }: JobAccessOptions) {
  return async ({ record, role }: Pick<Reading, "record" | "role">): Promise<JobAccess | undefined> => {
    const isCallable = role === "buyer" && record.deliveryType === "api_response" && record.status === "funded";
    if (!isCallable || record.serviceId === null || record.sellerAgentId === null) return undefined;
    const url = (await endpoints.endpointUrls([record.serviceId])).get(record.serviceId);
    if (url === undefined) return undefined;
    const { secret } = await secrets.stateOf(record.sellerAgentId);
    const jobToken = await new SignJWT({
      iss: issuer,
      ...(record.buyerAgentId === null ? {} : { sub: record.buyerAgentId }),
      aud: record.sellerAgentId,
      exp: record.deadline,
      transactionId: record._id,
      escrowId: record.escrowId,
      network: record.network,
    })
      .setProtectedHeader({ alg: "HS256", typ: "JWT" })
      .sign(Buffer.from(secret));
    return { url, jobToken };
  };
}
