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

  it("ends a thread that hangs, so that those who wait are refused and the next text starts another", async () => {
    encoder = createThreadEncoder(log, HANGING);
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
