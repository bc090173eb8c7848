import { assert } from "chai";

import { INBOX_LIMITS } from "../../../api/config/constants.ts";
import { assertError, assertInvalid } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { Correspondent, sealedContent, startMessageApi } from "../../fixtures/messages.ts";
import { openChain } from "../../fixtures/stack.ts";

const MESSAGES = "/api/v1/messages";

describe("messages between agents", () => {
  let api: TestApi;
  let alice: Correspondent;
  let bob: Correspondent;
  let eve: Correspondent;
  before(async () => {
    api = await startMessageApi();
  });
  after(() => api.close());
  beforeEach(async () => {
    [alice, bob, eve] = await Promise.all([
      Correspondent.register(api),
      Correspondent.register(api),
      Correspondent.register(api),
    ]);
  });

  describe("happy", () => {
    it("[S4.r28] [S4.r28.2] [S2.7.06] [D28] a message arrives in its recipient's inbox and is in its sender's list of sent ones", async () => {
      const message = await alice.sent(bob, { body: "Is the report ready?" });
      assert.match(message.id, /^msg_[0-9a-f]{32}$/);
      const { id, createdAt, ...fields } = message;
      assert.deepEqual(fields, {
        fromAgentId: alice.id,
        toAgentId: bob.id,
        contentType: "text/plain",
        body: "Is the report ready?",
        replyTo: null,
        transactionId: null,
        readAt: null,
      });
      assert.deepEqual(await bob.list(), { success: true, data: [message], nextCursor: null } as never);
      assert.deepEqual((await alice.list("?box=sent")).data, [message]);
      assert.deepEqual((await alice.list()).data, []);
      assert.deepEqual([id.length, new Date(createdAt).toISOString()], [36, createdAt]);
    });

    it("[S4.r29] both sides read it by its id, and it can be replied to", async () => {
      const question = await alice.sent(bob, { body: "How much?" });
      const reply = await bob.sent(alice, { body: { usd: 3 }, replyTo: question.id });
      assert.deepEqual([reply.contentType, reply.replyTo], ["application/json", question.id]);
      for (const reader of [alice, bob]) {
        const { body } = await reader.call("GET", `${MESSAGES}/${reply.id}`);
        assert.deepEqual(body.data, reply);
      }
    });

    it("[S4.r29.1] PATCH marks it as read and as unread again, each once", async () => {
      const { id } = await alice.sent(bob);
      const mark = async (read: boolean) => (await bob.call("PATCH", `${MESSAGES}/${id}`, { read })).body.data.readAt;
      const first = await mark(true);
      assert.isString(first);
      assert.strictEqual(await mark(true), first);
      assert.deepEqual([await bob.bodies("?unread=true"), await bob.bodies("?unread=false")], [[], ["Hello"]]);
      assert.isNull(await mark(false));
      assert.isNull(await mark(false));
      assert.deepEqual(await bob.bodies("?unread=true"), ["Hello"]);
      const inbox = await api.container.features.messages.models.inboxes.findById(bob.id).lean();
      assert.strictEqual(inbox?.unread, 1);
    });

    it("[S4.r29.1] PATCH without a body, or with an empty one, marks it as read", async () => {
      for (const body of [undefined, {}]) {
        const { id } = await alice.sent(bob);
        const answer = await bob.call("PATCH", `${MESSAGES}/${id}`, body);
        assert.strictEqual(answer.status, 200, answer.text);
        assert.isString(answer.body.data.readAt);
      }
      assert.deepEqual(await bob.bodies("?unread=true"), []);
    });

    it("[D37] the recipient's event log has it whole, the sender's has nothing", async () => {
      const { id, createdAt } = await alice.sent(bob, { body: "Hello" });
      const [event, ...others] = await bob.events();
      assert.deepEqual(others, []);
      assert.deepEqual(event?.payload, {
        event: "message.received",
        messageId: id,
        fromAgentId: alice.id,
        toAgentId: bob.id,
        contentType: "text/plain",
        body: "Hello",
        replyTo: null,
        createdAt,
      });
      assert.deepEqual(await alice.events(), []);
    });

    it("any JSON is a body and comes back as it was sent, in the same order of fields", async () => {
      for (const body of [{ z: 1, a: [true, null, "é", { "$set.x": 0.1 }] }, [], 0, false, null, "text", ""]) {
        const type = typeof body === "string" ? "text/markdown" : "application/json";
        const { id } = await alice.sent(bob, { contentType: type, body });
        const { text } = await bob.call("GET", `${MESSAGES}/${id}`);
        assert.include(text, `"contentType":"${type}","body":${JSON.stringify(body)}`);
      }
    });

    it("the inbox has pages, and filters by sender, topic and read mark", async () => {
      for (let n = 0; n < 5; n += 1) await (n % 2 === 0 ? alice : eve).sent(bob, { body: `m${n}` });
      const first = await bob.list("?limit=2");
      assert.deepEqual(
        first.data.map(({ body }) => body as string),
        ["m4", "m3"],
      );
      assert.deepEqual(await bob.bodies("?limit=2"), ["m0", "m1", "m2", "m3", "m4"]);
      assert.deepEqual(await bob.bodies(`?limit=1&from=${eve.id}`), ["m1", "m3"]);
      assert.deepEqual(await bob.bodies(`?from=${eve.id}&topic=none&unread=true`), []);
      assert.deepEqual(await alice.bodies("?box=sent&limit=1"), ["m0", "m2", "m4"]);
    });

    it("[S5.14] an encrypted content arrives unchanged, by API and event", async () => {
      const encrypted = sealedContent();
      const { id } = await alice.sent(bob, { encrypted });
      const { body } = await bob.call("GET", `${MESSAGES}/${id}`);
      assert.deepEqual(body.data.encrypted, encrypted);
      assert.notProperty(body.data, "body");
      assert.deepEqual((await bob.events())[0]?.payload.encrypted, encrypted);
    });

    it("[D43] a repeat with the same Idempotency-Key is one message and one event", async () => {
      const send = () =>
        alice.call("POST", MESSAGES, { toAgentId: bob.id, body: "Once" }, { "idempotency-key": "send-once" });
      const answers = await Promise.all([send(), send(), send()]);
      assert.strictEqual(new Set(answers.map(({ body }) => body.data.id as string)).size, 1);
      assert.deepEqual([(await bob.bodies()).length, (await bob.events()).length], [1, 1]);
    });

    it("a message about a deal is found by its parties' timelines", async () => {
      const market = await openMarket(api, await openChain("base-sepolia"));
      const { transactionId } = await fundedDeal(market);
      const [buyer, seller] = [new Correspondent(api, market.buyer), new Correspondent(api, market.seller)];
      const { id } = await buyer.sent(seller, { body: "When?", transactionId });
      const { messagesOf } = api.container.features.messages;
      for (const party of [buyer, seller]) {
        const found = await messagesOf(transactionId, party.id, 10);
        assert.deepEqual(
          found.map(({ _id }) => _id),
          [id],
        );
      }
      assert.deepEqual(await messagesOf(transactionId, eve.id, 10), []);
      const foreign = await alice.send(bob, { body: "x", transactionId });
      assertError(foreign, 404, "not_found");
      assert.deepEqual(foreign.body.details, { transactionId });
      assertError(await buyer.send(bob, { body: "x", transactionId }), 404, "not_found");
    });
  });

  describe("error", () => {
    it("an unknown recipient is 404 with a code of its own, and an unreadable replyTo says which reference it is", async () => {
      const unknown = await alice.call("POST", MESSAGES, { toAgentId: "agt_nobody", body: "x" });
      assertError(unknown, 404, "recipient_not_found");
      assert.deepEqual(unknown.body.details, { toAgentId: "agt_nobody" });
      const secret = await alice.sent(bob);
      for (const replyTo of [secret.id, "msg_none"]) {
        const answer = await eve.send(bob, { body: "x", replyTo });
        assertError(answer, 404, "not_found");
        assert.deepEqual(answer.body.details, { replyTo });
      }
    });

    it("exactly one recipient and one content are needed", async () => {
      const toAgentId = bob.id;
      const post = (body: object) => alice.call("POST", MESSAGES, body);
      assertInvalid(await post({}), "body.toAgentId", "body.body");
      assertInvalid(await post({ toAgentId, topic: "news", body: "x" }), "body.topic");
      assertInvalid(await post({ toAgentId, body: "x", encrypted: sealedContent() }), "body.encrypted");
      assertInvalid(await post({ topic: "news", encrypted: sealedContent() }), "body.encrypted");
      assertInvalid(await post({ toAgentId, contentType: "text/plain", body: {} }), "body.body");
    });

    it("a body has at most 64 KB, counted in bytes of UTF-8 and of canonical JSON", async () => {
      await alice.sent(bob, { body: "é".repeat(32_768) });
      assertInvalid(await alice.send(bob, { body: "é".repeat(32_769) }), "body.body");
      await alice.sent(bob, { body: ["x".repeat(65_532)] });
      assertInvalid(await alice.send(bob, { body: ["x".repeat(65_533)] }), "body.body");
    });

    it("an encrypted content has the form of decision 28 to the last byte", async () => {
      const sealed = sealedContent();
      const faults: [field: string, value: unknown][] = [
        ["v", 2],
        ["alg", "none"],
        ["ephemeralPublicKey", `0x04${"11".repeat(64)}`],
        ["ephemeralPublicKey", sealed.ephemeralPublicKey.toUpperCase()],
        ["iv", sealed.iv.slice(4)],
        ["tag", `${sealed.tag.slice(0, 21)}B==`],
        ["ciphertext", "A"],
        ["ciphertext", "A".repeat(87_388)],
        ["key", "0x00"],
      ];
      for (const [field, value] of faults) {
        const answer = await alice.send(bob, { encrypted: { ...sealed, [field]: value } });
        assertInvalid(answer, `body.encrypted.${field}`);
      }
    });

    it("[D28] a full inbox refuses the next message, keeps what it has, and takes more once one is read", async () => {
      const { inboxes } = api.container.features.messages.models;
      const { id } = await alice.sent(bob);
      await inboxes.updateOne({ _id: bob.id }, { unread: INBOX_LIMITS.unread - 3 });
      const answers = await Promise.all(Array.from({ length: 6 }, () => alice.send(bob)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 201, 201, 409, 409, 409]);
      assertError(await eve.send(bob), 409, "inbox_full");
      assert.strictEqual((await bob.bodies()).length, 4);
      await bob.call("PATCH", `${MESSAGES}/${id}`, { read: true });
      await eve.sent(bob);
    });

    it("one sender can't fill an inbox", async () => {
      const { inboxEntries } = api.container.features.messages.models;
      await inboxEntries.insertMany(
        Array.from({ length: INBOX_LIMITS.unreadPerSender - 1 }, (_, n) => ({
          _id: `${alice.id}:${n}`,
          messageId: `msg_${n}`,
          agentId: bob.id,
          fromAgentId: alice.id,
          seq: -n,
          topic: null,
          readAt: null,
          isRead: false,
        })),
      );
      await alice.sent(bob);
      assertError(await alice.send(bob), 409, "inbox_full");
      await eve.sent(bob);
    });
  });

  describe("security", () => {
    it("[S5.16] the sender is the owner of the key; fromAgentId in the body is an error", async () => {
      assertInvalid(await eve.send(bob, { body: "x", fromAgentId: alice.id }), "body.fromAgentId");
      assert.strictEqual((await eve.sent(bob)).fromAgentId, eve.id);
    });

    it("[D33] to everybody else a message doesn't exist, and its sender can't mark it", async () => {
      const { id } = await alice.sent(bob);
      assertError(await eve.call("GET", `${MESSAGES}/${id}`), 404, "not_found");
      assertError(await eve.call("PATCH", `${MESSAGES}/${id}`, { read: true }), 404, "not_found");
      assertError(await alice.call("PATCH", `${MESSAGES}/${id}`, { read: true }), 403, "wrong_role");
      assert.deepEqual(await bob.bodies("?unread=true"), ["Hello"]);
    });

    it("the same ciphertext reaches an agent once, no matter who sends it", async () => {
      const encrypted = sealedContent();
      await alice.sent(bob, { encrypted });
      for (const sender of [alice, eve]) {
        assertError(await sender.send(bob, { encrypted }), 409, "encrypted_message_repeated");
      }
      await alice.sent(eve, { encrypted });
    });

    it("sends at the same time leave no gap in the log, and every message in the inbox once", async () => {
      const sends = Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? alice : eve).sent(bob, { body: n }));
      await Promise.all(sends);
      assert.deepEqual(
        (await bob.bodies()).sort((one, other) => Number(one) - Number(other)),
        Array.from({ length: 20 }, (_, n) => n),
      );
      assert.strictEqual((await bob.events()).length, 20);
    });
  });
});
