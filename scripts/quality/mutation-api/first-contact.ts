import type { ApiMutant } from "./api-mutant.ts";

const WARNINGS = "features/listings/warnings.ts";
const WARNING_TESTS = ["listings/warnings.test.ts"];

/** Faults in what newcomers are told: warnings of listings, sizes of answers, amounts that people can read. */
export const FIRST_CONTACT_FAULTS: ApiMutant[] = [
  {
    fault: "a listing in ether is said to settle on the testnet",
    file: WARNINGS,
    from: "return token !== undefined && chains[network].token(token) !== undefined;",
    to: "return token !== undefined && chains[network] !== undefined;",
    tests: WARNING_TESTS,
  },
  {
    fault: "a price at the cap is warned of",
    file: WARNINGS,
    from: "if (cap === null || valueUsd.lte(cap)) return undefined;",
    to: "if (cap === null || valueUsd.lt(cap)) return undefined;",
    tests: WARNING_TESTS,
  },
  {
    fault: "a warning fails the listing that is stored already",
    file: WARNINGS,
    from: "withTimeout(what, timeoutMs, read).catch(() => undefined);",
    to: "withTimeout(what, timeoutMs, read);",
    tests: WARNING_TESTS,
  },
  {
    fault: "a required callback isn't warned of",
    file: WARNINGS,
    from: "if (listing.callbackRequired) {",
    to: 'if (listing.callbackRequired && listing.title === "") {',
    tests: WARNING_TESTS,
  },
  {
    fault: "discover ignores the wanted number of results",
    file: "features/discovery/routes.ts",
    from: "await discovery.discover(query, filters, limit);",
    to: "await discovery.discover(query, filters, Math.max(limit, MAX_RESULTS));",
    tests: ["discovery/discovery.test.ts"],
  },
  {
    fault: "an amount in dollars is in millionths",
    file: "features/checkout/gates.ts",
    from: "formatUnits(amountUsd, USD_DECIMALS);",
    to: "formatUnits(amountUsd, USD_DECIMALS - USD_DECIMALS);",
    tests: ["checkout/checkout.test.ts"],
  },
  {
    fault: "a deposit at a bound is advised the longer dispute window",
    file: "features/checkout/routes.ts",
    from: "valueUsd <= BigInt(upToUsd)",
    to: "valueUsd < BigInt(upToUsd)",
    tests: ["checkout/checkout.test.ts"],
  },
];
