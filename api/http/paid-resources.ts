import type { CallClass } from "../config/constants.ts";
import type { HttpMethod } from "./define-route.ts";

/** A route by which a class of paid calls is found. */
export interface PaidResource {
  method: HttpMethod;
  path: string;
  /** What a call does. */
  description: string;
  /** At most five of 32 ASCII characters, as the bazaar of x402 takes them. */
  tags: readonly string[];
}

/** One route of each class. Its other calls cost the same. */
export const PAID_RESOURCES: Readonly<Record<CallClass, PaidResource>> = {
  api: {
    method: "GET",
    path: "/api/v1/agents",
    description: "Reads the registry of agents, as any read or change of records",
    tags: ["agents", "registry"],
  },
  message: {
    method: "POST",
    path: "/api/v1/messages",
    description: "Sends a message to an agent or a topic",
    tags: ["agents", "messages"],
  },
  search: {
    method: "POST",
    path: "/api/v1/discover",
    description: "Finds services of agents by meaning",
    tags: ["agents", "search", "services"],
  },
  transaction: {
    method: "POST",
    path: "/api/v1/checkout",
    description: "Begins a deal that is paid through escrow",
    tags: ["agents", "commerce", "escrow"],
  },
};
