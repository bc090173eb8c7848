// The official extension `payment-identifier` of x402 version 2 (decision 36).
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { x402Client } from "@x402/core/client";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import { assert } from "chai";

import { assertError, listingBody } from "../../fixtures/api.ts";
import type { TestAgent } from "../../fixtures/api.ts";
import { paidCalls } from "../../fixtures/paid-calls.ts";
import { CALL_UNITS, encodeHeader, headerV2, signTransfer, startPaidApi } from "../../fixtures/payments.ts";
import type { PaidApi, SignedTransfer } from "../../fixtures/payments.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";

const SERVICES = "/api/v1/services";
const EXTENSION = "payment-identifier";
const ID = "pay_7d5d747be160e280504c099d984bcfe0";

describe("the id of an x402 payment", () => {
  let paid: PaidApi;
  let agent: TestAgent;

  before(async () => {
    paid = await startPaidApi();
  });
  beforeEach(async () => {
    agent = await paid.richAgent();
  });
  after(() => paid.close());

  /** `PAYMENT-SIGNATURE` with the extension, as an official client echoes it. */
  function identified(payload: SignedTransfer, info: unknown, fields: object = {}): Record<string, string> {
    const content = Buffer.from(headerV2(paid, payload)["payment-signature"] ?? "", "base64").toString();
    const extensions = { [EXTENSION]: { info, schema: {}, ...fields } };
    return { "payment-signature": encodeHeader({ ...(JSON.parse(content) as object), extensions }) };
  }
  const signed = async (id = ID) => identified(await signTransfer(paid, agent.account), { required: false, id });
  const { create, listings, spent } = paidCalls(() => ({ paid, agent }));

  it("is declared by the 402, optional and with its schema [D36]", async () => {
    const { headers } = await create({});
    const { extensions } = decodePaymentRequiredHeader(headers.get("payment-required") ?? "");
    assert.deepEqual(extensions, {
      [EXTENSION]: {
        info: { required: false },
        schema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: {
            required: { type: "boolean" },
            id: { type: "string", minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" },
          },
          required: ["required"],
        },
      },
    });
  });

  it("with the same payment gets the stored answer, and the call runs once [D36]", async () => {
    const proof = await signed();
    const first = await create(proof);
    assert.strictEqual(first.status, 201, first.text);
    const again = await create(proof);
    assert.deepEqual([again.status, again.text], [201, first.text]);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("is refused with another payment, which isn't taken, whatever the call [D36]", async () => {
    assert.strictEqual((await create(await signed())).status, 201);
    assertError(await create(await signed()), 409, "payment_identifier_reused");
    assertError(await create(await signed(), "Another title"), 409, "payment_identifier_reused");
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("is looked up before the payment is verified [D36]", async () => {
    assert.strictEqual((await create(await signed())).status, 201);
    const { authorization } = await signTransfer(paid, agent.account);
    const unsigned = identified({ authorization, signature: `0x${"11".repeat(65)}` }, { required: false, id: ID });
    assertError(await create(unsigned), 409, "payment_identifier_reused");
  });

  it("with the same payment for another call is the payment that was used already [D36]", async () => {
    const proof = await signed();
    assert.strictEqual((await create(proof)).status, 201);
    const other = await create(proof, "Another title");
    assert.deepEqual([other.status, other.body.details], [402, { reason: "proof_already_used" }]);
    assert.isUndefined(other.body.accepts);
  });

  it("belongs to the key: another key of the agent, and another agent, use it for their own payments [D36]", async () => {
    assert.strictEqual((await create(await signed())).status, 201);
    const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 3_600 };
    const issued = await paid.api.request("POST", "/api/v1/auth/keys", { body });
    assert.strictEqual((await create(await signed(), undefined, issued.body.apiKey as string)).status, 201);
    agent = await paid.richAgent();
    assert.strictEqual((await create(await signed())).status, 201);
  });

  it("is paid for once, if two payments come with it at once [D36]", async () => {
    const answers = await Promise.all([create(await signed()), create(await signed()), create(await signed())]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });

  it("is free again if its call failed", async () => {
    const missing = { key: agent.apiKey, headers: await signed() };
    assert.strictEqual((await paid.api.request("GET", `${SERVICES}/lst_unknown`, missing)).status, 404);
    assert.strictEqual((await create(await signed())).status, 201);
  });

  it("has 16 to 128 characters of A-Z, a-z, 0-9, _ and -; any other is refused unpaid [D36]", async () => {
    for (const id of ["a".repeat(16), "Z-_9".repeat(32)]) {
      assert.strictEqual((await create(await signed(id), id.slice(0, 20))).status, 201);
    }
    const had = await spent();
    const payload = await signTransfer(paid, agent.account);
    for (const id of [
      "a".repeat(15),
      "a".repeat(129),
      `${"a".repeat(20)}.`,
      `${"a".repeat(20)}\n`,
      "ä".repeat(20),
      7,
      null,
    ]) {
      assertError(await create(identified(payload, { required: false, id })), 400, "validation_error");
    }
    assertError(await create(identified(payload, "text")), 400, "validation_error");
    assert.strictEqual(await spent(), had);
    // Without an id, the echo of what the 402 declares changes nothing.
    assert.strictEqual((await create(identified(payload, { required: false }))).status, 201);
  });

  it("comes with a schema that isn't evaluated", async () => {
    // A validator that compiled it would try the pattern for longer than the test lasts.
    const schema = { properties: { id: { pattern: "^(([a-z])+.)+[A-Z]([a-z])+$" } } };
    const id = "a".repeat(128);
    const proof = identified(await signTransfer(paid, agent.account), { required: false, id }, { schema });
    assert.strictEqual((await create(proof)).status, 201);
  });

  it("is given by the official client's hook: a second payment with it isn't taken [D36]", async () => {
    const client = new x402Client().register("eip155:*", new ExactEvmScheme(agent.account));
    client.onBeforePaymentCreation(({ paymentRequired }) => {
      const extension = paymentRequired.extensions?.[EXTENSION] as { info: { id?: string } } | undefined;
      if (extension !== undefined) extension.info.id = ID;
      return Promise.resolve();
    });
    const call = wrapFetchWithPayment(fetch, client);
    const request = () =>
      call(paid.url + SERVICES, {
        method: "POST",
        body: JSON.stringify(listingBody()),
        headers: { "x-api-key": agent.apiKey, "content-type": "application/json" },
      });
    assert.strictEqual((await request()).status, 201);
    // It signs each time, so this is another payment.
    assert.strictEqual((await request()).status, 409);
    assert.strictEqual(await listings(), 1);
    assert.strictEqual(await spent(), CALL_UNITS.api);
  });
});
