// An intentId keeps a listing and a message to one: whatever key sends it, however late, and in whichever process.
import { assert } from "chai";

import { assertError, listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { killAtEachWrite } from "../../fixtures/failpoints.ts";
import { faultyDatabase } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { sealedContent, startMessageApi } from "../../fixtures/messages.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { startSecondProcess } from "../../fixtures/two-processes.ts";

const AT_ONCE = 6;
const ROUNDS = 3;

describe("a record with an intentId", () => {
  const oneProcess = "the second process is the test's own";
  let api: TestApi;
  let second: { url: string; stop(): Promise<void> };
  let route: FaultyRoute;
  /** Its process is killed. */
  let victim: TestApi;
  let agent: TestAgent;
  let recipient: TestAgent;
  let numbers = 0;

  before(async () => {
    const stack = await readStack();
    api = await startMessageApi({ oneProcess });
    const { env, connection } = api.container;
    const timings = { indexWaitMs: 60_000, answerLimitMs: 120_000 };
    second = await startSecondProcess({ env, databaseName: connection.name, timings, search: false });
    route = await faultyDatabase(stack.mongodbUri);
    const { limits } = env;
    victim = await startTestApi({
      oneProcess,
      databaseName: connection.name,
      env: { limits, mongodbUri: route.url },
    });
    agent = await api.registerAgent();
    recipient = await api.registerAgent();
  });
  after(async () => {
    await victim.stop();
    await second.stop();
    await api.close();
    await route.close();
  });

  const newIntent = () => `wish-${(numbers += 1)}`;
  type Request = Record<string, unknown>;
  type Asked = { on?: string; as?: Pick<TestAgent, "apiKey">; headers?: Record<string, string> };
  const post = async (path: string, body: Request, { on = api.ownUrl, as = agent, headers = {} }: Asked = {}) => {
    const sent = { "content-type": "application/json", "x-api-key": as.apiKey, ...headers };
    const answer = await fetch(`${on}${path}`, { method: "POST", headers: sent, body: JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: JSON.parse(text), text };
  };
  const processOf = (n: number) => (n % 2 === 0 ? api.ownUrl : second.url);

  const kinds = [
    {
      kind: "listing",
      path: "/api/v1/services",
      newRequest: (): Request => ({ ...listingBody(), intentId: newIntent() }),
      changes: { title: "Another title", price: 3, network: "base", endpointUrl: "https://agent.example/jobs" },
      other: "/api/v1/messages",
      otherRequest: (): Request => ({ toAgentId: recipient.agentId, body: "Hello" }),
      count: () => api.container.features.listings.models.listings.countDocuments({}),
    },
    {
      kind: "message",
      path: "/api/v1/messages",
      newRequest: (): Request => ({ toAgentId: recipient.agentId, body: { n: 1, of: [2] }, intentId: newIntent() }),
      changes: { body: { n: 2, of: [2] }, contentType: "application/x+json", replyTo: "msg_other" },
      other: "/api/v1/services",
      otherRequest: (): Request => listingBody(),
      count: () => api.container.features.messages.models.messages.countDocuments({}),
    },
  ] as const;

  for (const { kind, path, newRequest, changes, other, otherRequest, count } of kinds) {
    describe(`as a ${kind}`, () => {
      const make = async (body: Request, options?: Asked) => {
        const answer = await post(path, body, options);
        assert.strictEqual(answer.status, 201, answer.text);
        return answer.body.data as { id: string };
      };

      it("[D56] is made once, in either process, with any Idempotency-Key, and after those are deleted", async () => {
        const request = newRequest();
        const headers = { "Idempotency-Key": newIntent() };
        const first = await make(request, { headers });
        const made = await count();
        assert.deepEqual(await make(request), first);
        assert.deepEqual(await make(request, { on: second.url, headers: { "Idempotency-Key": newIntent() } }), first);
        await api.container.connection.collection("idempotency_keys").deleteMany({});
        assert.deepEqual(await make(request, { headers }), first);
        assert.strictEqual(await count(), made);
      });

      it("[D56] is made once with another API key", async () => {
        const body = { ...(await keyRequestBody(agent.account)), revokeOthersAfterSeconds: 3_600 };
        const { body: signedIn } = await post("/api/v1/auth/keys", body);
        const as = { apiKey: signedIn.apiKey as string };
        assert.notStrictEqual(as.apiKey, agent.apiKey);
        const request = newRequest();
        assert.deepEqual(await make(request, { as }), await make(request));
      });

      for (const [name, value] of Object.entries(changes)) {
        it(`[D56] is a conflict that names it and ${name}`, async () => {
          const request = newRequest();
          const { id } = await make(request);
          const made = await count();
          const answer = await post(path, { ...request, [name]: value });
          assertError(answer, 409, "intent_conflict");
          assert.deepEqual(answer.body.details, { intentId: request["intentId"], kind, id, differs: [name] });
          assert.strictEqual(await count(), made);
        });
      }

      it("[D56] is a conflict for a record of another kind", async () => {
        const request = newRequest();
        const { intentId } = request;
        const { id } = await make(request);
        const orders: [string, Request][] = [
          [other, otherRequest()],
          ["/api/v1/checkout", { serviceId: "lst_1", paymentMethod: "usdc" }],
        ];
        for (const [otherPath, body] of orders) {
          const answer = await post(otherPath, { ...body, intentId });
          assertError(answer, 409, "intent_conflict");
          assert.deepEqual(answer.body.details, { intentId, kind, id, differs: ["kind"] });
        }
      });

      it("[D56] is another record for another agent", async () => {
        const request = newRequest();
        const first = await make(request);
        assert.notStrictEqual((await make(request, { as: await api.registerAgent() })).id, first.id);
      });

      it("[D56] is made once by two processes at once, and each answer is of it", async () => {
        for (let round = 0; round < ROUNDS; round += 1) {
          const request = newRequest();
          const before = await count();
          const all = Array.from({ length: AT_ONCE }, (_, n) => make(request, { on: processOf(n) }));
          const ids = (await Promise.all(all)).map(({ id }) => id);
          assert.lengthOf([...new Set(ids)], 1);
          assert.strictEqual(await count(), before + 1);
        }
      });

      it("[D56] is made once when its process is killed at any write", async () => {
        let request = newRequest();
        let before = 0;
        const kept = new Set<number>();
        const names = await killAtEachWrite({
          route,
          prepare: async () => {
            request = newRequest();
            before = await count();
          },
          work: () => post(path, request, { on: victim.ownUrl }),
          finish: async (what) => {
            kept.add((await count()) - before);
            const [one, same] = [await make(request), await make(request, { on: second.url })];
            assert.deepEqual(one, same, what);
            assert.strictEqual(await count(), before + 1, what);
          },
        });
        assert.isTrue(names.some((name) => name.startsWith("insert intents")));
        assert.sameMembers([...kept], [0, 1], "some kills came before the record, some after");
      });
    });
  }

  it("[D56] a listing is answered as it stands now", async () => {
    const request = { ...listingBody(), intentId: newIntent() };
    const { body: first } = await post("/api/v1/services", request);
    const path = `/api/v1/services/${first.data.id}`;
    const paused = await api.request("PATCH", path, { key: agent.apiKey, body: { status: "paused", price: 7 } });
    assert.strictEqual(paused.status, 200, paused.text);
    const { status, body } = await post("/api/v1/services", { ...request, currency: "USDC" });
    assert.strictEqual(status, 201);
    assert.deepEqual(body.data, paused.body.data);
  });

  it("[D56] a message that was deleted is a conflict without a difference, and isn't sent again", async () => {
    const request = { toAgentId: recipient.agentId, body: "Hello", intentId: newIntent() };
    const { body: first } = await post("/api/v1/messages", request);
    const { messages } = api.container.features.messages.models;
    await messages.deleteOne({ _id: first.data.id });
    const answer = await post("/api/v1/messages", request);
    assertError(answer, 409, "intent_conflict");
    const { intentId } = request;
    assert.deepEqual(answer.body.details, { intentId, kind: "message", id: first.data.id, differs: [] });
  });

  it("[D56] an encrypted message is repeated with the same ciphertext alone", async () => {
    const request = { toAgentId: recipient.agentId, encrypted: sealedContent(), intentId: newIntent() };
    const { body: first } = await post("/api/v1/messages", request);
    const { status, body } = await post("/api/v1/messages", request);
    assert.deepEqual([status, body], [201, first]);
    const again = await post("/api/v1/messages", { ...request, encrypted: sealedContent() });
    assertError(again, 409, "intent_conflict");
    assert.deepEqual(again.body.details.differs, ["encrypted"]);
    assertError(
      await post("/api/v1/messages", { ...request, intentId: newIntent() }),
      409,
      "encrypted_message_repeated",
    );
  });

  it("[D56] a message that was refused leaves its intent free", async () => {
    const request = { toAgentId: recipient.agentId, encrypted: sealedContent(), intentId: newIntent() };
    assert.strictEqual((await post("/api/v1/messages", { ...request, intentId: newIntent() })).status, 201);
    assertError(await post("/api/v1/messages", request), 409, "encrypted_message_repeated");
    const { status, text } = await post("/api/v1/messages", { ...request, encrypted: sealedContent() });
    assert.strictEqual(status, 201, text);
  });
});
