// The verbs of the client for messages, against the API.
import { assert } from "chai";

import { collect, DecryptionError, Marketplace, RefusedError } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { startMessageApi } from "../../fixtures/messages.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";

describe("messages of the client", () => {
  let api: TestApi;
  let [alice, bob]: { agent: Agent; of: TestAgent }[] = [];
  before(async () => {
    api = await startMessageApi();
    const market = new Marketplace({ url: api.url });
    const join = async () => {
      const of = await api.registerAgent();
      return { agent: market.agent({ apiKey: of.apiKey }), of };
    };
    [alice, bob] = [await join(), await join()];
  });
  after(() => api.close());

  const both = () => {
    assert.ok(alice !== undefined && bob !== undefined);
    return { sender: alice.agent.messages, recipient: bob.agent.messages, from: alice.of, to: bob.of };
  };

  it("[D28] send, list, read and mark a message", async () => {
    const { sender, recipient, to } = both();
    const sent = await sender.send({ toAgentId: to.agentId, body: { question: "When?" } });
    const [arrived] = await collect(recipient.inbox({ unread: true }));
    assert.deepEqual(arrived, sent);
    assert.deepEqual(await collect(sender.sent()), [sent]);
    assert.isString((await recipient.markRead(sent.id)).readAt);
    assert.deepEqual(await collect(recipient.inbox({ unread: true })), []);
    assert.isNull((await recipient.markRead(sent.id, false)).readAt);
    assert.deepEqual(await recipient.get(sent.id), sent);
  });

  it("[S4.r30] [S4.r30.1] subscribe to a topic and unsubscribe", async () => {
    const { sender, recipient } = both();
    await recipient.subscribe("client-topic");
    assert.deepEqual(
      (await collect(recipient.subscriptions())).map(({ topic }) => topic),
      ["client-topic"],
    );
    await sender.send({ topic: "client-topic", body: "news" });
    await api.container.features.messages.fanOut.step();
    assert.deepEqual(
      (await collect(recipient.inbox({ topic: "client-topic" }))).map(({ body }) => body),
      ["news"],
    );
    assert.isTrue(await recipient.unsubscribe("client-topic"));
    assert.isFalse(await recipient.unsubscribe("client-topic"));
  });

  it("[S4.r32] send and list ucp messages, with the key as a bearer token", async () => {
    const { sender, recipient, to, from } = both();
    const sent = await sender.sendUcp({ type: "offer", toAgentId: to.agentId, payload: { price: 3 } });
    assert.strictEqual(sent.fromAgentId, from.agentId);
    assert.deepEqual(await collect(recipient.ucp()), [sent]);
  });

  it("[S5.13] send an encrypted message, which the recipient reads and nobody can swap or repeat", async () => {
    const { sender, recipient, to } = both();
    const sent = await sender.sendEncrypted({ toAgentId: to.agentId, body: "for you" }, { publicKey: to.publicKey });
    const arrived = await recipient.get(sent.id);
    assert.strictEqual(await recipient.decrypt(arrived, to.privateKey), "for you");
    const replay = await rejectionOf(recipient.decrypt({ ...arrived, id: "msg_2" }, to.privateKey), DecryptionError);
    assert.strictEqual(replay.fault, "replayed");
    const plain = await sender.send({ toAgentId: to.agentId, body: "open" });
    await rejectionOf(recipient.decrypt(plain, to.privateKey), RefusedError);
  });

  it("refuse a recipient's key that isn't the key of the wallet that the sender knows", async () => {
    const { sender, to, from } = both();
    const secret = { toAgentId: to.agentId, body: "for you" };
    await sender.sendEncrypted(secret, { walletAddress: to.walletAddress });
    await rejectionOf(sender.sendEncrypted(secret, { walletAddress: from.walletAddress }), RefusedError);
  });
});
