// Variables of the payments.
import { generateKeyPairSync } from "node:crypto";

import { assert } from "chai";

import { X402_PRICES_USD } from "../../../api/config/constants.ts";
import { ConfigurationError, loadEnv } from "../../../api/config/env.ts";
import { readStack } from "../../fixtures/api.ts";
import { testVariables } from "../../fixtures/environment.ts";
import { CALL_UNITS, startPaidApi } from "../../fixtures/payments.ts";
import { errorOf, rejectionOf } from "../../fixtures/rejection.ts";
import { openChain, treasuryOf } from "../../fixtures/stack.ts";

const PAYEE = "0x00000000000000000000000000000000000000aa";
const KEY = `0x${"11".repeat(32)}`;
const FACILITATOR = { X402_PAY_TO: PAYEE, X402_FACILITATOR_URL: "https://f.test" };
/** The key of RFC 8032's first test. */
const ED25519_SECRET = Buffer.from(
  "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60" +
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  "hex",
).toString("base64");

describe("the configuration of x402", () => {
  let required: Record<string, string>;

  before(async () => {
    const stack = await readStack();
    required = { ...testVariables(stack), MONGODB_URI: stack.mongodbUri };
  });

  const problemsOf = (variables: Record<string, string>): string =>
    errorOf(() => loadEnv({ ...required, ...variables }), ConfigurationError).message;

  it("has the prices of the specification by default [S8.3.10] [S8.3.11] [S8.3.12] [S8.3.13]", () => {
    assert.deepEqual(loadEnv(required).x402.prices, CALL_UNITS);
    assert.deepEqual(X402_PRICES_USD, { api: "0.0001", message: "0.0001", search: "0.01", transaction: "0.0001" });
  });

  it("takes no payments by default", () => {
    const { payTo, facilitatorUrl, settlementKey, network } = loadEnv(required).x402;
    assert.deepEqual(
      { payTo, facilitatorUrl, settlementKey, network },
      { payTo: undefined, facilitatorUrl: null, settlementKey: undefined, network: "base-sepolia" },
    );
  });

  it("takes other prices and packs", () => {
    const { prices, packCalls } = loadEnv({ ...required, X402_PRICE_SEARCH: "1.5", X402_PACK_CALLS: "5,20" }).x402;
    assert.strictEqual(prices.search, 1_500_000n);
    assert.deepEqual(packCalls, [5, 20]);
  });

  for (const [what, variables, named] of [
    ["a price of nothing", { X402_PRICE_API: "0" }, "X402_PRICE_API"],
    ["a price below one unit of USDC", { X402_PRICE_API: "0.0000001" }, "X402_PRICE_API"],
    ["a price that isn't a number", { X402_PRICE_API: "1e-4" }, "X402_PRICE_API"],
    ["a recipient that isn't an address", { X402_PAY_TO: "0x12" }, "X402_PAY_TO"],
    [
      "a key that isn't one",
      { X402_PAY_TO: PAYEE, X402_SETTLEMENT_KEY: `0x${"00".repeat(32)}` },
      "X402_SETTLEMENT_KEY",
    ],
    [
      "a facilitator that isn't on the web",
      { X402_PAY_TO: PAYEE, X402_FACILITATOR_URL: "file:///x" },
      "X402_FACILITATOR_URL",
    ],
    [
      "two that settle",
      { X402_PAY_TO: PAYEE, X402_FACILITATOR_URL: "https://f.test", X402_SETTLEMENT_KEY: KEY },
      "exclude",
    ],
    ["a key without a recipient", { X402_SETTLEMENT_KEY: KEY }, "needs X402_PAY_TO"],
    [
      "a facilitator's address with a password",
      { X402_PAY_TO: PAYEE, X402_FACILITATOR_URL: "https://user:pass@f.test" },
      "X402_FACILITATOR_URL is public",
    ],
    ["a facilitator's key without its secret", { ...FACILITATOR, X402_FACILITATOR_KEY_ID: "id" }, "need each other"],
    [
      "a facilitator's key without a facilitator",
      { X402_FACILITATOR_KEY_ID: "id", X402_FACILITATOR_KEY_SECRET: ED25519_SECRET },
      "need X402_FACILITATOR_URL",
    ],
    ...[
      ED25519_SECRET.slice(4),
      // A seed with another key's public half.
      Buffer.alloc(64, 7).toString("base64"),
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
      "-----BEGIN EC PRIVATE KEY-----",
    ].map(
      (secret, index) =>
        [
          `a facilitator's secret that isn't one (${index + 1})`,
          { ...FACILITATOR, X402_FACILITATOR_KEY_ID: "id", X402_FACILITATOR_KEY_SECRET: secret },
          "X402_FACILITATOR_KEY_SECRET must be the secret of",
        ] as const,
    ),
    ["packs without calls", { X402_PACK_CALLS: "0" }, "X402_PACK_CALLS"],
    ["a network without USDC", { X402_NETWORK: "polygon" }, "X402_NETWORK"],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.include(problemsOf(variables), named);
    });
  }

  it("never shows a wrong key in its error", () => {
    assert.notInclude(problemsOf({ X402_PAY_TO: PAYEE, X402_SETTLEMENT_KEY: "0xsecret" }), "0xsecret");
    const key = { X402_FACILITATOR_KEY_ID: "id", X402_FACILITATOR_KEY_SECRET: "c2VjcmV0" };
    assert.notInclude(problemsOf({ ...FACILITATOR, ...key }), "c2VjcmV0");
  });

  it("refuses the treasury as the recipient at the start [D36]", async () => {
    const treasury = await treasuryOf(await openChain("base-sepolia"));
    const error = await rejectionOf(startPaidApi({ x402: { payTo: treasury } }), ConfigurationError);
    assert.include(error.message, "X402_PAY_TO is the treasury");
  });
});
