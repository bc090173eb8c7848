import { assert } from "chai";

import { createCriteriaEvaluator } from "../../../api/features/criteria/evaluator.ts";
import type { CriteriaEvaluator } from "../../../api/features/criteria/evaluator.ts";

const LANE = "agt_one";
/** Backtracks for longer than anyone waits. */
const TRAP_PATTERN = "^(a+)+$";
const TRAP_TEXT = `${"a".repeat(60)}!`;
const subject = { result: { text: TRAP_TEXT, items: [1, 2] }, request: null, quantity: 1 };

describe("the evaluator of criteria", () => {
  let evaluator: CriteriaEvaluator;

  before(() => {
    evaluator = createCriteriaEvaluator();
  });
  after(() => evaluator.close());

  it("answers the schema and each check in order, and leaves words open", async () => {
    const criteria = {
      schema: { type: "object", required: ["items"] },
      checks: ["Reads well", "cel: size(result.items) == 2", "cel: size(result.items) > 2"],
    };
    const { schema, checks } = await evaluator.evaluate(LANE, criteria, subject);
    assert.strictEqual(schema?.result, "pass");
    assert.deepEqual(
      checks.map(({ text, kind, result }) => ({ text, kind, result })),
      [
        { text: "Reads well", kind: "words", result: "open" },
        { text: "cel: size(result.items) == 2", kind: "expression", result: "pass" },
        { text: "cel: size(result.items) > 2", kind: "expression", result: "fail" },
      ],
    );
  });

  it("has no opinion without a schema and checks", async () => {
    assert.deepEqual(await evaluator.evaluate(LANE, {}, subject), { schema: undefined, checks: [] });
  });

  it("ends a pattern that never ends, in a schema or an expression, and goes on with the next check", async () => {
    const criteria = {
      schema: { properties: { text: { type: "string", pattern: TRAP_PATTERN } } },
      checks: [`cel: result.text.matches("${TRAP_PATTERN}")`, "cel: size(result.items) == 2"],
    };
    const { schema, checks } = await evaluator.evaluate(LANE, criteria, subject);
    assert.deepEqual(schema, { result: "open", detail: "took more than 500 ms of CPU time" });
    assert.deepEqual(
      checks.map(({ result }) => result),
      ["open", "pass"],
    );
  });

  it("gives up on criteria made of traps after four of them", async () => {
    const trap = `cel: result.text.matches("${TRAP_PATTERN}")`;
    const { checks } = await evaluator.evaluate(LANE, { checks: [trap, trap, trap, trap, "cel: true"] }, subject);
    assert.strictEqual(checks.at(-1)?.result, "open");
    assert.match(checks.at(-1)?.detail ?? "", /not tried/);
  });

  it("answers an agent's many checks before the traps of another one", async () => {
    const trap = `cel: result.text.matches("${TRAP_PATTERN}")`;
    const ended: string[] = [];
    const evaluate = async (lane: string, checks: string[]) => {
      const evaluation = await evaluator.evaluate(lane, { checks }, subject);
      ended.push(lane);
      return evaluation;
    };
    const traps = [1, 2, 3].map(() => evaluate("agt_traps", [trap, trap, trap]));
    const honest = evaluate("agt_honest", Array<string>(40).fill("cel: size(result.items) == 2"));
    const [{ checks }] = await Promise.all([honest, ...traps]);
    assert.deepEqual([...new Set(checks.map(({ result }) => result))], ["pass"]);
    assert.deepEqual(ended, ["agt_honest", "agt_traps", "agt_traps", "agt_traps"]);
  });

  it("ends a task that needs too much memory", async () => {
    const heavy = createCriteriaEvaluator({ cpuMs: 60_000, wallMs: 120_000, heapMb: 16 });
    const numbers = Array.from({ length: 400 }, (_, index) => index);
    // 400 × 400 lists of 400 numbers.
    const check = "cel: size(result.n.map(a, result.n.map(b, result.n.map(c, c)))) > 0";
    const { checks } = await heavy.evaluate(LANE, { checks: [check] }, { ...subject, result: { n: numbers } });
    assert.deepEqual([checks[0]?.result, checks[0]?.detail], ["open", "needed too much memory"]);
    await heavy.close();
  });

  it("names every fault of proposed criteria, and none in words", async () => {
    const schema = { $ref: "https://host.test/schema.json" };
    const found = await evaluator.faults(LANE, { schema, checks: ["cel: size(", "Reads well", "cel: nobody.knows"] });
    assert.deepEqual(
      found.map(({ path }) => path),
      ["schema", "checks.0", "checks.2"],
    );
    assert.deepEqual(await evaluator.faults(LANE, { schema: { type: "object" }, checks: ["cel: has(result.a)"] }), []);
  });
});
