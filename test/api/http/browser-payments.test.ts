// The official x402 clients in a browser: what they send must pass our preflight.
import { createRequire } from "node:module";

import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/client";
import { wrapFetchWithPayment as wrapFetchV2 } from "@x402/fetch";
import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { withPaymentInterceptor } from "x402-axios";
import { wrapFetchWithPayment as wrapFetchV1 } from "x402-fetch";

import {
  paymentRequiredHeader,
  paymentResponseHeader,
  requirementsV1,
} from "../../../api/features/x402/offer/terms.ts";
import type { Terms } from "../../../api/features/x402/offer/terms.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startScriptedServer } from "../../fixtures/scripted-server.ts";
import type { ScriptedAnswer } from "../../fixtures/scripted-server.ts";

const APP = "https://app.example";
const PATH = "/api/v1/discover";
const BODY = { query: "translate a contract" };
const HEADERS = { "x-api-key": "key_of_the_page", "content-type": "application/json" };

const account = privateKeyToAccount(generatePrivateKey());
const terms: Terms = {
  network: "base-sepolia",
  token: { address: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", name: "USDC", version: "2" },
  payTo: "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc",
  amount: 100n,
  resource: `https://market.example${PATH}`,
  description: "a call",
};
const receipt = { network: terms.network, payer: account.address, txHash: `0x${"ab".repeat(32)}` };

const asksV1: ScriptedAnswer = { status: 402, body: { x402Version: 1, accepts: [requirementsV1(terms)] } };
const asksV2: ScriptedAnswer = { status: 402, headers: { "PAYMENT-REQUIRED": paymentRequiredHeader(terms, "pay") } };
const served: ScriptedAnswer = {
  status: 200,
  body: [],
  headers: {
    "X-PAYMENT-RESPONSE": paymentResponseHeader(1, receipt),
    "PAYMENT-RESPONSE": paymentResponseHeader(2, receipt),
  },
};

/** The axios that x402-axios brings. */
interface Axios {
  create(options: { headers: Record<string, string> }): any;
}
const axios = createRequire(createRequire(import.meta.url).resolve("x402-axios"))("axios") as Axios;
const posted = { method: "POST", headers: HEADERS, body: JSON.stringify(BODY) };
const clientV2 = () => new x402Client().register("eip155:*", new ExactEvmScheme(account));

/** Each client, what it is asked with, and the header in which it pays. */
const CLIENTS: Readonly<
  Record<string, { asks: ScriptedAnswer; pays: string; call: (url: string) => Promise<{ status: number }> }>
> = {
  "x402-fetch": { asks: asksV1, pays: "x-payment", call: (url) => wrapFetchV1(fetch, account)(url, posted) },
  "x402-axios": {
    asks: asksV1,
    pays: "x-payment",
    call: (url) => withPaymentInterceptor(axios.create({ headers: HEADERS }), account as never).post(url, BODY),
  },
  "@x402/fetch": {
    asks: asksV2,
    pays: "payment-signature",
    call: (url) => wrapFetchV2(fetch, clientV2())(url, posted),
  },
  "@x402/fetch, asked by version 1": {
    asks: asksV1,
    pays: "x-payment",
    call: (url) => {
      const client = clientV2().registerV1("base-sepolia", new ExactEvmSchemeV1(account));
      return wrapFetchV2(fetch, client)(url, posted);
    },
  },
};

/** What a browser sets itself, or lets a script set without asking (the Fetch standard's forbidden and safelisted headers). */
const NEEDS_NO_PERMISSION = new Set([
  ...["host", "connection", "content-length", "accept-encoding", "user-agent", "sec-fetch-mode", "transfer-encoding"],
  ...["accept", "accept-language", "content-language"],
]);

describe("x402 clients in a browser", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ env: { corsOrigins: [APP] } });
  });
  after(() => api.close());

  const permissions = async (names: readonly string[]) => {
    const { status, headers } = await api.request("OPTIONS", PATH, {
      headers: {
        origin: APP,
        "access-control-request-method": "POST",
        "access-control-request-headers": names.join(","),
      },
    });
    const allowed = headers.get("access-control-allow-headers") ?? "";
    return { status, allowed: allowed.toLowerCase().split(/, ?/) };
  };

  for (const [name, { asks, pays, call }] of Object.entries(CLIENTS)) {
    it(`[D36] ${name} may send every header that it sends, with its payment and without`, async () => {
      const recorder = await startScriptedServer(asks, served);
      try {
        assert.strictEqual((await call(recorder.url + PATH)).status, 200);
        assert.deepEqual(
          recorder.seen.map(({ headers }) => pays in headers),
          [false, true],
        );
        for (const { headers } of recorder.seen) {
          const asked = Object.keys(headers).filter((header) => !NEEDS_NO_PERMISSION.has(header));
          assert.includeMembers(asked, ["x-api-key", "content-type"]);
          const { status, allowed } = await permissions(asked);
          assert.strictEqual(status, 204);
          assert.includeMembers(allowed, asked);
        }
      } finally {
        await recorder.close();
      }
    });
  }

  it("may read every header that a payment is asked for and acknowledged with", async () => {
    const answer = await api.request("GET", "/api/v1/categories", { headers: { origin: APP } });
    const exposed = answer.headers.get("access-control-expose-headers")?.toLowerCase().split(/, ?/) ?? [];
    assert.includeMembers(exposed, ["payment-required", "payment-response", "x-payment-response"]);
  });
});
