/** Numbers and names from the specification, each with its section. The API doesn't define them anywhere else. */

/** Network values (section 1): the testnet and the mainnet only. */
export const NETWORKS = ["base-sepolia", "base"] as const;
export type Network = (typeof NETWORKS)[number];

/** The testnet (section 1). A score there is required for the mainnet (section 3.4). */
export const TESTNET: Network = "base-sepolia";
/** The mainnet (section 1). */
export const MAINNET: Network = "base";

/** Chain ids (section 1). */
export const CHAIN_IDS: Readonly<Record<Network, number>> = { "base-sepolia": 84_532, base: 8_453 };

/** CAIP-2 form of a network, `eip155:84532` (section 1). */
export function caip2Of(network: Network): string {
  return `eip155:${CHAIN_IDS[network]}`;
}

/** Public block explorers of the live networks. */
export const EXPLORERS: Readonly<Record<Network, string>> = {
  "base-sepolia": "https://sepolia.basescan.org",
  base: "https://basescan.org",
};

/** Limits of a listing's texts in characters (sections 2.2 and 8.1). */
export const TITLE_MAX_LENGTH = 100;
export const DESCRIPTION_MAX_LENGTH = 2_000;

/** Units that a price is stated for (section 2.2). */
export const PRICE_UNITS = ["per_request", "per_document", "per_hour", "per_output", "flat"] as const;

/** Currencies of a listing (section 2.2). */
export const CURRENCIES = ["USDC", "USD", "ETH", "POL"] as const;
export type Currency = (typeof CURRENCIES)[number];

/** Decimal places that a price may have: those of the token that it settles in (section 1, decision 2). */
export const CURRENCY_DECIMALS: Readonly<Record<Currency, number>> = { USDC: 6, USD: 6, ETH: 18, POL: 18 };

/** The token that a currency settles in; undefined for one that no escrow can hold (decision 2). */
export const ESCROW_TOKEN_OF: Readonly<Record<Currency, "USDC" | "WETH" | undefined>> = {
  USDC: "USDC",
  USD: "USDC",
  ETH: "WETH",
  POL: undefined,
};

/** Delivery types (section 2.2). */
export const DELIVERY_TYPES = ["webhook", "api_response", "async"] as const;

/** Status values of a listing (sections 2.2 and 3.3). */
export const SERVICE_STATUSES = ["active", "paused", "archived"] as const;
/** Status values that PATCH may write (section 3.3). */
export const WRITABLE_SERVICE_STATUSES = ["active", "paused"] as const;

/** Dispute window in seconds (sections 2.3 and 8.1). */
export const DISPUTE_WINDOW_SECONDS = { min: 300, max: 86_400, default: 300 } as const;
/**
 * The dispute windows that a checkout advises, in seconds, by the deposit's value in whole US dollars: the more is at stake,
 * the longer a buyer should have to look. The default stays the specification's.
 */
export const RECOMMENDED_DISPUTE_WINDOWS: readonly { upToUsd: number; seconds: number }[] = [
  { upToUsd: 25, seconds: 300 },
  { upToUsd: 1_000, seconds: 3_600 },
  { upToUsd: Infinity, seconds: 86_400 },
];
/** Abandonment grace in seconds (sections 2.3 and 8.1). */
export const ABANDONMENT_GRACE_SECONDS = { min: 3_600, max: 2_592_000, default: 172_800 } as const;
/** Time that the seller has to deliver, in seconds (decision 4). */
export const DELIVERY_DEADLINE_SECONDS = { min: 1_800, max: 2_592_000, default: 604_800 } as const;
/** Least seconds between an escrow's creation and its deadline: the contract refuses it later (decision 4). */
export const CHAIN_MIN_DELIVERY_SECONDS = 600;
/** How long after the delivery on chain the seller may hand the payload over, in seconds (decision 26). */
export const PAYLOAD_GRACE_SECONDS = 60;
/** Longest time that the parties have for evidence after a dispute was opened, in seconds (section 8.1, decision 26). */
export const EVIDENCE_MAX_SECONDS = 172_800;
/** Without a ruling for this long, anyone may end a dispute, in seconds (decision 8). */
export const RESOLUTION_TIMEOUT_SECONDS = 2_592_000;
/** Blocks that one read searches for events. Public servers refuse longer ranges. */
export const EVENT_SEARCH_BLOCKS = 9_000;
/**
 * Blocks that must follow a transaction of the service before it stops watching it (decision 8). On Base, 64 blocks are
 * about two minutes: far deeper than any reorganisation there, and well within the state that every node still serves.
 */
