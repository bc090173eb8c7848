import { isNetwork } from "./answers.ts";

/** Filters of an owner's deals, as the API's list takes them. Empty texts ask for all. */
export interface DealFilters {
  role: string;
  status: string;
  network: string;
  serviceId: string;
  /** Of deals that the agent buys. */
  intentId: string;
}

/** Filters that all deals pass. */
export const NO_FILTERS: DealFilters = { role: "", status: "", network: "", serviceId: "", intentId: "" };

/** What an owner's page shows. */
export type OwnerPlace =
  | { page: "home" }
  | { page: "deals"; filters: DealFilters }
  | { page: "deal"; transactionId: string }
  | { page: "keys" }
  | { page: "webhooks" };

/** States of deals, as the API's list takes them. */
export const DEAL_STATUSES = [
  "pending_funding",
  "funded",
  "delivered",
  "disputed",
  "released",
  "resolved",
  "refunded",
  "abandoned",
  "expired",
] as const;

const DEALS = "/me/deals";
/** The address of keys, mandates and approvals. */
export const KEYS_ADDRESS = "/me/keys";
/** The address of webhooks and what they got. */
export const WEBHOOKS_ADDRESS = "/me/webhooks";
const HOME: OwnerPlace = { page: "home" };
/** Pages whose address says all about them. */
const PLAIN: Readonly<Record<string, OwnerPlace>> = {
  "/me": HOME,
  [KEYS_ADDRESS]: { page: "keys" },
  [WEBHOOKS_ADDRESS]: { page: "webhooks" },
};
const DEAL = /^\/me\/deals\/([A-Za-z0-9_-]{1,100})$/;
const SERVICE_ID = /^[A-Za-z0-9_-]{1,100}$/;
const INTENT_ID = /^[!-~]{1,128}$/;
const NAMES = ["role", "status", "network", "serviceId", "intentId"] as const;

/** Whether an owner's page has this path. */
export function isOwnerPath(pathname: string): boolean {
  return Object.hasOwn(PLAIN, pathname) || pathname === DEALS || DEAL.test(pathname);
}

/** What the owner's page at an address shows. */
export function ownerPlaceOf(pathname: string, search: string): OwnerPlace {
  const transactionId = DEAL.exec(pathname)?.[1];
  if (transactionId !== undefined) return { page: "deal", transactionId };
  if (pathname === DEALS) return { page: "deals", filters: readFilters(new URLSearchParams(search)) };
  return Object.hasOwn(PLAIN, pathname) ? (PLAIN[pathname] ?? HOME) : HOME;
}

/** Reads the filters of an address. What the API's list doesn't take is left out. */
export function readFilters(search: URLSearchParams): DealFilters {
  const taken = (name: (typeof NAMES)[number], isTaken: (value: string) => boolean) => {
    const value = (search.get(name) ?? "").trim();
    return isTaken(value) ? value : "";
  };
  const role = taken("role", (value) => value === "buyer" || value === "seller");
  return {
    role,
    status: taken("status", (value) => DEAL_STATUSES.some((status) => status === value)),
    network: taken("network", isNetwork),
    serviceId: taken("serviceId", (value) => SERVICE_ID.test(value)),
    intentId: taken("intentId", (value) => role !== "seller" && INTENT_ID.test(value)),
  };
}

/** The filters as a query, without what asks for all. */
export function filterQuery(filters: DealFilters): URLSearchParams {
  const query = new URLSearchParams();
  for (const name of NAMES) if (filters[name] !== "") query.set(name, filters[name]);
  return query;
}

/** The address of the deals that pass these filters. */
export function dealsAddress(filters: DealFilters): string {
  const query = filterQuery(filters).toString();
  return query === "" ? DEALS : `${DEALS}?${query}`;
}

/** The address of a deal's own page. */
export function ownDealAddress(transactionId: string): string {
  return `${DEALS}/${encodeURIComponent(transactionId)}`;
}
