// What every route that writes answers while one of the calls that it waits for fails or hangs. What many writes call alike
// fails with two of them in each push, and with all at night.
import { randomUUID } from "node:crypto";

import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { signWebhook } from "../../../api/features/webhooks/secrets/signature.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { createEscrow, fund } from "../../fixtures/deals.ts";
import { failEachCall, FAILING, HANGING } from "../../fixtures/each-call.ts";
import type { Write } from "../../fixtures/each-call.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { faultyDatabase, faultyServer } from "../../fixtures/faults.ts";
import type { FaultKind, FaultyRoute } from "../../fixtures/faults.ts";
import { withMandate } from "../../fixtures/mandates.ts";
import { sameOrigin, sessionBody, signIn } from "../../fixtures/page-session.ts";
import { quarantinedEscrow } from "../../fixtures/quarantine.ts";
import { keyRequestBody } from "../../fixtures/sign-in.ts";
import { until } from "../../fixtures/until.ts";
import { bodyCases } from "./body-cases.ts";
import { openScene, transactionPath } from "./body-scene.ts";
import type { Scene } from "./body-scene.ts";

const SECRET = "a-secret-that-only-the-rpc-provider-knows";
const ANSWER_LIMIT_MS = 200;
const REPORT = (id: string) => ({ subject: { type: "listing", id }, reason: "spam" });

