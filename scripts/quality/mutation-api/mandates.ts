import type { ApiMutant } from "./api-mutant.ts";

const LEDGER = "features/mandates/ledger.ts";
const SIGNATURE = "features/mandates/signature.ts";
const ISSUER = "features/identity/mandated-keys.ts";
const KEYS = "features/identity/keys.ts";
const EXPIRY = "features/transactions/expiry.ts";
const CLAIMS = "features/x402/settling/claims.ts";
const APPROVALS = "features/approvals/approvals.ts";
const BOUNDS = ["checkout/mandates.test.ts"];
const APPROVING = ["checkout/approvals.test.ts"];
const ISSUING = ["identity/mandates.test.ts"];
const PAYMENTS = ["x402/mandates.test.ts"];

/** Faults in what mandates let a key call, buy and spend. */
export const MANDATE_FAULTS: ApiMutant[] = [
  {
    fault: "a purchase may reach beyond the total",
    file: LEDGER,
    from: "usd + BigInt(mandate.spentUsd) > BigInt(terms.totalUsd)",
    to: "BigInt(mandate.spentUsd) > BigInt(terms.totalUsd)",
    tests: BOUNDS,
  },
  {
    fault: "a day's amount is never whole again",
    file: LEDGER,
    from: "current > day ? { day: current, spent: 0n }",
    to: "current > day ? { day: current, spent: BigInt(spentTodayUsd) }",
    tests: BOUNDS,
  },
  {
    fault: "a late funding leaves the mandate open",
    file: LEDGER,
    from: "closes && mandate.closedAt === null",
    to: "!closes && mandate.closedAt === null",
    tests: BOUNDS,
  },
  {
    fault: "a seller in another case of letters isn't recognised",
    file: LEDGER,
    from: "deal.seller.toLowerCase()",
    to: "deal.seller",
    tests: BOUNDS,
  },
  {
    fault: "an expired checkout is released each time it is looked at",
    file: EXPIRY,
    from: "if (modifiedCount === 1 && mandate !== undefined)",
    to: "if (mandate !== undefined)",
    tests: BOUNDS,
  },
  {
    fault: "a deal that is funded after its release isn't counted again",
    file: EXPIRY,
    from: "mandate === undefined || mandate.counted === counts",
    to: "mandate === undefined || mandate.counted === counts || counts",
    tests: BOUNDS,
  },
  {
    fault: "a wallet can sign a mandate for another one",
    file: ISSUER,
    from: "signer === undefined || !isAddressEqual(signer, mandate.wallet)",
    to: "signer === undefined",
    tests: ISSUING,
  },
  {
    fault: "a mandate makes any number of keys",
    file: ISSUER,
    from: "await models.nonces.create([nonceOf(mandate)], { session });",
    to: "",
    tests: ISSUING,
  },
  {
    fault: "a mandate for another service is accepted",
    file: SIGNATURE,
    from: "[hosts.includes(host),",
    to: "[hosts.includes(host) || true,",
    tests: ISSUING,
  },
  {
    fault: "a sign-in ends keys with a mandate",
    file: KEYS,
    from: '{ $cond: [HAS_SCOPES, "$$key",',
    to: "{ $cond: [false, HAS_SCOPES,",
    tests: ISSUING,
  },
  {
    fault: "what a killed payment counts is never taken back",
    file: CLAIMS,
    from: "if (claim?.mandate !== undefined) await this.#ledger.release(claim.mandate, session);",
    to: "",
    tests: PAYMENTS,
  },
  {
    fault: "a payment that fails stays counted",
    file: CLAIMS,
    from: "if (deleted?.mandate?.counted === true) await this.#ledger.release(deleted.mandate, session);",
    to: "",
    tests: PAYMENTS,
  },
  {
    fault: "an approval lets any number of checkouts through",
    file: LEDGER,
    from: '$set: { status: "used", transactionId }, $unset: { live: 1 }',
    to: "$set: { transactionId }",
    tests: APPROVING,
  },
  {
    fault: "an approval lets a dearer quote through",
    file: LEDGER,
    from: "maxUsd !== null && usd <= BigInt(maxUsd)",
    to: "maxUsd !== null",
    tests: APPROVING,
  },
  {
    fault: "anyone can sign an approval",
    file: APPROVALS,
    from: "signer === undefined || !isAddressEqual(signer, walletAddress)",
    to: "signer === undefined",
    tests: APPROVING,
  },
  {
    fault: "a key asks for any number of approvals",
    file: APPROVALS,
    from: ">= LIVE_AT_ONCE",
    to: ">= 10 * LIVE_AT_ONCE",
    tests: APPROVING,
  },
];
