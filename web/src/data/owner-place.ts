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

/** States of listings, as the API's list takes them. */
export const LISTING_STATUSES = ["active", "paused", "archived"] as const;
/** A state of listings. */
export type ListingStatus = (typeof LISTING_STATUSES)[number];

/** What an owner's page shows. */
export type OwnerPlace =
  | { page: "home" }
  | { page: "deals"; filters: DealFilters }
  | { page: "deal"; transactionId: string }
  | { page: "keys" }
  | { page: "webhooks" }
  | { page: "listings"; status: ListingStatus }
  | { page: "newListing" }
  | { page: "listing"; serviceId: string }
  /** The listing to hire; empty if the address names none. */
  | { page: "hire"; serviceId: string };

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
const HIRE = "/me/hire";
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
const LISTINGS = "/me/listings";
/** The address of a form for a new listing. */
export const NEW_LISTING_ADDRESS = `${LISTINGS}/new`;
const LISTING = /^\/me\/listings\/([A-Za-z0-9_-]{1,64})$/;
const SERVICE_ID = /^[A-Za-z0-9_-]{1,100}$/;
const INTENT_ID = /^[!-~]{1,128}$/;
const NAMES = ["role", "status", "network", "serviceId", "intentId"] as const;

/** Whether an owner's page has this path. */
export function isOwnerPath(pathname: string): boolean {
  const hasQuery = pathname === DEALS || pathname === LISTINGS || pathname === HIRE;
  return hasQuery || Object.hasOwn(PLAIN, pathname) || DEAL.test(pathname) || LISTING.test(pathname);
}

/** What the owner's page at an address shows. */
export function ownerPlaceOf(pathname: string, search: string): OwnerPlace {
  const transactionId = DEAL.exec(pathname)?.[1];
  if (transactionId !== undefined) return { page: "deal", transactionId };
  if (pathname === DEALS) return { page: "deals", filters: readFilters(new URLSearchParams(search)) };
  if (pathname === LISTINGS) return { page: "listings", status: readStatus(new URLSearchParams(search)) };
  if (pathname === HIRE) return { page: "hire", serviceId: readService(new URLSearchParams(search)) };
  if (pathname === NEW_LISTING_ADDRESS) return { page: "newListing" };
  const serviceId = LISTING.exec(pathname)?.[1];
  if (serviceId !== undefined) return { page: "listing", serviceId };
  return Object.hasOwn(PLAIN, pathname) ? (PLAIN[pathname] ?? HOME) : HOME;
}

function readService(search: URLSearchParams): string {
  const given = search.get("service") ?? "";
  return SERVICE_ID.test(given) ? given : "";
}

/** The address where an owner hires a listing. */
export function hireAddress(serviceId: string): string {
  return `${HIRE}?service=${encodeURIComponent(serviceId)}`;
}

function readStatus(search: URLSearchParams): ListingStatus {
  const given = search.get("status");
  return LISTING_STATUSES.find((status) => status === given) ?? "active";
}

/** The address of the agent's listings in a state. */
export function listingsAddress(status: ListingStatus = "active"): string {
  return status === "active" ? LISTINGS : `${LISTINGS}?status=${status}`;
}

/** The address of a listing's own page. */
export function ownListingAddress(serviceId: string): string {
  return `${LISTINGS}/${encodeURIComponent(serviceId)}`;
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
