import { assert } from "chai";

import { checkExpression, expressionFault, parseExpression } from "../../../api/features/criteria/expression-check.ts";

const subject = {
  result: { items: [1, 2, 3], summary: "Two words", language: "de", nested: { note: null } },
  request: { language: "de" },
  quantity: 3,
};
const resultOf = (expression: string): string => checkExpression(expression, subject).result;

describe("an expression of criteria", () => {
  it("is what follows cel:, and any other check is in words", () => {
    assert.strictEqual(parseExpression("cel: size(result.items) == 3"), "size(result.items) == 3");
    assert.strictEqual(parseExpression("The report names its sources."), undefined);
    assert.strictEqual(parseExpression("Cel: x"), undefined);
  });

  it("sees the result, the request and the quantity", () => {
    assert.strictEqual(resultOf("size(result.items) == quantity"), "pass");
    assert.strictEqual(resultOf("result.language == request.language"), "pass");
    assert.strictEqual(resultOf("words(result.summary) >= 3"), "fail");
    assert.strictEqual(resultOf("result.items.all(item, item > 0)"), "pass");
    assert.strictEqual(resultOf("has(result.nested) && result.nested.note == null"), "pass");
    assert.strictEqual(checkExpression("request == null", { ...subject, request: null }).result, "pass");
  });

  it("fails for a result that it can't be evaluated for, with the reason", () => {
    assert.deepEqual(checkExpression("result.price > 3.0", subject), { result: "fail", detail: "No such key: price" });
    assert.strictEqual(resultOf("size(result.language) > 1"), "pass");
    assert.match(checkExpression("result.language > 3.0", subject).detail, /no such overload/i);
    assert.strictEqual(resultOf("result.language"), "fail");
  });

  it("reaches nothing but the values that it is about", () => {
    for (const name of ["constructor", "__proto__", "toString", "valueOf"]) {
      assert.strictEqual(resultOf(`has(result.${name})`), "fail", name);
    }
    assert.match(expressionFault("process.env") ?? "", /Unknown variable: process/);
    assert.match(expressionFault("globalThis") ?? "", /Unknown variable/);
  });

  it("has a fault if it is malformed, too large or no condition", () => {
    assert.strictEqual(expressionFault("size(result.items) == 3"), undefined);
    assert.match(expressionFault("size(") ?? "", /Unexpected token|Expected/);
    assert.match(expressionFault("size(result)") ?? "", /must be true or false, but is of type int/);
    assert.match(expressionFault(`${"(".repeat(200)}true${")".repeat(200)}`) ?? "", /depth/i);
    assert.match(expressionFault(Array(300).fill("true").join(" && ")) ?? "", /nodes|depth/i);
  });
});
