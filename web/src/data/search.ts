import { isNetwork } from "./answers.ts";
import type { ApiRequest } from "./answers.ts";

/** What a search asks for, as the address of its page has it. Empty texts ask for anything. */
export interface SearchQuery {
  q: string;
  network: string;
  category: string;
  /** Most that a unit may cost, in US dollars: a decimal number. */
  maxPrice: string;
  /** Least trust in the seller, 0 to 1. */
  minScore: string;
}

/** The filters beside the words. */
export type SearchFilter = Exclude<keyof SearchQuery, "q">;

/** Longest query that the search box takes, in characters. */
export const QUERY_LENGTH = 200;
/** Results of one search. */
const MOST = 20;
const SLUG = /^[a-z0-9_]{1,40}$/;
const DECIMAL = /^\d{1,12}(\.\d{1,6})?$/;

/** Reads a search from an address. What no search can ask for is left out. */
export function readSearch(search: URLSearchParams): SearchQuery {
  const given = (name: keyof SearchQuery) => (search.get(name) ?? "").trim();
  const taken = (name: SearchFilter, isTaken: (value: string) => boolean) => {
    const value = given(name);
    return isTaken(value) ? value : "";
  };
  return {
    q: Array.from(given("q")).slice(0, QUERY_LENGTH).join("").toWellFormed(),
    network: taken("network", isNetwork),
    category: taken("category", (value) => SLUG.test(value)),
    maxPrice: taken("maxPrice", (value) => DECIMAL.test(value)),
    minScore: taken("minScore", (value) => DECIMAL.test(value) && Number(value) <= 1),
  };
}

/** The canonical address of a search: without what asks for anything. */
export function searchAddress(query: SearchQuery): string {
  const names = ["q", "network", "category", "maxPrice", "minScore"] as const;
  const asked = names.filter((name) => query[name] !== "").map((name) => [name, query[name]]);
  return asked.length === 0 ? "/search" : `/search?${new URLSearchParams(asked).toString()}`;
}

/** What the API is asked. */
export function searchRequest({ q, network, category, maxPrice, minScore }: SearchQuery): ApiRequest {
  const filters = {
    ...(network === "" ? {} : { network }),
    ...(category === "" ? {} : { category }),
    ...(maxPrice === "" ? {} : { maxPrice: Number(maxPrice) }),
    ...(minScore === "" ? {} : { minTrustScore: Number(minScore) }),
  };
  return { path: "/api/v1/discover", body: { query: q, filters, limit: MOST, explain: true } };
}
