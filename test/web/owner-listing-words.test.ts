// What an owner's form of a listing takes, compared with the API's own schema.
import { assert } from "chai";

import {
  CURRENCY_DECIMALS,
  DELIVERY_TYPES as API_DELIVERY_TYPES,
  DESCRIPTION_MAX_LENGTH,
  PRICE_UNITS as API_PRICE_UNITS,
  TITLE_MAX_LENGTH,
} from "../../api/config/constants.ts";
import { MAX_PRICE } from "../../api/features/listings/price.ts";
import { createListingBody } from "../../api/features/listings/schemas.ts";
import { appealBody } from "../../api/features/moderation/appeal-schemas.ts";
import type { Service } from "../../sdk/src/generated/api-types.ts";
import {
  apiFaults,
  APPEAL_LENGTH,
  bodyOf,
  BOUNDS,
  changesOf,
  DECIMALS,
  DELIVERY_TYPES,
  faultsOf,
  fieldsOf,
  NEW_LISTING,
  PRICE_UNITS,
} from "../../web/src/owner/listing-words.ts";
import type { ListingFields } from "../../web/src/owner/listing-words.ts";

const GOOD: ListingFields = {
  ...NEW_LISTING,
  title: "Token risk report",
  description: "Reads a token's contracts and writes a report.",
  category: "risk_assessment",
  price: "2.5",
};

describe("the form of a listing", () => {
  it("has the bounds of the API", () => {
    assert.deepEqual([BOUNDS.title, BOUNDS.description], [TITLE_MAX_LENGTH, DESCRIPTION_MAX_LENGTH]);
    assert.strictEqual(BOUNDS.price, MAX_PRICE);
    assert.deepEqual(DECIMALS, CURRENCY_DECIMALS);
    assert.deepEqual([...PRICE_UNITS], [...API_PRICE_UNITS]);
    assert.sameMembers(Object.keys(DELIVERY_TYPES), [...API_DELIVERY_TYPES]);
    const appeal = (length: number) => appealBody.safeParse({ decisionId: "dec_1", text: "a".repeat(length) }).success;
    assert.deepEqual([appeal(APPEAL_LENGTH), appeal(APPEAL_LENGTH + 1)], [true, false]);
  });

  it("finds the faults that the API would find, and no others", () => {
    const cases: readonly [field: keyof ListingFields, value: string, isTaken: boolean][] = [
      ["title", "a".repeat(100), true],
      ["title", "a".repeat(101), false],
      ["title", "  ", false],
      ["description", "a".repeat(2_000), true],
      ["description", "a".repeat(2_001), false],
      ["category", "", false],
      ["price", "0.000001", true],
      ["price", "0.0000001", false],
      ["price", "1000000000", true],
      ["price", "1000000001", false],
      ["price", "0", false],
      ["price", "-1", false],
      ["price", "123456789.123456", true],
      ["price", "1234567890.123456", false],
      ["endpointUrl", "https://agent.example/jobs", true],
      ["endpointUrl", `https://agent.example/${"a".repeat(2_026)}`, true],
      ["endpointUrl", `https://agent.example/${"a".repeat(2_027)}`, false],
      ["endpointUrl", "ftp://agent.example/", false],
      ["endpointUrl", "javascript:alert(1)", false],
      ["endpointUrl", "agent.example", false],
    ];
    for (const [field, value, isTaken] of cases) {
      const fields = { ...GOOD, [field]: value };
      assert.deepEqual(Object.keys(faultsOf(fields)), isTaken ? [] : [field], `${field}: ${value.slice(0, 40)}`);
      assert.strictEqual(
        createListingBody.safeParse(bodyOf(fields)).success,
        isTaken,
        `${field}: ${value.slice(0, 40)}`,
      );
    }
    const ether = { ...GOOD, currency: "ETH", price: "0.000000000000000001" };
    assert.deepEqual(faultsOf(ether), {});
    assert.isTrue(createListingBody.safeParse(bodyOf(ether)).success);
  });

  it("sends only what differs", () => {
    const listing = { ...bodyOf(GOOD), price: 1e-7, id: "lst_1" } as unknown as Service;
    const before = fieldsOf(listing);
    assert.strictEqual(before.price, "0.0000001");
    assert.deepEqual(changesOf(before, before), {});
    assert.deepEqual(changesOf(before, { ...before, title: " Another ", endpointUrl: " " }), { title: "Another" });
    const callback = { ...before, price: "3", callbackRequired: true };
    assert.deepEqual(changesOf(before, callback), { price: 3, callbackRequired: true });
  });

  it("shows what the API found wrong beside the field", () => {
    const details = [{ path: "body.title", message: "Too odd" }, { path: "query.x", message: "no" }, "text"];
    assert.deepEqual(apiFaults({ status: 400, body: { details } }), { title: "Too odd" });
    assert.deepEqual(apiFaults({ status: 0, body: undefined }), {});
  });
});
