import { assert } from "chai";

import { checkSchema, schemaFault } from "../../../api/features/criteria/schema-check.ts";

const DRAFT_07 = "http://json-schema.org/draft-07/schema#";

describe("a schema of criteria", () => {
  it("may be JSON Schema 2020-12 or draft-07", () => {
    assert.strictEqual(schemaFault({ type: "object", required: ["answer"] }), undefined);
    assert.strictEqual(schemaFault({ $schema: DRAFT_07, type: "string" }), undefined);
    assert.match(schemaFault({ type: "a report" }) ?? "", /schema/);
    assert.match(schemaFault({ $schema: "https://example.test/own", type: "string" }) ?? "", /no schema/);
  });

  it("may refer to its own parts, but to no other document", () => {
    const own = { $defs: { name: { type: "string" } }, properties: { name: { $ref: "#/$defs/name" } } };
    assert.strictEqual(checkSchema(own, { name: "x" }).result, "pass");
    assert.strictEqual(checkSchema(own, { name: 1 }).result, "fail");
    assert.match(schemaFault({ $ref: "https://host.test/schema.json" }) ?? "", /can't resolve reference/);
    assert.match(schemaFault({ $ref: "#/$defs/missing" }) ?? "", /can't resolve reference/);
  });

  it("follows the draft that it declares", () => {
    const rows = { items: [{ type: "string" }, { type: "number" }], additionalItems: false };
    assert.strictEqual(checkSchema({ $schema: DRAFT_07, ...rows }, ["x", 1]).result, "pass");
    assert.strictEqual(checkSchema({ $schema: DRAFT_07, ...rows }, ["x", "y"]).result, "fail");
    const prefix = { prefixItems: rows.items, items: false };
    assert.strictEqual(checkSchema(prefix, ["x", 1]).result, "pass");
    assert.strictEqual(checkSchema(prefix, ["x", 1, 2]).result, "fail");
  });

  it("checks formats", () => {
    const schema = { properties: { at: { type: "string", format: "date-time" } } };
    assert.strictEqual(checkSchema(schema, { at: "2026-11-22T10:00:00Z" }).result, "pass");
    assert.strictEqual(checkSchema(schema, { at: "yesterday" }).result, "fail");
  });

  it("names where a result doesn't match", () => {
    const schema = { type: "object", required: ["report"], properties: { pages: { type: "integer", minimum: 3 } } };
    const { result, detail } = checkSchema(schema, { report: "…", pages: 2 });
    assert.strictEqual(result, "fail");
    assert.include(detail, "/pages must be >= 3");
    assert.include(checkSchema(schema, {}).detail, "must have required property 'report'");
  });

  it("leaves the question open if it can't be used", () => {
    assert.strictEqual(checkSchema({ $ref: "https://host.test/schema.json" }, {}).result, "open");
  });
});
