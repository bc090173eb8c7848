// Where the plaintext of an encrypted message could be: answers, records, logs and webhooks.
import { randomBytes } from "node:crypto";

import { assert } from "chai";

import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { startApiProcess } from "../../fixtures/api-process.ts";
import type { ApiProcess } from "../../fixtures/api-process.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { ApiError, collect, decrypt, Marketplace } from "../../../sdk/src/index.ts";
import type { SealedMessage } from "../../../sdk/src/index.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

const SECRET = "the-formula-is-twelve-parts-of-copper";

describe("an encrypted message", () => {
  const databaseName = `test_plaintext_${randomBytes(6).toString("hex")}`;
  let api: TestApi;
  let server: ApiProcess;
  let hook: TestReceiver;
  /** All that the API has answered to the client. */
  let answers = "";
  before(async () => {
    api = await startTestApi({ databaseName });
    server = await startApiProcess(databaseName, { LOG_LEVEL: "trace" });
    hook = await startReceiver();
  });
  after(async () => {
    server.kill();
    await api.close();
    await hook.close();
  });

  const recorded: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    answers += await response.clone().text();
    return response;
  };
  const isSecretIn = (text: string): boolean =>
    [SECRET, Buffer.from(SECRET).toString("hex"), Buffer.from(SECRET).toString("base64").slice(0, 40)].some((form) =>
      text.includes(form),
    );

  it("[S5.13] [S5.14] [S5.15] is read by its recipient alone: no answer, record, log line or webhook has the plaintext", async () => {
    const [alice, bob] = [await api.registerAgent(), await api.registerAgent()];
    const market = new Marketplace({ url: server.url, fetch: recorded });
    const sender = market.agent({ apiKey: alice.apiKey });
    const recipient = market.agent({ apiKey: bob.apiKey });
    await recipient.messages.registerWebhook(hook.url);
    const options = { walletAddress: bob.walletAddress };
    const sent = await sender.messages.sendEncrypted({ toAgentId: bob.agentId, body: SECRET }, options);
    await sender.messages.sendEncrypted({ toAgentId: bob.agentId, body: { formula: SECRET }, replyTo: sent.id });
    await rejectionOf(sender.messages.sendEncrypted({ toAgentId: "agt_nobody", body: SECRET }), ApiError);
    await api.container.features.webhooks.dispatcher.drain();

    const [second, first, ...others] = await collect(recipient.messages.inbox());
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual([others, first.encrypted], [[], sent.encrypted]);
    assert.strictEqual(await recipient.messages.decrypt(first, bob.privateKey), SECRET);
    assert.deepEqual(await recipient.messages.decrypt(second, bob.privateKey), { formula: SECRET });
    assert.strictEqual(hook.received.length, 2);
    const [webhook] = hook.received.filter(({ body }) => body.messageId === first.id);
    const posted = { ...webhook?.body, id: first.id } as SealedMessage;
    assert.strictEqual(await decrypt(bob.privateKey, posted), SECRET);

    assert.isFalse(isSecretIn(answers), "an answer");
    assert.isFalse(isSecretIn(JSON.stringify(hook.received)), "a webhook");
    const collections = (await api.container.connection.db?.collections()) ?? [];
    assert.isAbove(collections.length, 20);
    let found = 0;
    for (const collection of collections) {
      for await (const record of collection.find()) {
        const text = JSON.stringify(record);
        assert.isFalse(isSecretIn(text), `${collection.collectionName}: ${text.slice(0, 200)}`);
        if (text.includes(sent.encrypted?.ciphertext ?? "-")) found += 1;
      }
    }
    // The search does find what is stored: in the message, its event and the kept answer.
    assert.isAtLeast(found, 3);
    await server.stop();
    assert.ok(server.log.some((line) => line.includes("/api/v1/messages")));
    assert.isFalse(isSecretIn(server.log.join("\n")), "the log");
  });
});
