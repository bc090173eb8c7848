import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

import { assert } from "chai";

import { fuzz, installSchemathesis } from "../../../scripts/quality/fuzz/schemathesis.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { checkOut, listService, openMarket } from "../../fixtures/deals.ts";
import { announce } from "../../fixtures/event-stream.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { atNight, campaignSize } from "../../fixtures/nightly.ts";
import { openChain } from "../../fixtures/stack.ts";

/** Requests of a route. `npm run test:fuzz` sets the variable. */
const EXAMPLES = campaignSize({
  unit: "generated requests a route",
  nightly: 1_000,
  eachPush: 5,
  variable: "FUZZ_EXAMPLES",
});
/** After each push, test/api/http/bounds.test.ts alone walks them. The night and the command do so here too. */
const WALKS_BOUNDS = process.env["FUZZ_EXAMPLES"] !== undefined || atNight(true, false);
const SEED = Number(process.env["FUZZ_SEED"] ?? "20260218");
const ONLY = process.env["FUZZ_ONLY"];
/** Where the command wants the report. */
const REPORT = process.env["FUZZ_REPORT"];
/** Calls that no run makes, so that every request gets as far as its handler. */
const UNREACHED = 100_000_000;
const limits = limitsWith();
for (const rates of [limits.rateLimits, limits.budgets] as Record<string, number>[]) {
  for (const name of Object.keys(rates)) rates[name] = UNREACHED;
}
const HOURS_MS = 6 * 3_600_000;

describe("generated requests", () => {
  let api: TestApi;
  before(async () => {
    const internalWebhookSecret = "a-secret-that-no-generated-request-knows";
    api = await startTestApi({ search: true, env: { limits, adminApiKey: ADMIN_KEY, internalWebhookSecret } });
  });
  after(() => api.close());

  it("[D33] find no 5xx and nothing that /openapi.json doesn't say (needs Python, venv and pip)", async function () {
    try {
      await installSchemathesis();
    } catch (error) {
      console.log(`skipped: schemathesis can't be installed: ${(error as Error).message}`);
      this.skip();
    }
    const market = await openMarket(api, await openChain("base-sepolia"));
    const { transactionId } = await checkOut(market);
    const own = await listService(api, market.buyer);
    const webhook = await api.request("POST", "/api/v1/webhooks", {
      key: market.buyer.apiKey,
      body: { url: "https://agent.example/hook", events: ["escrow.refunded"] },
    });
    const webhookId = webhook.body.data.webhookId as string;
    await announce(api.container, "fuzzed", [market.buyer.agentId], { type: "escrow.refunded" });
    const deliveries = await api.request("GET", "/api/v1/webhooks/deliveries", { key: market.buyer.apiKey });
    const { deliveryId } = deliveries.body.data[0] as { deliveryId: string };
    const revocable = await api.registerAgent();
    const ofTransactions = [
      ...["", "/criteria", "/timeline", "/claimAbandoned", "/finalize"].map(
        (end) => `GET /api/v1/transactions/{id}${end}`,
      ),
      ...["/fund", "/deliver", "/confirm", "/check", "/dispute/evidence"].map(
        (end) => `POST /api/v1/transactions/{id}${end}`,
      ),
    ];
    const ids = {
      ...Object.fromEntries(ofTransactions.map((route) => [route, transactionId])),
      "GET /api/v1/services/{id}": own,
      "GET /api/v1/market/listings/{serviceId}": market.serviceId,
      "GET /api/v1/market/agents/{wallet}": market.seller.walletAddress,
      "PATCH /api/v1/services/{id}": own,
      "POST /api/v1/services/{id}/visibility": own,
      "GET /api/v1/webhooks/{webhookId}": webhookId,
      "PATCH /api/v1/webhooks/{webhookId}": webhookId,
      "POST /api/v1/webhooks/{webhookId}/ping": webhookId,
      "POST /api/v1/webhooks/{webhookId}/redeliver-missed": webhookId,
      "GET /api/v1/webhooks/deliveries/{deliveryId}": deliveryId,
      "POST /api/v1/webhooks/deliveries/{deliveryId}/redeliver": deliveryId,
      "POST /api/v1/admin/agents/{id}/kya": market.seller.agentId,
    };
    const started = performance.now();
    const report = await fuzz({
      url: api.url,
      examples: EXAMPLES,
      walksBounds: WALKS_BOUNDS,
      seed: SEED,
      only: ONLY,
      facts: {
        key: market.buyer.apiKey,
        revocableKey: revocable.apiKey,
        adminKey: ADMIN_KEY,
        serviceId: market.serviceId,
        ids,
      },
    });
    const seconds = (performance.now() - started) / 1_000;
    const { output, ...measures } = report;
    console.log(`${report.cases} requests to ${report.operations} routes in ${seconds.toFixed(0)} s`);
    console.log(`seed: ${SEED}`);
    if (REPORT !== undefined) {
      mkdirSync(dirname(REPORT), { recursive: true });
      writeFileSync(REPORT, JSON.stringify({ seed: SEED, examples: EXAMPLES, seconds, ...measures }));
    }
    assert.deepEqual({ failures: report.failures, errors: report.errors }, { failures: [], errors: [] }, output);
    assert.ok(report.complete && report.operations > 0, output);
  }).timeout(HOURS_MS);
});
