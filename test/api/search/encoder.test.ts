// Timers alone: mocha and chai have none.
import { mock } from "node:test";

import { assert } from "chai";

import { createThreadEncoder, EncoderUnavailableError } from "../../../api/search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../../api/search/embedding/encoder.ts";
import { createLogger } from "../../../api/lib/logger.ts";

const log = createLogger({ level: "silent", name: "test" });
/** A thread that takes texts and never answers. */
const HANGING = new URL(
  "data:text/javascript,import{parentPort}from'node:worker_threads';parentPort.on('message',()=>{})",
);

describe("the sentence encoder", () => {
  let encoder: SentenceEncoder;

  beforeEach(() => {
    mock.timers.enable({ apis: ["setTimeout"] });
  });
  afterEach(async () => {
    mock.timers.reset();
    await encoder.close();
  });

  it("waits for a thread that takes long to start, and for one that is slow with each text", async () => {
    encoder = createThreadEncoder(log);
    const texts = ["an invoice", "a market report", "a token audit"];
    const answers = texts.map((text) => encoder.encode(text));
    for (const answer of answers) {
      mock.timers.tick(59_000);
      const { vector } = await answer;
      assert.strictEqual(vector.length, 896);
    }
  });

  it("answers a query before what waits in the background, however much that is", async () => {
    encoder = createThreadEncoder(log);
    const order: string[] = [];
    const inBackground = Array.from({ length: 100 }, async (_, n) => {
      await encoder.encode(`invoice ${n}`, { isBackground: true });
      order.push("background");
    });
    await inBackground[0];
    await encoder.encode("a market report", { as: "query" });
    order.push("query");
    await Promise.all(inBackground);
    // Those that were read before it arrived, however busy the machine is.
    assert.isAtMost(order.indexOf("query"), 50);
  });

  it("refuses no query for what waits in the background, and no more of that than it can take", async () => {
    encoder = createThreadEncoder(log, { script: HANGING });
    const inBackground = Array.from({ length: 300 }, () => encoder.encode("an invoice", { isBackground: true }));
    const settled = Promise.allSettled([...inBackground, encoder.encode("a query", { as: "query" })]);
    mock.timers.tick(60_000);
    const reasons = (await settled).map((one) => (one.status === "rejected" ? String(one.reason) : ""));
    assert.lengthOf(
      reasons.filter((reason) => reason.includes("Too many")),
      100,
    );
    assert.match(reasons.at(-1) ?? "", /hangs/);
  });

  it("ends a thread that hangs, so that those who wait are refused and the next text starts another", async () => {
    encoder = createThreadEncoder(log, { script: HANGING });
    for (let thread = 0; thread < 2; thread += 1) {
      const answers = Promise.allSettled([encoder.encode("one"), encoder.encode("two")]);
      mock.timers.tick(60_000);
      for (const answer of await answers) {
        assert.ok(answer.status === "rejected");
        assert.instanceOf(answer.reason, EncoderUnavailableError);
        assert.match((answer.reason as Error).message, /hangs/);
      }
    }
  });
});