export const SENDING_CONFIRMATIONS = 64;
/** Evidence in a dispute (decision 26): items of a party, characters of a text, attachments of an item. */
export const EVIDENCE_LIMITS = { items: 20, textLength: 5_000, attachments: 10 } as const;
/** How long a quote is valid, in seconds (decision 2). */
export const QUOTE_SECONDS = 900;

/** The testnet score that mainnet checkout requires (section 3.4). */
export const MAINNET_GRADUATION_SCORE = 10;

/** On-chain score at which the discovery score reaches 1 (section 2.5). */
export const FULL_DISCOVERY_SCORE = 100;

/**
 * Job value caps in whole US dollars by on-chain score, highest first (section 8.4, decision 11). `null` is unlimited.
 * A score below the last bound gets the last cap.
 */
export const JOB_VALUE_CAPS: readonly { minScore: number; capUsd: number | null }[] = [
  { minScore: 100, capUsd: null },
  { minScore: 70, capUsd: 2_500 },
  { minScore: 30, capUsd: 100 },
  { minScore: 10, capUsd: 25 },
  { minScore: Number.NEGATIVE_INFINITY, capUsd: 10 },
];

/** Declines before the deadline count once they are of so many buyers: one or two can't lower a seller's rank (decision 6). */
export const MIN_DECLINED_BUYERS = 3;

/** Platform fee in basis points of the deposit, rounded up (sections 1 and 8.1, decision 1). */
export const PLATFORM_FEE_BPS = 200;
export const BPS_DENOMINATOR = 10_000;

/** Webhook signatures and deliveries (section 6). */
export const WEBHOOK_SIGNATURE_TOLERANCE_SECONDS = 300;
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 10_000;
export const WEBHOOK_RETRIES = 1;
export const FUNDED_BACKUP_DELAY_MS = 30_000;
/**
 * Retries of a durable webhook (decision 37): for 24 hours from the event, after random pauses up to a limit that doubles from 5
 * seconds to an hour.
 */
export const DURABLE_RETRIES = { retriedForMs: 24 * 3_600_000, firstPauseMs: 5_000, maxPauseMs: 3_600_000 };
/** A webhook that fails for so long without an acknowledgement is disabled. */
export const WEBHOOK_DISABLED_AFTER_MS = 5 * 24 * 3_600_000;
/** Registered webhooks of an agent (section 4, row 24). */
export const WEBHOOKS_PER_AGENT = 20;
export const SIGNATURE_HEADER = "X-Service-Signature";
export const EVENT_ID_HEADER = "X-Service-Event-Id";
/** Headers of Standard Webhooks (https://www.standardwebhooks.com), sent beside those of the specification. */
export const STANDARD_HEADERS = { id: "webhook-id", timestamp: "webhook-timestamp", signature: "webhook-signature" };

/** Event streams that an agent may have open (decision 25). */
export const EVENT_STREAMS_PER_AGENT = 5;

/** API keys (section 5.1): prefix, then 64 hexadecimal characters. */
export const API_KEY_PREFIX = "svc_";
export const API_KEY_HEX_LENGTH = 64;

/** Largest request body in bytes (decision 33). */
export const MAX_BODY_BYTES = 256 * 1024;

