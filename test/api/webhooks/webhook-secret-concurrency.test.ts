// Rotating and activating a webhook secret at the same moment: no issued secret is lost, and none signs without
// activation.

import { assert } from "chai";

import { webhookSecretModel } from "../../../api/features/webhooks/secrets/model.ts";
import type { WebhookSecretModel } from "../../../api/features/webhooks/secrets/model.ts";
import { createWebhookSecrets } from "../../../api/features/webhooks/secrets/service.ts";
import type { WebhookSecrets, WebhookSecretState } from "../../../api/features/webhooks/secrets/service.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";

const MASTERS = ["a-master-secret-that-only-the-tests-know"];
const ROUNDS = 4;
const AT_ONCE = 4;

describe("changes of a webhook secret at the same moment", () => {
  /** Two APIs on one database. */
  let apis: [TestApi, TestApi];
  let model: WebhookSecretModel;
  let secrets: WebhookSecrets;

  before(async () => {
    const first = await startTestApi();
    apis = [first, await startTestApi({ databaseName: first.container.connection.name })];
    const { connection } = first.container;
    model = (connection.models["WebhookSecret"] as WebhookSecretModel | undefined) ?? webhookSecretModel(connection);
    secrets = createWebhookSecrets(model, MASTERS, () => new Date());
  });
  after(async () => {
    await apis[1].stop();
    await apis[0].close();
  });

  /** A caller that has read the stored state and writes only when the test continues it. */
  function slowCaller() {
    let goOn = () => {};
    let hasRead = () => {};
    const pause = new Promise<void>((resolve) => (goOn = resolve));
    const reading = new Promise<void>((resolve) => (hasRead = resolve));
    const slow = {
      findById: (id: string) => ({
        lean: async () => {
          const record = await model.findById(id).lean();
          hasRead();
          await pause;
          return record;
        },
      }),
      replaceOne: model.replaceOne.bind(model),
    };
    return { secrets: createWebhookSecrets(slow as never, MASTERS, () => new Date()), reading, goOn };
  }

  it("[D38] a late activation neither removes nor activates the secret that was issued in the meantime", async () => {
    const agentId = "agt_late_activation";
    await secrets.rotate(agentId);
    const late = slowCaller();
    const activation = late.secrets.activate(agentId);
    await late.reading;
    await secrets.activate(agentId);
    const handedOut = await secrets.rotate(agentId);
    assert.deepEqual([handedOut.rotation, handedOut.next?.rotation], [1, 2]);
    late.goOn();
    assert.deepEqual(await activation, handedOut);
    assert.deepEqual(await secrets.stateOf(agentId), handedOut);
  });

  it("[D38] a late rotation returns the secret that another one has issued, and when the old one stops signing", async () => {
    for (const agentId of ["agt_late_rotation", "agt_late_first_rotation"]) {
      if (agentId === "agt_late_rotation") {
        await secrets.rotate(agentId);
        await secrets.activate(agentId);
      }
      const late = slowCaller();
      const rotation = late.secrets.rotate(agentId);
      await late.reading;
      const handedOut = await secrets.rotate(agentId);
      late.goOn();
      assert.deepEqual(await rotation, handedOut);
      assert.deepEqual(await secrets.stateOf(agentId), handedOut);
    }
  });

  it("[D38] a late rotation after another one and its activation creates its own secret", async () => {
    const agentId = "agt_later_rotation";
    const late = slowCaller();
    const rotation = late.secrets.rotate(agentId);
    await late.reading;
    const first = await secrets.rotate(agentId);
    await secrets.activate(agentId);
    late.goOn();
    const second = await rotation;
    assert.deepEqual([second.secret, second.rotation, second.next?.rotation], [first.next?.secret, 1, 2]);
  });

  it("[D38] no issued secret is lost when two processes rotate and activate at once", async () => {
    const agent: TestAgent = await apis[0].registerAgent();
    const call = async (api: TestApi, method: string, operation: string): Promise<WebhookSecretState> => {
      const options = { key: agent.apiKey, ...(method === "POST" ? { body: {} } : {}) };
      const { status, body, text } = await api.request(method, `/api/v1/webhooks/secret${operation}`, options);
      assert.strictEqual(status, 200, text);
      return body.data as WebhookSecretState;
    };
    let rotation = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, n) => n)
          .flatMap((n) => [["/rotate", n] as const, ["/activate", n] as const])
          .map(([operation, n]) => call(n % 2 === 0 ? apis[0] : apis[1], "POST", operation)),
      );
      const state = await call(apis[0], "GET", "");
      for (const { next } of answers) {
        if (next === null || next.rotation <= state.rotation) continue;
        assert.deepEqual(next, state.next);
      }
      assert.ok((state.next?.rotation ?? state.rotation) > rotation, "no rotation of this round is left");
      rotation = state.rotation;
    }
  });
});
