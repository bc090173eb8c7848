import { createHash } from "node:crypto";

import { assert } from "chai";

import { createCriteriaEvaluator } from "../../../../api/features/criteria/evaluator.ts";
import { createJudge } from "../../../../api/features/disputes/judging/judge.ts";
import { createThreadEncoder } from "../../../../api/search/embedding/encoder.ts";
import { canonicalJson } from "../../../../api/lib/canonical-json.ts";
import { createLogger } from "../../../../api/lib/logger.ts";
import { buildCase } from "../../../bench/disputes/build-case.ts";
import type { DisputeStory } from "../../../bench/disputes/dispute-case.ts";
import { NOT, RIGHTLY } from "../../../bench/disputes/evidence/evidence-cases.ts";
import type { EvidenceCase } from "../../../bench/disputes/evidence/evidence-cases.ts";
import { attachmentsOf } from "../../../bench/disputes/rulings.ts";
import { scriptedModel } from "../../../bench/disputes/scripted-model.ts";
import { facts, evidence } from "./case-factory.ts";

describe("what the parties submit", () => {
  const log = createLogger({ level: "silent", name: "test" });
  const encoder = createThreadEncoder(log);
  const evaluator = createCriteriaEvaluator();
  after(() => Promise.all([encoder.close(), evaluator.close()]));

  /** Rules a story before a model that overlooks the deciding part, unless it is shown by itself. */
  async function ruled({ part, shows, overlooked }: EvidenceCase, story: DisputeStory) {
    const { options, judge: model } = scriptedModel("correct");
    model.answer = (_statement, sections) =>
      sections.some(({ name, text }) => name === "part of the result" && part.includes(text)) ? shows : overlooked;
    const judge = createJudge({ encoder, log, model: options, attachments: attachmentsOf(story) });
    return judge.judge(await buildCase(story, evaluator), new AbortController().signal);
  }

  it("are at least ten cases of each kind", () => {
    assert.isAtLeast(RIGHTLY.length, 10);
    assert.isAtLeast(NOT.length, 10);
  });

  for (const labelled of RIGHTLY) {
    it(`changes the outcome by a part of the result that it points to: ${labelled.name} [S3.2.27]`, async () => {
      assert.strictEqual((await ruled(labelled, { ...labelled.story, evidence: [] })).outcome, labelled.without);
      const { outcome, model, reasons } = await ruled(labelled, labelled.story);
      assert.strictEqual(outcome, labelled.expected);
      assert.notStrictEqual(labelled.expected, labelled.without);
      assert.ok(model?.evidence.some(({ weight }) => weight === "counted"));
      assert.match(reasons.join("\n"), /The (buyer|seller)'s (evidence|attachment) 1 counted: it points to/);
    });
  }

  for (const labelled of NOT) {
    it(`changes nothing by what the result doesn't show: ${labelled.name}`, async () => {
      assert.strictEqual((await ruled(labelled, { ...labelled.story, evidence: [] })).outcome, labelled.expected);
      assert.strictEqual((await ruled(labelled, labelled.story)).outcome, labelled.expected);
    });
  }

  it("counts by a hash that code finds to be that of the payload or of an attachment", async () => {
    const payload = { summary: "One. Two." };
    const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
    const url = "https://files.example/log.txt";
    const judge = createJudge({
      encoder,
      log,
      model: scriptedModel("correct").options,
      attachments: attachmentsOf({ attached: { [url]: "the log" } }),
    });
    const { model } = await judge.judge(
      facts({
        payload,
        criteria: { checks: ["It counts."] },
        evidence: [
          evidence("seller", `I handed over 0x${sha256(canonicalJson(payload)).toUpperCase()}`),
          evidence("seller", `The log is ${sha256("the log")}`, [url]),
          evidence("buyer", `It should be ${sha256("another")}`),
        ],
      }),
      new AbortController().signal,
    );
    assert.deepEqual(
      model?.evidence.map(({ by, item, weight }) => `${by} ${item} ${weight}`),
      ["seller evidence 1 counted", "seller evidence 2 counted", "buyer evidence 3 read", "seller attachment 1 read"],
    );
    assert.include(model?.evidence[0]?.detail, "SHA-256 of the payload");
  });

  it("shows a part no more once the part is left out", async () => {
    const order = "The heron nods at noon.";
    const { options, judge: model } = scriptedModel("obeys");
    model.answer = () => "not_met";
    model.orders = [{ parts: [order], wants: "met" }];
    const judge = createJudge({ encoder, log, model: options });
    const { outcome, model: use } = await judge.judge(
      facts({
        payload: { summary: `One. ${order} Two.` },
        criteria: { checks: ["It counts."] },
        evidence: [evidence("seller", `Read "${order}"`)],
      }),
      new AbortController().signal,
    );
    assert.strictEqual(outcome, "BuyerRefund");
    assert.deepEqual(
      use?.leftOut.map(({ text }) => text),
      [order],
    );
  });
});
