import { assert } from "chai";

import { collection, number } from "../../../api/db/records.ts";
import { Changes } from "../../../api/jobs/change-loop.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

describe("the changes of collections", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());

  it("reach everyone who listens to a collection and nobody else, until the loop is told to stop", async () => {
    const { connection, log } = api.container;
    const modelOf = (name: string) => collection(connection, `Test ${name}`, `test_${name}`, { n: number });
    const [heard, beside] = [modelOf("heard"), modelOf("beside")];
    const changes = new Changes({ connection, log });
    const inserts: number[] = [];
    let others = 0;
    changes.on(heard, (change) => {
      if (change.operationType === "insert") inserts.push(change.fullDocument.n);
    });
    changes.on(heard, () => (others += 1));
    changes.on(modelOf("silent"), () => assert.fail("nothing changes there"));
    const ending = new AbortController();
    const running = changes.loop.run(ending.signal);
    await until("the loop listens", async () => {
      await beside.collection.insertOne({ n: 1 });
      await heard.collection.insertOne({ n: 0 });
      return inserts.length > 0;
    });
    await heard.collection.insertOne({ n: 2 });
    await until("the last change is heard", () => Promise.resolve(inserts.at(-1) === 2));
    assert.strictEqual(others, inserts.length);
    // At once, although the server would hold the read for longer than a test may take.
    ending.abort();
    await running;
  });
});