describe("a write while one of the calls that it waits for", () => {
  let database: FaultyRoute;
  let chain: FaultyRoute;
  let subgraph: FaultyRoute;
  /** Takes its time, and prepares what is written. */
  let api: TestApi;
  /** The same service with a short limit, so that many calls can hang. */
  let hurried: TestApi;
  let scene: Scene;
  let fundingHash: string;

  before(async () => {
    const { mongodbUri, networks } = await readStack();
    database = await faultyDatabase(mongodbUri);
    chain = await faultyServer(networks["base-sepolia"].rpcUrl);
    subgraph = await faultyServer(networks["base-sepolia"].subgraphUrl);
    const env = {
      mongodbUri: database.url,
      rpcUrls: { "base-sepolia": chain.url, base: networks.base.rpcUrl },
      subgraphUrls: { "base-sepolia": subgraph.url, base: networks.base.subgraphUrl },
      internalWebhookSecret: SECRET,
      adminApiKey: ADMIN_KEY,
    };
    const options = { oneProcess: "the faults are between this process and its servers", env };
    api = await startTestApi(options);
    hurried = await startTestApi({
      ...options,
      databaseName: api.container.connection.name,
      timings: { answerLimitMs: ANSWER_LIMIT_MS },
    });
    scene = await openScene(api);
    const { transactionHash } = await createEscrow(scene.market, scene.pending);
    fundingHash = transactionHash;
    await fund(scene.market, scene.pending, fundingHash);
    // The first text of a process takes longer: it loads what embeds it.
    await until("texts are embedded", async () => {
      const discovered = await hurried.request("POST", "/api/v1/discover", { body: { query: "risk" } });
      const { apiKey: key } = scene.market.seller;
      const listed = await hurried.request("POST", "/api/v1/services", { key, body: listingBody() });
      return discovered.status === 200 && listed.status === 201;
    });
  });
  const failNone = () => {
    for (const route of [database, chain, subgraph]) route.fail(0, "broken");
  };
  afterEach(failNone);
  after(async () => {
    await hurried.close();
    await api.close();
    await Promise.all([database.close(), chain.close(), subgraph.close()]);
  });

  /** A new agent, suspended by a decision. */
  async function suspended() {
    const agent = await api.registerAgent();
    const subject = { type: "agent", id: agent.agentId };
    const body = { subject, action: "suspend", reason: "spam", text: "Too many offers." };
    const decided = await api.request("POST", "/api/v1/admin/moderation", { ...AS_ADMIN, body });
    return { ...agent, decisionId: decided.body.data.id as string };
  }

  /** Writes whose case in the other tests can't succeed more than once, or doesn't get far. */
  const own: Record<string, Write["prepare"]> = {
    "POST auth/keys": async () => {
      const { account } = await api.registerAgent();
      return ["POST", "/api/v1/auth/keys", { body: await keyRequestBody(account) }];
    },
    "POST sessions": async () => {
      const body = await sessionBody(await api.registerAgent());
      return ["POST", "/api/v1/sessions", { body, headers: sameOrigin() }];
    },
    "DELETE sessions/current": async () => {
      const page = await signIn(api, await api.registerAgent());
      return ["DELETE", "/api/v1/sessions/current", { headers: page.headers(true) }];
    },
    "POST sessions/current/keys": async () => {
      const agent = await api.registerAgent();
      const page = await signIn(api, agent);
      const body = {
        action: "list",
        ...(await keyRequestBody(agent.account, { statement: "Manage keys: list them." })),
      };
      return ["POST", "/api/v1/sessions/current/keys", { body, headers: page.headers(true) }];
    },
    "POST sessions/current/webhook-secret": async () => {
      const agent = await api.registerAgent();
      const page = await signIn(api, agent);
      const statement = "Webhook secret: make the next one.";
      const body = { action: "rotate", ...(await keyRequestBody(agent.account, { statement })) };
      return ["POST", "/api/v1/sessions/current/webhook-secret", { body, headers: page.headers(true) }];
    },
    "DELETE auth/keys": async () => ["DELETE", "/api/v1/auth/keys", { key: (await api.registerAgent()).apiKey }],
    "DELETE auth/keys/{keyId}": async () => {
      const agent = await api.registerAgent();
      const { keyId } = await withMandate(api, agent);
      return ["DELETE", `/api/v1/auth/keys/${keyId}`, { key: agent.apiKey }];
    },
    "DELETE services/{id}": async () => {
      const key = scene.market.seller.apiKey;
      const { body } = await api.request("POST", "/api/v1/services", { key, body: listingBody() });
      return ["DELETE", `/api/v1/services/${body.data.id}`, { key }];
    },
    "DELETE webhooks/{webhookId}": async () => {
      const key = scene.stranger.apiKey;
      const hook = { url: "https://agent.example/hook", events: ["escrow.funded"] };
      const { body } = await api.request("POST", "/api/v1/webhooks", { key, body: hook });
      return ["DELETE", `/api/v1/webhooks/${body.data.webhookId}`, { key }];
    },
    "POST webhooks": async () => {
      const { apiKey: key } = await api.registerAgent();
      return [
        "POST",
        "/api/v1/webhooks",
        { key, body: { url: "https://agent.example/hook", events: ["escrow.funded"] } },
      ];
    },
    "POST transactions/{id}/fund": () => {
      const path = transactionPath(scene.pending, "/fund");
      return ["POST", path, { key: scene.market.buyer.apiKey, body: { txHash: fundingHash } }];
    },
    "POST messages to a topic": () => {
      const body = { topic: "prices", contentType: "text/plain", body: "3" };
      return ["POST", "/api/v1/messages", { key: scene.market.buyer.apiKey, body }];
    },
    "POST memory/{key}/renew": async () => {
      const key = scene.market.buyer.apiKey;
      await api.request("POST", "/api/v1/memory", { key, body: { key: "plan", value: 1 } });
      return ["POST", "/api/v1/memory/plan/renew", { key, body: {} }];
    },
    "DELETE memory/{key}": async () => {
      const key = scene.market.buyer.apiKey;
      await api.request("POST", "/api/v1/memory", { key, body: { key: "gone", value: 1 } });
      return ["DELETE", "/api/v1/memory/gone", { key, body: {} }];
    },
    "DELETE messages/subscribe": async () => {
      const [key, body] = [scene.market.buyer.apiKey, { topic: "prices" }];
      await api.request("POST", "/api/v1/messages/subscribe", { key, body });
      return ["DELETE", "/api/v1/messages/subscribe", { key, body }];
    },
    "PATCH messages/{id}": async () => {
      const { buyer, seller } = scene.market;
      const body = { toAgentId: seller.agentId, contentType: "text/plain", body: "Read me" };
      const sent = await api.request("POST", "/api/v1/messages", { key: buyer.apiKey, body });
      return ["PATCH", `/api/v1/messages/${sent.body.data.id}`, { key: seller.apiKey, body: { read: true } }];
    },
    "POST internal/webhooks/chain": () => {
      const rawBody = "{}";
      const signature = signWebhook(SECRET, rawBody, Math.floor(Date.now() / 1_000));
      const headers = { "content-type": "application/json", "x-service-signature": signature };
      return ["POST", "/internal/webhooks/chain", { rawBody, headers }];
    },
    "POST admin/agents/{id}/kya": () => {
      const body = { level: 1, reason: "Checked by hand" };
      return ["POST", `/api/v1/admin/agents/${scene.stranger.agentId}/kya`, { ...AS_ADMIN, body }];
    },
    "POST admin/moderation": () => {
      const subject = { type: "agent", id: scene.stranger.agentId };
      const body = { subject, action: "suspend", reason: "spam", text: "Too many offers." };
      return ["POST", "/api/v1/admin/moderation", { ...AS_ADMIN, body }];
    },
    "POST reports": async () => {
      const { apiKey: key } = await api.registerAgent();
      return ["POST", "/api/v1/reports", { key, body: REPORT(scene.market.serviceId) }];
    },
    "POST admin/moderation/reports/{id}": async () => {
      const { apiKey: key } = await api.registerAgent();
      const filed = await api.request("POST", "/api/v1/reports", { key, body: REPORT(scene.market.serviceId) });
      const body = { outcome: "dismissed", note: "It isn't spam." };
      return ["POST", `/api/v1/admin/moderation/reports/${filed.body.data.id}`, { ...AS_ADMIN, body }];
    },
    "POST appeals": async () => {
      const { apiKey: key, decisionId } = await suspended();
      return ["POST", "/api/v1/appeals", { key, body: { decisionId, text: "It isn't so." } }];
    },
    "POST admin/moderation/appeals/{decisionId}": async () => {
      const { apiKey: key, decisionId } = await suspended();
      await api.request("POST", "/api/v1/appeals", { key, body: { decisionId, text: "It isn't so." } });
      const path = `/api/v1/admin/moderation/appeals/${decisionId}`;
      return ["POST", path, { ...AS_ADMIN, body: { text: "It is." } }];
    },
    "POST admin/quarantine/{id}": async () => {
      const { id } = await quarantinedEscrow(api);
      return ["POST", `/api/v1/admin/quarantine/${encodeURIComponent(id)}`, { ...AS_ADMIN, body: {} }];
    },
    "POST admin/disputes/{disputeId}/ruling": () => {
      const body = { outcome: "SellerPaid", rationale: "It was delivered" };
      return ["POST", `/api/v1/admin/disputes/dsp_${"0".repeat(32)}/ruling`, { ...AS_ADMIN, body }];
    },
  };
  const cases = bodyCases(() => scene);
  const writes: Write[] = [
    ...Object.entries(own).map(([name, prepare]) => ({ name, prepare })),
    ...cases
      .filter(({ name }) => own[name] === undefined)
      .map(({ name, method, path, key, body }): Write => ({
        name,
        prepare: async () => {
          const presented = key();
          const options = { body: await body(), ...(presented === undefined ? {} : { key: presented }) };
          return [method, path(), options];
        },
      })),
  ];

  it("are all here", () => {
    const named = new Set(writes.map(({ name }) => name.split(" ").slice(0, 2).join(" ")));
    const missing = routes
      // This service has no faucet (test/api/faucet).
      .filter(({ method, readsOnly, audience }) => method !== "GET" && !readsOnly && audience !== "localStack")
      .map(({ method, path }) => `${method} ${path.replace(/^\/(api\/)?(v1\/)?/, "")}`)
      .filter((name) => !named.has(name));
    assert.deepEqual(missing, []);
  });

  /** Another operation each time. */
  const keyed = ({ name, prepare }: Write): Write => ({
    name,
    async prepare() {
      const [method, path, options] = await prepare();
      return [method, path, { ...options, headers: { ...options.headers, "idempotency-key": randomUUID() } }];
    },
  });
  const shown = new Map<string, number>();
  const failEach = (write: Write, route: FaultyRoute, kinds: readonly FaultKind[]) =>
    failEachCall(keyed(write), { api: kinds === HANGING ? hurried : api, route, kinds, shown });

  for (const write of writes) {
    it(`to the database fails, is answered by 503 or better: ${write.name}`, async () => {
      await failEach(write, database, FAILING);
    });
    it(`to the database hangs, is answered within its limit: ${write.name}`, async () => {
      await failEach(write, database, HANGING);
    });
    it(`to the chain or the subgraph fails or hangs, is answered by 503 or better: ${write.name}`, async () => {
      const [method, path, options] = await write.prepare();
      failNone();
      await api.request(method, path, options);
      for (const route of [chain, subgraph].filter(({ calls }) => calls > 0)) {
        await failEach(write, route, FAILING);
        await failEach(write, route, HANGING);
      }
    });
  }
});