/**
 * Calls in 60 seconds by class (section 8.2, decision 34). `keyless` are the routes that need no key and have no row of
 * their own, and what no route or key answers; `registration` are auth/register and auth/keys. `RATE_LIMIT_…` variables
 * replace these numbers.
 */
export const RATE_LIMITS = {
  developerAccess: 10,
  discover: 30,
  keyless: 100,
  registration: 100,
  checkout: 20,
  fund: 20,
  deliver: 20,
  confirm: 20,
  general: 100,
  messageSend: 20,
  search: 10,
  memoryWrite: 100,
  memoryRead: 100,
  memorySearch: 10,
  inboxRead: 100,
  messageWebhook: 20,
  dispute: 10,
} as const;
export type RateClass = keyof typeof RATE_LIMITS;

/** Length of the sliding window of every class, in milliseconds (section 8.2). */
export const RATE_WINDOW_MS = 60_000;

/** So many answers of 429 within so long suspend a key for so long (section 8.2, decision 34). Times in milliseconds. */
export const SUSPENSION = { refusals: 1_000, withinMs: 600_000, forMs: 3_600_000 } as const;

/** Calls in a UTC day (section 8.3). `BUDGET_…` variables replace these numbers. */
export const DAILY_BUDGETS = { api: 10_000, message: 1_000, search: 500, transaction: 500 } as const;

/** Tiers by on-chain score, highest first, and what they multiply the budgets by (section 8.3, decision 35). */
export const TIERS = [
  { tier: "elite", minScore: 150, multiplier: 5 },
  { tier: "pro", minScore: 100, multiplier: 3 },
  { tier: "plus", minScore: 50, multiplier: 2 },
  { tier: "free", minScore: Number.NEGATIVE_INFINITY, multiplier: 1 },
] as const;
export type Tier = (typeof TIERS)[number]["tier"];

/** Page sizes of lists (decision 23). */
export const PAGE_LIMIT = { default: 20, max: 100 } as const;

/** A registration message must have been issued within this many seconds (decision 21). */
export const SIGN_IN_MAX_AGE_SECONDS = 600;
/** Longest time that other keys stay valid after a new key is issued, in seconds (decision 21). */
export const REVOKE_OTHERS_MAX_SECONDS = 86_400;

/** Ranking (decision 23): number of distinct counterparties at which a seller gets full weight. */
export const FULL_WEIGHT_COUNTERPARTIES = 10;

/** Kinds of calls that have a daily budget and a price under x402 (section 8.3). */
export const CALL_CLASSES = ["api", "message", "search", "transaction"] as const;
export type CallClass = (typeof CALL_CLASSES)[number];

/** Price of one call under x402 in US dollars (section 8.3). */
export const X402_PRICES_USD: Readonly<Record<CallClass, string>> = {
  api: "0.0001",
  message: "0.0001",
  search: "0.01",
  transaction: "0.0001",
};

/** Message of the 402 for a proof that doesn't count (section 7). */
export const X402_FAILED_MESSAGE = "x402 payment verification failed";

/** Decimals of USDC (section 1). */
export const USDC_DECIMALS = 6;

/** EIP-712 domain of USDC on each network: official x402 clients sign with it. */
export const USDC_DOMAINS: Readonly<Record<Network, { name: string; version: string }>> = {
  "base-sepolia": { name: "USDC", version: "2" },
  base: { name: "USD Coin", version: "2" },
};
/** Know Your Agent levels (section 2.8). A new agent is level 0 (decision 32). */
export const KYA_LEVELS = [0, 1, 2, 3] as const;
export type KyaLevel = (typeof KYA_LEVELS)[number];
/** Names of the levels (section 2.8), and the largest job in whole US dollars that each may buy (decision 32). */
export const KYA_LEVEL_RULES: Readonly<Record<KyaLevel, { name: string; maxJobValueUsd: number | null }>> = {
  0: { name: "Unverified", maxJobValueUsd: 1_000 },
  1: { name: "Basic", maxJobValueUsd: 1_000 },
  2: { name: "Verified", maxJobValueUsd: 10_000 },
  3: { name: "Audited", maxJobValueUsd: null },
};
/** The level that a verified mail address gives (section 2.8). */
export const KYA_EMAIL_LEVEL = 1;
/** The level that a linked payment method gives (section 2.8). */
export const KYA_PAYMENT_METHOD_LEVEL = 2;
/** How far ahead the deadline of a payment-method statement may be, in seconds. */
export const STATEMENT_MAX_AHEAD_SECONDS = 3_600;

