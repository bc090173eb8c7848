// What Prometheus sees of payments.
import { assert } from "chai";

import type { TestAgent } from "../../fixtures/api.ts";
import {
  CALL_UNITS,
  headerOfTransfer,
  headerV1,
  headerV2,
  pay,
  signTransfer,
  startPaidApi,
} from "../../fixtures/payments.ts";
import type { PaidApi } from "../../fixtures/payments.ts";
import { until } from "../../fixtures/until.ts";

const SERVICES = "/api/v1/services";
const PACK = "/api/v1/x402/packs/api-10";
const PACK_UNITS = 10n * CALL_UNITS.api;

describe("the metrics of payments", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  beforeEach(async () => {
    paid = await startPaidApi({ oneProcess: "reads this process's metrics" });
    agent = await paid.richAgent();
  });
  afterEach(() => paid.close());

  const read = (headers: Record<string, string> = {}) =>
    paid.api.request("GET", SERVICES, { key: agent.apiKey, headers });
  /** The samples of a metric by their labels, as the text has them. */
  async function samples(name: string): Promise<Record<string, number>> {
    const { body } = await paid.api.container.metrics.text();
    const lines = body.split("\n").filter((line) => line.startsWith(`${name}{`));
    return Object.fromEntries(
      lines.map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(name.length, at), Number(line.slice(at + 1))];
      }),
    );
  }

  it("count paid calls and amounts by scheme, and outcomes of settlements", async () => {
    const proof = headerOfTransfer(await pay(paid, agent.account), agent.walletAddress);
    const proofs = [
      proof,
      headerV1(await signTransfer(paid, agent.account)),
      headerV2(paid, await signTransfer(paid, agent.account)),
      headerV2(paid, await signTransfer(paid, agent.account)),
    ];
    for (const headers of proofs) assert.strictEqual((await read(headers)).status, 200);
    // A repeat isn't paid for.
    assert.strictEqual((await read(proof)).status, 200);
    assert.deepEqual(await samples("x402_payments_total"), {
      '{scheme="transfer",sold="call"}': 1,
      '{scheme="exact_v1",sold="call"}': 1,
      '{scheme="exact_v2",sold="call"}': 2,
    });
    assert.deepEqual(await samples("x402_paid_usdc_units_total"), {
      '{scheme="transfer",network="base-sepolia"}': Number(CALL_UNITS.api),
      '{scheme="exact_v1",network="base-sepolia"}': Number(CALL_UNITS.api),
      '{scheme="exact_v2",network="base-sepolia"}': 2 * Number(CALL_UNITS.api),
    });
    assert.deepEqual(await samples("x402_settlements_total"), { '{outcome="settled",reason=""}': 3 });
    assert.deepEqual(await samples("prepaid_calls_total"), {});
  });

  it("count the answers that ask for a payment and that refuse one, by their code", async () => {
    const errors = async (code: string) => (await samples("http_errors_total"))[`{code="${code}"}`] ?? 0;
    const refused = await errors("payment_verification_failed");
    const asked = await errors("payment_required");
    assert.strictEqual((await read()).status, 402);
    assert.strictEqual((await read({ "x-payment": "?" })).status, 402);
    // A request is counted when its connection has taken the answer.
    await until("both are counted", async () => (await errors("payment_verification_failed")) === refused + 1);
    await until("both are counted", async () => (await errors("payment_required")) === asked + 1);
  });

  it("count packs that are sold and the prepaid calls that are drawn", async () => {
    const headers = headerV1(await signTransfer(paid, agent.account, { value: PACK_UNITS }));
    const sold = await paid.api.request("POST", PACK, { key: agent.apiKey, body: {}, headers });
    assert.isBelow(sold.status, 300, sold.text);
    for (let call = 0; call < 2; call += 1) assert.strictEqual((await read()).status, 200);
    // A call counts when its connection has taken the answer.
    await until("both calls are counted", async () => (await samples("prepaid_calls_total"))['{class="api"}'] === 2);
    assert.deepEqual(await samples("x402_payments_total"), { '{scheme="exact_v1",sold="pack"}': 1 });
    assert.deepEqual(await samples("x402_paid_usdc_units_total"), {
      '{scheme="exact_v1",network="base-sepolia"}': Number(PACK_UNITS),
    });
  });
});
