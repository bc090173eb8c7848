import { assert } from "chai";

import { WEBHOOKS_PER_AGENT } from "../../../api/config/constants.ts";
import { createContainer } from "../../../api/container.ts";
import { withTransaction } from "../../../api/db/connection.ts";
import { newId } from "../../../api/lib/ids.ts";
import { EVENT_TYPES } from "../../../api/features/events/model.ts";
import type { EventType } from "../../../api/features/events/model.ts";
import type { DispatchTarget } from "../../../api/features/outbox/enqueue.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { openChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/api/v1/webhooks";
const WEBHOOK = { url: "https://agent.example/hook", events: ["escrow.funded"] };

describe("registered webhooks", () => {
  let api: TestApi;
  let agent: TestAgent;

  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());
  beforeEach(async () => {
    agent = await api.registerAgent();
  });

  const register = (body: object = WEBHOOK, key = agent.apiKey) => api.request("POST", PATH, { key, body });
  const get = (path: string, key = agent.apiKey) => api.request("GET", path, { key });
  const idOf = (answer: Awaited<ReturnType<typeof register>>): string => {
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data.webhookId as string;
  };
  const listed = async (): Promise<string[]> =>
    (await get(`${PATH}?limit=100`)).body.data.map(({ webhookId }: { webhookId: string }) => webhookId);

  /** Records an event that belongs to no escrow, for the log of an agent. */
  async function announce(type: EventType, { agentId }: TestAgent, targets: DispatchTarget[] = []): Promise<string> {
    const recordId = newId("req", new Date());
    const announcement = {
      type,
      record: { recordId, transactionId: null, orderKey: null },
      body: { event: type, recordId },
      incarnation: 0,
      recipients: [agentId],
      targets,
      occurredAt: new Date(),
    };
    const { connection, features } = api.container;
    await withTransaction(connection, (session) => features.events.recorder.record([announcement], session));
    return recordId;
  }
  const dispatchesOf = async ({ agentId }: TestAgent) =>
    api.container.features.outbox.models.dispatches.find({ agentId }).sort({ _id: 1 }).lean();

  describe("are kept", () => {
    it("[S4.r24] [S4.r24.2] [D38] under both spellings of the path, and are listed, changed and removed", async () => {
      const events = ["escrow.funded", "escrow.released", "dispute.created"];
      const answer = await api.request("POST", "/v1/webhooks", { key: agent.apiKey, body: { ...WEBHOOK, events } });
      const webhookId = idOf(answer);
      const { createdAt, updatedAt, ...data } = answer.body.data;
      assert.deepEqual(data, {
        id: webhookId,
        webhookId,
        url: WEBHOOK.url,
        events,
        durable: false,
        status: "active",
        failingSince: null,
        disabledAt: null,
      });
      assert.strictEqual(createdAt, updatedAt);
      const other = idOf(await register({ ...WEBHOOK, durable: true }));
      assert.deepEqual(await listed(), [other, webhookId]);
      const page = await get(`/v1/webhooks?limit=1`);
      const rest = await get(`/v1/webhooks?limit=1&cursor=${page.body.nextCursor as string}`);
      assert.deepEqual([page.body.data[0].webhookId, rest.body.data[0].webhookId], [other, webhookId]);
      assert.isNull(rest.body.nextCursor);

      const body = { url: "http://moved.example/", events: ["escrow.released"], durable: true };
      const changed = await api.request("PATCH", `${PATH}/${webhookId}`, { key: agent.apiKey, body });
      assert.deepInclude(changed.body.data, { webhookId, ...body, status: "active" });
      assert.deepEqual((await get(`${PATH}/${webhookId}`)).body, changed.body);
      assert.strictEqual((await api.request("DELETE", `${PATH}/${webhookId}`, { key: agent.apiKey })).status, 200);
      assert.deepEqual(await listed(), [other]);
      assertError(await get(`${PATH}/${webhookId}`), 404, "not_found");
    });

    it("at most 20 an agent, even if 30 arrive at once at two processes", async () => {
      const { connection, clock, log, env } = api.container;
      const other = await createContainer({ env, log, clock, databaseName: connection.name });
      try {
        const operation = { isRepeat: false, isRepeatable: false, newId };
        const { registrations } = other.features.webhooks;
        const attempts = Array.from({ length: 30 }, (_, n) =>
          n % 2 === 0
            ? register()
            : registrations.add(agent.agentId, { url: WEBHOOK.url, events: [], durable: false }, operation),
        );
        await Promise.allSettled(attempts);
      } finally {
        await other.close();
      }
      assert.strictEqual((await listed()).length, WEBHOOKS_PER_AGENT);
      const refused = await register();
      assertError(refused, 409, "webhook_limit_reached");
      assert.deepEqual(refused.body.details, { limit: 20 });
      const [last = ""] = await listed();
      await api.request("DELETE", `${PATH}/${last}`, { key: agent.apiKey });
      assert.strictEqual((await register()).status, 201, "its place is free again");
    });

    it("once if the request is repeated with the same Idempotency-Key", async () => {
      const headers = { "idempotency-key": "one" };
      const send = () => api.request("POST", PATH, { key: agent.apiKey, body: WEBHOOK, headers });
      assert.strictEqual(idOf(await send()), idOf(await send()));
      assert.strictEqual((await listed()).length, 1);
    });
  });

  describe("are refused", () => {
    it("[S4.r24.1] [D39] unless the address is an http or https URL without credentials", async () => {
      for (const url of ["nowhere", "", 7, null, "ftp://a.example/", "javascript:alert(1)", "https://u:p@a.example/"]) {
        assertInvalid(await register({ ...WEBHOOK, url }), "body.url");
      }
      assertInvalid(await register({ ...WEBHOOK, url: `https://a.example/${"x".repeat(2_048)}` }), "body.url");
    });

    it("[S4.r24.2] [S6.25] [D37] unless the events are a list of known names, each once: order.* isn't one", async () => {
      for (const event of ["order.created", "order.funded", "order.*", "*", "escrow.*", "escrow.created", ""]) {
        assertInvalid(await register({ ...WEBHOOK, events: ["escrow.funded", event] }), "body.events.1");
      }
      const lists = [[], "escrow.funded", null, ["escrow.funded", "escrow.funded"]];
      for (const events of lists) assertInvalid(await register({ ...WEBHOOK, events }), "body.events");
      assert.strictEqual((await register({ ...WEBHOOK, events: EVENT_TYPES })).status, 201);
      assert.isEmpty(EVENT_TYPES.filter((name) => name.startsWith("order.")));
    });

    it("[D33] to another agent, for whom they don't exist", async () => {
      const webhookId = idOf(await register());
      const stranger = await api.registerAgent();
      const path = `${PATH}/${webhookId}`;
      const as = (method: string, body?: object) =>
        api.request(method, path, { key: stranger.apiKey, ...(body === undefined ? {} : { body }) });
      assertError(await as("GET"), 404, "not_found");
      assertError(await as("PATCH", { durable: true }), 404, "not_found");
      assertError(await as("DELETE"), 404, "not_found");
      assert.deepEqual((await get(PATH, stranger.apiKey)).body.data, []);
      assert.isFalse((await get(path)).body.data.durable);
    });
  });

  describe("are used", () => {
    it("for the events that they name, of their agent alone, while they are active", async () => {
      const webhookId = idOf(await register({ ...WEBHOOK, events: ["escrow.released", "message.received"] }));
      const stranger = await api.registerAgent();
      await announce("message.received", agent);
      await announce("escrow.funded", agent);
      await announce("message.received", stranger);
      assert.deepEqual(
        (await dispatchesOf(agent)).map((dispatch) => [dispatch.eventType, dispatch.webhookId, dispatch.durable]),
        [["message.received", webhookId, false]],
      );
      assert.isEmpty(await dispatchesOf(stranger));
      await api.request("DELETE", `${PATH}/${webhookId}`, { key: agent.apiKey });
      await announce("message.received", agent);
      assert.strictEqual((await dispatchesOf(agent)).length, 1);
    });

    it("once for an address that several registrations or the listing name, in any spelling of it", async () => {
      const url = "https://agent.example/hook";
      await register({ ...WEBHOOK, url: "HTTPS://AGENT.example:443/hook" });
      const durable = idOf(await register({ ...WEBHOOK, url, durable: true }));
      await register({ ...WEBHOOK, url: `${url}?other` });
      await announce("escrow.funded", agent, [{ agentId: agent.agentId, url }]);
      const sent = (await dispatchesOf(agent)).filter((dispatch) => dispatch.url === url);
      assert.sameDeepMembers(
        sent.map((dispatch) => [dispatch.kind, dispatch.webhookId, dispatch.durable, dispatch.direct]),
        [
          ["immediate", durable, true, true],
          // The listing's own: specification 6.
          ["backup", durable, false, true],
        ],
      );
    });
  });

  describe("receive", () => {
    let receivers: TestReceiver[];
    let worker: TestApi;
    before(async () => {
      receivers = await Promise.all([startReceiver(), startReceiver(), startReceiver(), startReceiver()]);
      worker = await startTestApi({ runsLoops: true });
    });
    after(async () => {
      await worker.close();
      await Promise.all(receivers.map((receiver) => receiver.close()));
    });

    it("[S4.r24.3] [S6.11] what endpointUrl and callbackUrl get as well, and dispute.created when a dispute is opened", async () => {
      const [endpoint, callback, ofSeller, ofBuyer] = receivers;
      assert.ok(endpoint !== undefined && callback !== undefined && ofSeller !== undefined && ofBuyer !== undefined);
      const chain = await openChain("base-sepolia");
      const market = await openMarket(worker, chain, { endpointUrl: endpoint.url });
      const events = ["escrow.funded", "service.delivered", "dispute.created"];
      for (const [party, url] of [
        [market.seller, ofSeller.url],
        [market.buyer, ofBuyer.url],
      ] as const) {
        const answer = await worker.request("POST", PATH, { key: party.apiKey, body: { url, events } });
        assert.strictEqual(answer.status, 201, answer.text);
      }
      const { transactionId } = await fundedDeal(market, { callbackUrl: callback.url });
      await deliverDeal(market, transactionId);
      await act(worker, chain, market.buyer, transactionId, "openDispute");
      const namesOf = (receiver: TestReceiver) => [
        ...new Set(receiver.received.map(({ body }) => body.event as string)),
      ];
      const got = async (receiver: TestReceiver, names: string[]) =>
        until(`${names.join()} arrive`, () => Promise.resolve(names.every((name) => namesOf(receiver).includes(name))));
      for (const receiver of [endpoint, ofSeller]) await got(receiver, ["escrow.funded", "dispute.created"]);
      for (const receiver of [callback, ofBuyer]) await got(receiver, ["service.delivered", "dispute.created"]);
      const [created] = ofBuyer.received.filter(({ body }) => body.event === "dispute.created");
      assert.strictEqual(created?.body.transactionId, transactionId);
      assert.notInclude(namesOf(ofSeller), "service.delivered", "that is the buyer's");
      assert.isEmpty(receivers.flatMap(namesOf).filter((name) => name.startsWith("order.")));
    });
  });
});