/**
 * Fee tiers by the settled volume of the last 30 days in whole US dollars, lowest first (section 2.9, decision 22). A
 * tier starts at its bound.
 */
export const FEE_TIERS = [
  { tier: "Standard", fromUsd: 0, effectiveRate: "2.0%", effectiveRateBps: 200 },
  { tier: "Growth", fromUsd: 100_000, effectiveRate: "1.5%", effectiveRateBps: 150 },
  { tier: "Scale", fromUsd: 500_000, effectiveRate: "1.0%", effectiveRateBps: 100 },
  { tier: "Enterprise", fromUsd: 1_000_000, effectiveRate: "0.5%", effectiveRateBps: 50 },
] as const;
export type FeeTier = (typeof FEE_TIERS)[number];
/** Days of the rolling window (decision 22). */
export const FEE_WINDOW_DAYS = 30;

/** Longest series of the fractal analytics (sections 4 and 8.1). */
export const FRACTAL_MAX_LENGTH = 500;

/** Decimals of USD values on chain and in the subgraph. */
export const USD_DECIMALS = 6;
/** Inbound request signatures (decision 42): oldest and farthest ahead that `created` may be, in seconds. */
export const REQUEST_SIGNATURE_MAX_AGE_SECONDS = 300;
export const REQUEST_SIGNATURE_SKEW_SECONDS = 60;

/** Largest body of a message in bytes, and largest ciphertext (section 2.7 leaves it open). */
export const MESSAGE_MAX_BYTES = 65_536;
/** How long messages are kept, read or not, in days. */
export const MESSAGE_RETENTION_DAYS = 90;
/** Unread messages that an inbox holds, in total and from one sender. */
export const INBOX_LIMITS = { unread: 10_000, unreadPerSender: 1_000 } as const;
/** Topics that an agent may subscribe to. */
export const SUBSCRIPTIONS_MAX = 100;
/** How long a topic's message waits for room in a full inbox, in milliseconds (decision 28). */
export const TOPIC_PATIENCE_MS = 24 * 3_600_000;
/** Algorithm of an encrypted message (section 5.9, decision 28). */
export const ENCRYPTION_ALGORITHM = "ECDH-secp256k1+HKDF-SHA256+A256GCM";

/** Life of a memory entry in seconds (section 2.7, decision 27): 90 days by default, ten years at most. */
export const MEMORY_TTL_SECONDS = { min: 1, max: 315_360_000, default: 7_776_000 } as const;
/** Extension of an entry's life by one renewal: 90 days, in seconds (section 2.7). */
export const MEMORY_RENEWAL_SECONDS = 7_776_000;
/** Largest value of a memory entry in bytes of JSON (decision 27). */
export const MEMORY_VALUE_MAX_BYTES = 65_536;
/** Versions of a memory entry that can be read, the current one included (decision 27). */
export const MEMORY_VERSIONS = 50;
/** Characters of a memory entry's key, number of its tags, and characters of a tag. */
export const MEMORY_LENGTHS = { key: 256, tags: 20, tag: 64 } as const;
/** Entries of a batch or an import. */
export const MEMORY_BATCH_ENTRIES = 100;
/** An agent's storage quota: entries, and bytes of all kept versions. `MEMORY_MAX_…` variables replace these numbers. */
export const MEMORY_QUOTA = { entries: 10_000, bytes: 67_108_864 } as const;
