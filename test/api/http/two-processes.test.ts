// What `npm test -- --two-processes` puts before the APIs of the tests.
import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { openAlternatingDoor, startSecondProcess } from "../../fixtures/two-processes.ts";
import { until } from "../../fixtures/until.ts";

type Part = Awaited<ReturnType<typeof startSecondProcess>>;

describe("a door to two API processes", () => {
  let api: TestApi;
  let second: Part;
  let door: Part;

  before(async () => {
    api = await startTestApi({ oneProcess: "the test opens the door itself" });
    const { env, connection } = api.container;
    second = await startSecondProcess({ env, databaseName: connection.name, timings: {}, search: false });
    door = await openAlternatingDoor([api.url, second.url]);
  });
  after(async () => {
    await second.stop();
    await door.stop();
    await api.close();
  });

  it("passes requests to both in turn", async () => {
    const answered = async () => {
      const { body } = await api.container.metrics.text();
      const labels = '{method="GET",route="/api/v1/networks",status="200"}';
      return Number(
        body
          .split("\n")
          .find((line) => line.includes(labels))
          ?.split(" ")
          .at(-1) ?? 0,
      );
    };
    for (let n = 0; n < 10; n += 1) assert.strictEqual((await fetch(`${door.url}/api/v1/networks`)).status, 200);
    await until("this process has answered half of them", async () => (await answered()) === 5);
  });

  it("shows each process what the other has written, and passes headers and bodies", async () => {
    const { agentId, apiKey } = await api.registerAgent();
    for (let n = 0; n < 4; n += 1) {
      const body = JSON.stringify({ key: `entry-${n}`, value: { n } });
      const headers = { "x-api-key": apiKey, "content-type": "application/json" };
      const answer = await fetch(`${door.url}/api/v1/memory`, { method: "POST", headers, body });
      assert.strictEqual(answer.status, 201);
      assert.match(answer.headers.get("x-ratelimit-remaining") ?? "", /^\d+$/);
    }
    for (const { url } of [api, second]) {
      const answer = await fetch(`${url}/api/v1/memory`, { headers: { "x-api-key": apiKey } });
      const { data } = (await answer.json()) as { data: { key: string }[] };
      const keys = data.map(({ key }) => key).sort();
      assert.deepEqual(keys, ["entry-0", "entry-1", "entry-2", "entry-3"], agentId);
    }
  });
});
