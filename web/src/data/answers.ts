// What the API's public routes answer, under the names that pages use.
import type * as wire from "../../../sdk/src/generated/api-types.ts";

export type Network = wire.Network;

/** Networks in the order in which pages show them. */
export const NETWORKS: readonly Network[] = ["base-sepolia", "base"];

/** Whether a text of an address names a network. */
export const isNetwork = (text: string): boolean => NETWORKS.some((network) => network === text);

/** A request of the API: path and query, or also a body that is posted. */
export type ApiRequest = string | { path: string; body: unknown };

/** An answer as server and browser keep it. */
export interface Answer {
  status: number;
  body: unknown;
  /** When an address that asked too often may ask again. */
  retryAfterSeconds?: number;
}

/** The answers that a page is made of, by name. */
export type Answers = Readonly<Record<string, Answer>>;

/** Figures of deals that ended. */
export type Figures = wire.MarketFigures;
/** `GET /api/v1/market/figures`. */
export type MarketFigures = wire.Market;
/** A listing as anyone may see it. */
export type Listing = wire.PublicListing;
/** One result of `POST /api/v1/discover` with `explain`. */
export type Found = wire.DiscoverResult & { explanation: wire.SearchExplanation };
/** `GET /api/v1/categories`. */
export type Categories = wire.Taxonomy;
/** `GET /api/v1/market/listings/{serviceId}`. */
export type ListingDetails = wire.ListingDetails;
/** What one chain knows about a wallet. */
export type ChainRecord = wire.ChainRecord;
/** `GET /api/v1/market/agents/{wallet}`. */
export type Agent = wire.PublicAgent;
/** `GET /api/v1/market/deals/{escrowId}`. */
export type Deal = wire.PublicDeal;
/** A dispute that has ended. */
export type EndedDispute = wire.EndedDispute;
/** `GET /api/v1/market/disputes`, beside its `data`. */
export type DisputePage = Omit<wire.EndedDisputePage, "data">;
export type PartState = wire.PartState;
/** Minutes by state. */
export type StatusMinutes = wire.StatusMinutes;
/** `GET /api/v1/market/status`. */
export type ServiceStatus = wire.MarketStatus;

/** A session as a page keeps it. Its id is in a cookie that no script reads. */
export interface KeptSession {
  /** For the header `X-Session-Token`; no route gives it out again. */
  token: string;
  agentId: string;
  walletAddress: string;
  scopes: readonly string[];
  /** When it ends in any case: ISO 8601. */
  endsAt: string;
}

/** Data of an answer, or why there are none. */
export type Loaded<Data> =
  | { kind: "there"; data: Data }
  | { kind: "missing" }
  | { kind: "refused"; status: number }
  | { kind: "unavailable"; status: number };

const OK = 200;
const NOT_FOUND = 404;
const FIRST_SERVER_ERROR = 500;

/** Reads an answer's data from its envelope. */
export function loaded<Data>(answer: Answer | undefined): Loaded<Data> {
  if (answer === undefined) return { kind: "unavailable", status: 0 };
  const { status, body } = answer;
  if (status === OK) return { kind: "there", data: (body as { data: Data }).data };
  if (status === NOT_FOUND) return { kind: "missing" };
  if (status >= FIRST_SERVER_ERROR || status === 0) return { kind: "unavailable", status };
  return { kind: "refused", status };
}
