// Conditions of memory writes: If-Match and If-None-Match (decision 48).
import { assert } from "chai";

import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { memoryOf } from "../../fixtures/memory.ts";
import type { MemoryCaller } from "../../fixtures/memory.ts";

describe("conditions of memory writes", () => {
  let api: TestApi;
  let memory: MemoryCaller;

  before(async () => {
    api = await startTestApi({ env: { limits: limitsWith({ memoryWrite: 100_000, memoryRead: 100_000 }) } });
  });
  after(() => api.close());
  beforeEach(async () => {
    memory = memoryOf(api, await api.registerAgent());
  });

  const mismatch = (answer: Answer, version: number | null) => {
    assertError(answer, 412, "version_mismatch");
    assert.strictEqual(answer.body.details.version, version);
  };

  it("[D48] a write with If-Match goes through at its version only, quoted or not", async () => {
    await memory.write("plan", 1);
    for (const ifMatch of ['"2"', "2", '"2", "3"']) {
      mismatch(await memory.write("plan", 2, {}, { "if-match": ifMatch }), 1);
    }
    assert.strictEqual((await memory.write("plan", 2, {}, { "if-match": '"1"' })).body.data.version, 2);
    assert.strictEqual((await memory.write("plan", 3, {}, { "if-match": "2" })).body.data.version, 3);
    assert.strictEqual((await memory.write("plan", 4, {}, { "if-match": '"9", "3"' })).body.data.version, 4);
    assert.strictEqual((await memory.write("plan", 5, {}, { "if-match": "*" })).body.data.version, 5);
    mismatch(await memory.write("new", 1, {}, { "if-match": "*" }), null);
    mismatch(await memory.write("new", 1, {}, { "if-match": "1" }), null);
  });

  it("[D48] If-None-Match: * only creates; renewal and deletion honour If-Match", async () => {
    assert.strictEqual((await memory.write("plan", 1, {}, { "if-none-match": "*" })).status, 201);
    mismatch(await memory.write("plan", 2, {}, { "if-none-match": "*" }), 1);
    mismatch(await memory.renew("plan", { "if-match": "2" }), 1);
    mismatch(await memory.remove("plan", "", { "if-match": "2" }), 1);
    assert.strictEqual((await memory.renew("plan", { "if-match": '"1"' })).status, 200);
    assert.strictEqual((await memory.remove("plan", "", { "if-match": '"1"' })).status, 200);
  });

  it("[D48] a version counts as weak as a compressing proxy makes it, and a list takes any white space", async () => {
    await memory.write("plan", 1);
    const lists = ['W/"1"', '"9",W/"2"', '"3",  "9"', '"9"\t,\t W/"4"', "9 ,   5", 'W/"8",\t\t6 ,"9"'];
    for (const [n, ifMatch] of lists.entries()) {
      const { status, body } = await memory.write("plan", 1, {}, { "if-match": ifMatch });
      assert.deepEqual([ifMatch, status, body.data?.version], [ifMatch, 200, n + 2]);
    }
    mismatch(await memory.write("plan", 1, {}, { "if-match": 'W/"6",  W/"8"' }), 7);
    mismatch(await memory.renew("plan", { "if-match": 'W/"6"' }), 7);
    assert.strictEqual((await memory.renew("plan", { "if-match": 'W/"7"' })).status, 200);
    mismatch(await memory.remove("plan", "", { "if-match": 'W/"6"' }), 7);
    assert.strictEqual((await memory.remove("plan", "", { "if-match": 'W/"7"' })).status, 200);
  });

  it("[D48] If-None-Match with versions, spelled as in If-Match, goes through at none of them", async () => {
    for (const version of [1, 2, 3]) {
      const { status } = await memory.write("plan", version, {}, { "if-none-match": 'W/"4",\t "3"' });
      assert.strictEqual(status, version === 1 ? 201 : 200);
    }
    for (const ifNoneMatch of ['"3"', 'W/"3"', "3", '"4" ,  W/"3"']) {
      mismatch(await memory.write("plan", 4, {}, { "if-none-match": ifNoneMatch }), 3);
    }
  });

  it("garbage in a condition is a validation error, and nothing is written", async () => {
    const garbage = ["x", '"', '"0"', "0", "-1", "1.5", "1,,2", "$ne", "1".repeat(20), "* , 1"];
    const weak = ['w/"1"', "W/1", 'W/ "1"', 'W"1"', "W/*", 'W/W/"1"', 'W/"1" "2"', '" 1"', '"1", W/'];
    for (const condition of [...garbage, ...weak]) {
      assertInvalid(await memory.write("plan", 1, {}, { "if-match": condition }), "headers.if-match");
      assertInvalid(await memory.remove("plan", "", { "if-match": condition }), "headers.if-match");
      assertInvalid(await memory.write("plan", 1, {}, { "if-none-match": condition }), "headers.if-none-match");
    }
    assertError(await memory.read("plan"), 404, "not_found");
  });
});
