import type { Decision, Service } from "../../../sdk/src/generated/api-types.ts";
import type { Categories, KeptSession } from "../data/answers.ts";
import { readIfThere, readOwn, readPage, Refused } from "./api.ts";
import type { Reading } from "./api.ts";

/** What the list of listings shows. */
export interface ListingsData {
  /** Newest first. */
  listings: readonly Service[];
  /** Where the next page begins; null after the last. */
  nextCursor: string | null;
  /** What the operator decided about the agent, newest first. */
  decisions: readonly Decision[];
  /** When it was read, in milliseconds. */
  readAt: number;
}

/** What a listing's page shows. */
export interface OwnListingData {
  listing: Service;
  /** The decision that hides it, with the appeal against it; undefined if none does. */
  decision: Decision | undefined;
  readAt: number;
}

interface ServicePage {
  data: Service[];
  nextCursor: string | null;
}

const PAGE = 100;
const SERVICES = "/api/v1/services";

/** The address of a listing in the API. */
export function listingPath(serviceId: string): string {
  return `${SERVICES}/${encodeURIComponent(serviceId)}`;
}

/** Reads the first pages of an agent's listings in a state, and the decisions: a call for each page, and one. */
export function readListings(
  session: KeptSession,
  status: string,
  pages: () => number,
): Promise<Reading<ListingsData>> {
  const ask = (cursor: string | null) => {
    const query = new URLSearchParams({ sellerId: session.agentId, status, limit: String(PAGE) });
    if (cursor !== null) query.set("cursor", cursor);
    return readOwn<ServicePage>(session, `${SERVICES}?${query.toString()}`);
  };
  return readPage(async () => {
    const [first, decisions] = await Promise.all([ask(null), readDecisions(session)]);
    const listings = new Map(first.data.map((listing) => [listing.id, listing]));
    let { nextCursor } = first;
    for (let read = 1; nextCursor !== null && read < pages(); read += 1) {
      const page = await ask(nextCursor);
      for (const listing of page.data) listings.set(listing.id, listing);
      nextCursor = page.nextCursor;
    }
    return { listings: [...listings.values()], nextCursor, decisions, readAt: Date.now() };
  });
}

/** The newest decisions; none if they can't be read at the moment. */
async function readDecisions(session: KeptSession): Promise<readonly Decision[]> {
  const answer = await readIfThere<{ data: Decision[] }>(session, `/api/v1/moderation/decisions?limit=${PAGE}`);
  return answer?.data ?? [];
}

const NOT_FOUND = 404;

/** Reads a listing of the agent: one call, and another one while it is hidden. Another's listing is missing. */
export function readOwnListing(session: KeptSession, serviceId: string): Promise<Reading<OwnListingData>> {
  return readPage(async () => {
    const { data: listing } = await readOwn<{ data: Service }>(session, listingPath(serviceId));
    if (listing.sellerAgentId !== session.agentId) throw new Refused({ status: NOT_FOUND, body: undefined });
    const id = listing.moderation?.decisionId;
    const decision = id === undefined ? undefined : (await readDecisions(session)).find((one) => one.id === id);
    return { listing, decision, readAt: Date.now() };
  });
}

/** How discover finds a listing, once it was asked. */
export function visibilityPath(serviceId: string): string {
  return `${listingPath(serviceId)}/visibility`;
}

/** Categories that a listing can have; undefined if they can't be read at the moment. */
export async function readCategories(session: KeptSession): Promise<Categories["categories"] | undefined> {
  return (await readIfThere<Categories>(session, "/api/v1/categories"))?.categories;
}
