import { RATE_WINDOW_MS } from "../config/constants.ts";
import type { CallClass, RateClass } from "../config/constants.ts";
import type { AuthPolicy, Caller, RouteDefinition } from "./define-route.ts";
import type { PageRequest } from "./page-session.ts";
import type { BudgetState } from "./payment-required.ts";

/** A sliding window as a call left it. */
export interface RateState {
  /** The class whose calls the window counts. */
  rateClass: RateClass;
  /** Calls in a window. */
  limit: number;
  remaining: number;
  /** Seconds until the window holds no call and the whole limit is free again. */
  resetSeconds: number;
  /** Seconds until the oldest call leaves the window and makes room for another; 0 if the window holds no call. */
  nextSeconds: number;
}

/** The values of each header: one for each time that a request has it. */
export type DistinctHeaders = Readonly<Record<string, string[] | undefined>>;

/** The facts that decide whether a request is admitted. */
export interface AdmissionRequest {
  auth: AuthPolicy;
  /** Undefined for a route that is never limited. */
  rateClass: RateClass | undefined;
  /** Undefined for a route that draws on no budget. */
  budget: CallClass | undefined;
  headers: DistinctHeaders;
  /** Address of the client, following TRUST_PROXY. */
  ip: string;
  /** Undefined for a request that the service makes of itself: no page has sent it. */
  page?: PageRequest | undefined;
}

/** An admitted request. */
export interface Admission {
  /** Undefined for a request without a key on a route that doesn't require one. */
  caller: Caller | undefined;
  rate: RateState;
  /** Undefined without a caller and for a route that draws on no budget. */
  budget: BudgetState | undefined;
  /**
   * Ends the reservation of the budget: the call counts if it was served. Never throws. Must be called once for each
   * admission; a reservation that no process ends expires and counts nothing.
   */
  settle(served: boolean): Promise<void>;
}

/** Knows keys, limits and budgets. */
export interface AdmissionControl {
  /** Window of a client without calls, for answers that count nothing. */
  emptyWindow: RateState;
  /**
   * Counts a request, finds its caller and reserves a call of its budget.
   * @throws ApiError `invalid_api_key`, `rate_limit_exceeded`, `too_many_attempts`, and the codes of `SESSION_ERRORS`
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /**
   * Counts a request that no route answers.
   * @throws ApiError `rate_limit_exceeded`
   */
  countAnonymous(ip: string): Promise<RateState>;
}

/**
 * The headers that every answer has: those of the specification (section 8.2), and the fields of
 * draft-ietf-httpapi-ratelimit-headers-10, whose `t` is the time until there is more quota.
 */
export function rateHeaders({ rateClass, limit, remaining, resetSeconds, nextSeconds }: RateState) {
  const next = remaining < limit ? `;t=${nextSeconds}` : "";
  return {
    "X-RateLimit-Limit": String(limit),
    "X-RateLimit-Remaining": String(remaining),
    "X-RateLimit-Reset": String(resetSeconds),
    "RateLimit-Policy": `"${rateClass}";q=${limit};w=${RATE_WINDOW_MS / 1_000}`,
    RateLimit: `"${rateClass}";r=${remaining}${next}`,
  };
}

/** Classes that count by client address. */
const CLIENT_CLASSES = [
  "developerAccess",
  "discover",
  "keyless",
  "registration",
] as const satisfies readonly RateClass[];
export type ClientClass = (typeof CLIENT_CLASSES)[number];

/** Whether a class counts by client address instead of by key. */
export function isClientClass(rateClass: RateClass): rateClass is ClientClass {
  return (CLIENT_CLASSES as readonly RateClass[]).includes(rateClass);
}

/** The classes of a call, which may depend on whether its query has a parameter. */
export function classesOf(
  route: Pick<RouteDefinition<never>, "limitClass" | "budget" | "withParameter">,
  query: Readonly<Record<string, unknown>>,
): Pick<AdmissionRequest, "rateClass" | "budget"> {
  const { withParameter: special } = route;
  const { limitClass, budget } = special !== undefined && Object.hasOwn(query, special.name) ? special : route;
  return {
    rateClass: limitClass === "unlimited" ? undefined : limitClass,
    budget: budget === "none" ? undefined : budget,
  };
}
