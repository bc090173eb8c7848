// What the API's public routes answer, as far as the pages use it.

export type Network = "base-sepolia" | "base";

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

/** Figures of deals that ended. Amounts are decimal strings of US dollars. */
export interface Figures {
  deals: number;
  volumeUsd: string;
  disputed: number;
  disputeRate: number | null;
  medianDealUsd: string | null;
  medianUnitPriceUsd: string | null;
  medianSecondsToDeliver: number | null;
  medianSecondsToRelease: number | null;
  excluded: { deals: number; volumeUsd: string };
}

/** `GET /api/v1/market/figures`. */
export interface MarketFigures {
  window: string;
  networks: readonly {
    network: Network;
    computedAt: string;
    end: string;
    indexedBlock: number;
    total: Figures;
    categories: readonly (Figures & { category: string | null })[];
  }[];
}

/** A listing as anyone may see it. */
export interface Listing {
  serviceId: string;
  title: string;
  description: string;
  category: string;
  price: number;
  priceUnit: string;
  currency: string;
  network: Network;
  deliveryType: string;
  callbackRequired: boolean;
  sellerAgentId: string;
  sellerAddress: string;
  discoveryScore: number;
}

/** One result of `POST /api/v1/discover` with `explain`. */
export interface Found extends Listing {
  relevance: number;
  /** The parts of its score, and in words what raised or lowered it. */
  explanation: { meaning: number; words: number; trust: number; reasons: readonly string[] };
}

/** `GET /api/v1/categories`. */
export interface Categories {
  categories: readonly { label: string; children: readonly { slug: string; label: string }[] }[];
}

/** `GET /api/v1/market/listings/{serviceId}`. */
export interface ListingDetails extends Listing {
  seller: {
    agentId: string;
    walletAddress: string;
    name: string;
    description: string | null;
    scores: Readonly<Record<Network, number>>;
  };
  /** Null while there are few. */
  outcomes: { released: number; resolved: number; refunded: number; abandoned: number } | null;
}

/** What one chain knows about a wallet. Amounts are decimal strings of US dollars. */
export interface ChainRecord {
  score: number;
  indexedBlock: number;
  escrows: { asBuyer: number; asSeller: number };
  outcomes: {
    released: number;
    settled: number;
    disputesWon: number;
    disputesLost: number;
    disputesSplit: number;
    abandoned: number;
    declined: number;
    lateDeclines: number;
  };
  distinctCounterparties: number;
  topCounterpartyShare: number;
  medianDealUsd: string | null;
  settledVolumeUsd: string;
  /** Newest first. */
  scoreHistory: readonly {
    escrowId: string;
    outcome: string;
    delta: number;
    score: number;
    at: string;
    blockNumber: number;
  }[];
}

/** `GET /api/v1/market/agents/{wallet}`. */
export interface Agent {
  walletAddress: string;
  /** Null while it offers nothing. */
  seller: { agentId: string; name: string; description: string | null } | null;
  /** Null for a network that can't be read. */
  networks: Readonly<Record<Network, ChainRecord | null>>;
  listings: readonly Listing[];
}

/** `GET /api/v1/market/deals/{escrowId}`. Amounts are in units of the token. */
export interface Deal {
  escrowId: string;
  network: Network;
  escrowContract: string;
  status: string;
  buyerAddress: string;
  sellerAddress: string;
  token: { symbol: string; decimals: number };
  amount: string;
  platformFee: string;
  lockedAmount: string;
  valueUsd: string;
  buyerAmount: string | null;
  sellerAmount: string | null;
  criteriaHash: string;
  proofHash: string | null;
  disputeWindow: number;
  deadlineAt: string;
  automatic: boolean | null;
  outcome: string | null;
  buyerPercent: number | null;
  resolutionMethod: string | null;
  rationaleHash: string | null;
  moves: readonly { event: string; at: string; txHash: string; blockNumber: number }[];
  next: readonly { move: string; by: string; text: string; opensAt: string | null; availableUntil: string | null }[];
  chainTime: string;
  indexedBlock: number;
}

/** A dispute that has ended. */
export interface EndedDispute {
  escrowId: string;
  network: Network;
  valueUsd: string;
  outcome: string;
  buyerPercent: number;
  resolvedBy: string | null;
  resolutionMethod: string | null;
  rationaleHash: string | null;
  /** Null without a ruling. */
  document: string | null;
  disputedAt: string;
  settledAt: string;
}

/** `GET /api/v1/market/disputes`, beside its `data`. */
export interface DisputePage {
  nextCursor: string | null;
  /** Null on later pages, and while few have ended. */
  statistics: {
    ended: number;
    outcomes: { buyer: number; seller: number; split: number };
    methods: { ruling: number; admin: number; agreement: number; timeout: number };
    medianSeconds: number;
  } | null;
}

/** `ok`, `late` or `down`. */
export type PartState = string;

/** Minutes by state. */
export interface StatusMinutes {
  ok: number;
  late: number;
  down: number;
}

/** `GET /api/v1/market/status`. */
export interface ServiceStatus {
  state: PartState;
  version: string;
  database: PartState;
  search: PartState;
  queues: PartState;
  networks: readonly {
    network: Network;
    state: PartState;
    chain: PartState;
    headBlock: number | null;
    subgraph: PartState;
    indexedBlock: number | null;
    follower: PartState;
    lagSeconds: number | null;
    keeper: PartState | null;
    rulings: PartState;
  }[];
  /** The last hours, the oldest first; null while the database is down. */
  history: readonly { start: string; all: StatusMinutes; "base-sepolia": StatusMinutes; base: StatusMinutes }[] | null;
}

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
