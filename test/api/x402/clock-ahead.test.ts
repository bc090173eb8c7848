// Payments on a chain whose clock is ahead, as a demo leaves a local one: clients sign by the wall clock.
import { createRequire } from "node:module";

import { decodePaymentRequiredHeader } from "@x402/core/http";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment as wrapFetchV2 } from "@x402/fetch";
import { assert } from "chai";
import { withPaymentInterceptor } from "x402-axios";
import { wrapFetchWithPayment as wrapFetchV1 } from "x402-fetch";

import type { Answer, TestAgent } from "../../fixtures/api.ts";
import { copyChain } from "../../fixtures/chain-copy.ts";
import type { ChainCopy } from "../../fixtures/chain-copy.ts";
import { CALL_UNITS, headerV1, headerV2, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";

const SERVICES = "/api/v1/services";
const LEAD_SECONDS = 7_200;
/** Seconds between two looks at a clock on a loaded machine. */
const TOLERANCE = 120;
const VALIDITY_SECONDS = 300;

/** The axios that x402-axios brings. */
interface Axios {
  create(options: { baseURL: string; headers: Record<string, string> }): any;
}
const axios = createRequire(createRequire(import.meta.url).resolve("x402-axios"))("axios") as Axios;

/** Pays a call with one of the official clients. */
const CLIENTS: Readonly<Record<string, (paid: PaidApi, agent: TestAgent) => Promise<number>>> = {
  "x402-fetch (v1)": async ({ url, chain }, agent) => {
    const call = wrapFetchV1(fetch, chain.walletOf(agent.account) as never);
    return (await call(url + SERVICES, { headers: { "x-api-key": agent.apiKey } })).status;
  },
  "x402-axios (v1)": async ({ url, chain }, agent) => {
    const client = axios.create({ baseURL: url, headers: { "x-api-key": agent.apiKey } });
    withPaymentInterceptor(client, chain.walletOf(agent.account) as never);
    const { status } = await client.get(SERVICES).catch((error: { response?: { data: unknown } }) => {
      throw new Error(JSON.stringify(error.response?.data), { cause: error });
    });
    return status as number;
  },
  "@x402/fetch (v2)": async ({ url }, agent) => {
    const client = new x402Client().register("eip155:*", new ExactEvmScheme(agent.account));
    return (await wrapFetchV2(fetch, client)(url + SERVICES, { headers: { "x-api-key": agent.apiKey } })).status;
  },
};

describe("a payment on a chain whose clock is ahead of the wall clock", () => {
  let copy: ChainCopy;
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    copy = await copyChain("base-sepolia");
    await copy.chain.moveClockTo(wallTime() + LEAD_SECONDS);
    paid = await startPaidApi({ chain: copy.chain });
    agent = await paid.richAgent();
  });
  after(async () => {
    await paid.close();
    await copy.close();
  });

  const wallTime = () => Math.floor(Date.now() / 1_000);
  const get = (headers: Record<string, string> = {}): Promise<Answer> =>
    paid.api.request("GET", SERVICES, { key: agent.apiKey, headers });

  it("is asked for with the lead added to its time, in both versions", async () => {
    const { body, headers } = await get();
    const required = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
    for (const { maxTimeoutSeconds } of [body.accepts[0], required.accepts[0]] as { maxTimeoutSeconds: number }[]) {
      assert.closeTo(maxTimeoutSeconds, VALIDITY_SECONDS + LEAD_SECONDS, TOLERANCE);
    }
  });

  for (const [name, call] of Object.entries(CLIENTS)) {
    it(`is made by ${name}, unmodified [D36]`, async () => {
      const payer = await paid.richAgent();
      assert.strictEqual(await call(paid, payer), 200);
      assert.strictEqual(1_000_000_000n - (await paid.chain.usdcOf(payer.walletAddress)), CALL_UNITS.api);
    });
  }

  it("is refused as expired by the chain's clock, with both clocks, and takes nothing [D36]", async () => {
    const had = await paid.chain.usdcOf(paid.payTo);
    const payload = await signTransfer(paid, agent.account, { validBefore: wallTime() + VALIDITY_SECONDS });
    for (const headers of [headerV1(payload), headerV2(paid, payload)]) {
      const answer = await get(headers);
      assert.strictEqual(answer.status, 402);
      const { reason, chainTime, wallTime: ours } = answer.body.details;
      assert.strictEqual(reason, "expired");
      assert.closeTo(ours, wallTime(), TOLERANCE);
      assert.closeTo(chainTime - ours, LEAD_SECONDS, TOLERANCE);
      assert.lengthOf(answer.body.accepts, 1);
    }
    assert.strictEqual(await paid.chain.usdcOf(paid.payTo), had);
  });

  it("is refused if it is valid for longer than the lead and the terms' time", async () => {
    const longest = wallTime() + LEAD_SECONDS + VALIDITY_SECONDS;
    const tooLong = await signTransfer(paid, agent.account, { validBefore: longest + 60 + TOLERANCE });
    assert.deepEqual((await get(headerV1(tooLong))).body.details, { reason: "valid_too_long" });
    const payload = await signTransfer(paid, agent.account, { validBefore: longest });
    assert.strictEqual((await get(headerV1(payload))).status, 200);
  });
});
