import { isNetwork } from "./answers.ts";
import type { ApiRequest } from "./answers.ts";
import { OPERATOR } from "./operator-place.ts";
import { isOwnerPath } from "./owner-place.ts";
import { readSearch, searchAddress, searchRequest } from "./search.ts";
import { WINDOWS } from "./windows.ts";

/** The page at an address, and the API's answers that it needs. */
export interface Route {
  page: "market" | "search" | "listing" | "agent" | "deal" | "disputes" | "status" | "home" | "operator";
  /** The canonical path and search. */
  address: string;
  /** The window of the market's figures, or the id in the path. */
  subject: string;
  /** Requests of the API by name. */
  requests: Readonly<Record<string, ApiRequest>>;
}

const API = "/api/v1/market";
const LISTED = 8;
const ESCROW_ID = /^\/deals\/(0x[0-9a-fA-F]{64})$/;
const CURSOR = /^[A-Za-z0-9_-]{1,200}$/;
const WALLET = /^\/agents\/(0x[0-9a-fA-F]{40})$/;
const LISTING_ID = /^\/listings\/([A-Za-z0-9_-]{1,64})$/;

/** Finds the page at an address. @returns undefined if no page has this address */
export function routeOf(pathname: string, search: string): Route | undefined {
  if (pathname === "/") return marketRoute(new URLSearchParams(search));
  const listing = LISTING_ID.exec(pathname)?.[1];
  if (listing !== undefined) return listingRoute(listing);
  const deal = ESCROW_ID.exec(pathname)?.[1];
  if (deal !== undefined) return dealRoute(deal.toLowerCase(), new URLSearchParams(search));
  const wallet = WALLET.exec(pathname)?.[1];
  if (wallet !== undefined) return agentRoute(wallet.toLowerCase());
  if (pathname === "/search") return searchRoute(new URLSearchParams(search));
  if (pathname === "/disputes") return disputesRoute(new URLSearchParams(search));
  if (pathname === "/status") return statusRoute();
  // All are served as one page, which asks in the browser for what belongs to a session.
  if (isOwnerPath(pathname)) return { page: "home", address: "/me", subject: "", requests: {} };
  if (pathname === OPERATOR) return { page: "operator", address: OPERATOR, subject: "", requests: {} };
  return undefined;
}

function marketRoute(search: URLSearchParams): Route {
  const given = search.get("window") ?? "";
  const window = WINDOWS.find(({ id }) => id === given)?.id ?? DEFAULT_WINDOW;
  return {
    page: "market",
    address: window === DEFAULT_WINDOW ? "/" : `/?window=${window}`,
    subject: window,
    requests: {
      figures: `${API}/figures?window=${window}`,
      newest: `${API}/listings?sort=newest&limit=${LISTED}`,
      trusted: `${API}/listings?sort=trusted&limit=${LISTED}`,
    },
  };
}

function searchRoute(search: URLSearchParams): Route {
  const query = readSearch(search);
  return {
    page: "search",
    address: searchAddress(query),
    subject: query.q,
    requests: {
      ...(query.q === "" ? {} : { found: searchRequest(query) }),
      categories: "/api/v1/categories",
    },
  };
}

function listingRoute(serviceId: string): Route {
  return {
    page: "listing",
    address: `/listings/${serviceId}`,
    subject: serviceId,
    requests: { listing: `${API}/listings/${serviceId}` },
  };
}

function dealRoute(escrowId: string, search: URLSearchParams): Route {
  const given = search.get("network") ?? "";
  const query = isNetwork(given) ? `?network=${given}` : "";
  return {
    page: "deal",
    address: `/deals/${escrowId}${query}`,
    subject: escrowId,
    requests: { deal: `${API}/deals/${escrowId}${query}` },
  };
}

function agentRoute(wallet: string): Route {
  return {
    page: "agent",
    address: `/agents/${wallet}`,
    subject: wallet,
    requests: { agent: `${API}/agents/${wallet}` },
  };
}

function disputesRoute(search: URLSearchParams): Route {
  const given = { network: search.get("network") ?? "", cursor: search.get("cursor") ?? "" };
  const query = new URLSearchParams();
  if (isNetwork(given.network)) query.set("network", given.network);
  if (CURSOR.test(given.cursor)) query.set("cursor", given.cursor);
  const asked = query.toString();
  return {
    page: "disputes",
    address: asked === "" ? "/disputes" : `/disputes?${asked}`,
    subject: query.get("network") ?? "",
    requests: { disputes: `${API}/disputes?${new URLSearchParams([["limit", "50"], ...query]).toString()}` },
  };
}

function statusRoute(): Route {
  return { page: "status", address: "/status", subject: "", requests: { status: `${API}/status` } };
}

const DEFAULT_WINDOW = "7d";
