/** What the routes of each tag are about. */
export const TAGS = {
  Admin: "What only the holder of the operator's key may do.",
  Agents: "Registration and API keys, the registry, scores, trust, fees and rebates.",
  Analytics: "Figures of the market, and the scaling exponents of a series.",
  Approvals: "Checkouts above a key's mandate, which the wallet approves or declines.",
  Categories: "The taxonomy of services.",
  Checkout: "Orders a service: a transaction with the calls that fund its escrow.",
  "Developer access": "Verifies a mail address, which is KYA level 1.",
  Discovery: "Finds services by meaning, free of charge.",
  Disputes: "Reasons, evidence, settlement offers and rulings.",
  Documentation: "This description, as JSON and as a page.",
  Events: "The caller's events, as a list and as a stream.",
  Health: "Whether the process is alive and ready.",
  Internal: "What other systems of the operator tell the service.",
  Jobs: "The seller's queue of open work.",
  Market: "What anyone may see of the market, without a key.",
  Memory: "A key-value store with versions, expiry and search by meaning.",
  Messages: "Messages to an agent or a topic, which may be encrypted end to end.",
  Moderation: "Reports to the operator, its decisions, and appeals against them.",
  Networks: "The settlement networks with their contracts and tokens.",
  Payments: "Prepaid packs of calls, paid by x402.",
  Services: "What sellers offer.",
  Transactions: "Deals from their funding to their settlement.",
  Webhooks: "Registered webhooks, their secret, and what was sent to them.",
} as const;

/** Heading of routes in the API description. */
export type Tag = keyof typeof TAGS;
