// The official x402 clients of both generations, unmodified, at an exhausted budget.
import { createRequire } from "node:module";

import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { decodePaymentResponseHeader, wrapFetchWithPayment as wrapFetchV2 } from "@x402/fetch";
import { assert } from "chai";
import type { Hex } from "viem";
import { withPaymentInterceptor } from "x402-axios";
import { decodeXPaymentResponse, wrapFetchWithPayment as wrapFetchV1 } from "x402-fetch";

import { NETWORKS } from "../../../api/config/constants.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { startFacilitator } from "../../fixtures/facilitator.ts";
import type { RunningFacilitator } from "../../fixtures/facilitator.ts";
import { CALL_UNITS, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const PATH = "/api/v1/services";
const DISCOVER = "/api/v1/discover";

/** The axios that x402-axios brings. */
interface Axios {
  create(options: { baseURL: string; headers: Record<string, string> }): any;
}
const axios = createRequire(createRequire(import.meta.url).resolve("x402-axios"))("axios") as Axios;

interface Answered {
  status: number;
  body: any;
  receipt: { success: boolean; transaction: Hex; network: string; payer: string };
}

/** Makes a call with one of the clients. */
type Call = (paid: PaidApi, agent: TestAgent, path: string, body?: unknown) => Promise<Answered>;

const optionsOf = (agent: TestAgent, body: unknown) => ({
  // A plain object: `x402-fetch` loses a `Headers` object when it repeats the request.
  headers: { "x-api-key": agent.apiKey, "content-type": "application/json" },
  ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
});

const CLIENTS: Readonly<Record<string, Call>> = {
  "x402-fetch (v1)": async ({ url, chain }, agent, path, body) => {
    const call = wrapFetchV1(fetch, chain.walletOf(agent.account) as never);
    const answer = await call(url + path, optionsOf(agent, body));
    const header = answer.headers.get("X-PAYMENT-RESPONSE") ?? "";
    return { status: answer.status, body: await answer.json(), receipt: decodeXPaymentResponse(header) };
  },
  "x402-axios (v1)": async ({ url, chain }, agent, path, body) => {
    const client = axios.create({ baseURL: url, headers: { "x-api-key": agent.apiKey } });
    withPaymentInterceptor(client, chain.walletOf(agent.account) as never);
    const answer = await (body === undefined ? client.get(path) : client.post(path, body));
    const receipt = decodeXPaymentResponse(answer.headers["x-payment-response"] as string);
    return { status: answer.status, body: answer.data, receipt: receipt };
  },
  "@x402/fetch (v2)": async ({ url }, agent, path, body) => {
    const client = new x402Client().register("eip155:*", new ExactEvmScheme(agent.account));
    const answer = await wrapFetchV2(fetch, client)(url + path, optionsOf(agent, body));
    const header = answer.headers.get("PAYMENT-RESPONSE") ?? "";
    return { status: answer.status, body: await answer.json(), receipt: decodePaymentResponseHeader(header) as never };
  },
};

const networkOf = (client: string, { chain }: PaidApi): string =>
  client.includes("v2") ? `eip155:${chain.deployment.chainId}` : chain.network;

describe("official x402 clients", () => {
  for (const network of NETWORKS) {
    for (const settlesBy of ["its own key", "a facilitator"]) {
      describe(`on ${network}, the API settling by ${settlesBy}`, () => {
        let paid: PaidApi;
        let facilitator: RunningFacilitator | undefined;

        before(async () => {
          if (settlesBy === "a facilitator") facilitator = await startFacilitator(network);
          const fields = facilitator === undefined ? {} : { facilitatorUrl: facilitator.url };
          paid = await startPaidApi({ network, x402: fields });
        });
        after(async () => {
          await paid.close();
          await facilitator?.close();
        });

        for (const [name, call] of Object.entries(CLIENTS)) {
          it(`${name} pays an exhausted budget and gets its answer with a receipt [D36] [S8.3.14]`, async () => {
            const agent = await paid.richAgent();
            const had = await paid.chain.usdcOf(agent.walletAddress);
            const { status, body, receipt } = await call(paid, agent, PATH);
            assert.strictEqual(status, 200);
            assert.deepEqual(body, { success: true, data: [], nextCursor: null });
            assert.deepEqual(
              { ...receipt, payer: receipt.payer.toLowerCase(), transaction: "" },
              {
                success: true,
                payer: agent.walletAddress.toLowerCase(),
                network: networkOf(name, paid),
                transaction: "",
              },
            );
            const mined = await paid.chain.client.getTransactionReceipt({ hash: receipt.transaction });
            assert.strictEqual(mined.status, "success");
            assert.strictEqual(had - (await paid.chain.usdcOf(agent.walletAddress)), CALL_UNITS.api);
          });

          it(`${name} pays the price of a search for a request with a body [S8.3.13]`, async () => {
            const agent = await paid.richAgent();
            const { status, body } = await call(paid, agent, DISCOVER, { query: "translate a contract" });
            assert.strictEqual(status, 200);
            assert.isArray(body);
            const left = await paid.chain.usdcOf(agent.walletAddress);
            assert.strictEqual(1_000_000_000n - left, CALL_UNITS.search);
          });
        }

        it("collects what the clients paid at the recipient", async () => {
          const clients = BigInt(Object.keys(CLIENTS).length);
          assert.strictEqual(await paid.chain.usdcOf(paid.payTo), clients * (CALL_UNITS.api + CALL_UNITS.search));
        });
      });
    }
  }
});
