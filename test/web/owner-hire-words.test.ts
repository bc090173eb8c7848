// What an owner's order takes, compared with the API's own schema.
import { assert } from "chai";

import { checkoutBody } from "../../api/features/checkout/schemas.ts";
import type { ListingDetails } from "../../web/src/data/answers.ts";
import {
  DELIVERY_DEADLINES,
  DISPUTE_WINDOWS,
  formName,
  NEW_ORDER,
  ORDER_BOUNDS,
  orderBody,
  orderFaults,
} from "../../web/src/owner/hire-words.ts";
import type { OrderFields } from "../../web/src/owner/hire-words.ts";

const listing = (fields: Partial<ListingDetails> = {}) =>
  ({ serviceId: "lst_1", currency: "USDC", network: "base", callbackRequired: false, ...fields }) as ListingDetails;

describe("the form of an order", () => {
  it("begins with what a checkout takes without its fields", () => {
    const { disputeWindow, deliveryDeadlineSeconds, quantity } = checkoutBody.parse({
      serviceId: "lst_1",
      paymentMethod: "usdc",
    });
    assert.deepEqual(orderBody(NEW_ORDER, listing()), {
      serviceId: "lst_1",
      paymentMethod: "usdc",
      network: "base",
      disputeWindow,
      deliveryDeadlineSeconds,
      quantity,
    });
    assert.include(DISPUTE_WINDOWS, disputeWindow);
    assert.include(DELIVERY_DEADLINES, deliveryDeadlineSeconds);
  });

  it("finds the faults that the API would find, and no others", () => {
    const line = (length: number) => "a".repeat(length);
    const cases: readonly [field: keyof OrderFields, value: string, isTaken: boolean][] = [
      ["quantity", "1", true],
      ["quantity", String(ORDER_BOUNDS.quantity), true],
      ["quantity", String(ORDER_BOUNDS.quantity + 1), false],
      ["quantity", "0", false],
      ["quantity", "1.5", false],
      ["checks", line(ORDER_BOUNDS.checkLength), true],
      ["checks", line(ORDER_BOUNDS.checkLength + 1), false],
      ["checks", `${line(1)}\n`.repeat(ORDER_BOUNDS.checks), true],
      ["checks", `${line(1)}\n`.repeat(ORDER_BOUNDS.checks + 1), false],
      ["callbackUrl", "https://agent.example/hook", true],
      ["callbackUrl", "ftp://agent.example/hook", false],
      ["callbackUrl", "", false],
      ...DISPUTE_WINDOWS.map((seconds) => ["disputeWindow", String(seconds), true] as const),
      ...DELIVERY_DEADLINES.map((seconds) => ["deliveryDeadline", String(seconds), true] as const),
    ].map(([field, value, isTaken]) => [field as keyof OrderFields, value as string, isTaken as boolean]);
    const needy = listing({ callbackRequired: true });
    for (const [field, value, isTaken] of cases) {
      const fields = { ...NEW_ORDER, callbackUrl: "https://agent.example/", [field]: value };
      const what = `${field}: ${value.slice(0, 40)}`;
      assert.strictEqual(orderFaults(fields, needy)[field] === undefined, isTaken, what);
      assert.strictEqual(checkoutBody.safeParse(orderBody(fields, needy)).success, isTaken, `${what}, by the API`);
    }
  });

  it("sends an object as it is, and a text as one", () => {
    const payload = (text: string) => orderBody({ ...NEW_ORDER, payload: text }, listing())["requestPayload"];
    assert.deepEqual(payload(' {"a": [1]} '), { a: [1] });
    assert.deepEqual(payload("Two pages, please"), { text: "Two pages, please" });
    assert.deepEqual(payload("[1]"), { text: "[1]" });
    assert.isUndefined(payload("  "));
    assert.match(orderFaults({ ...NEW_ORDER, payload: "{a}" }, listing()).payload ?? "", /^This begins like JSON/);
    assert.deepEqual(["criteria.checks.0", "quantity", "requestPayload.a", "deliveryDeadlineSeconds"].map(formName), [
      "checks",
      "quantity",
      "payload",
      "deliveryDeadline",
    ]);
  });
});
