// What each route answers while the database is unavailable, compared with openapi.json.
import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";

import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { signWebhook } from "../../../api/features/webhooks/secrets/signature.ts";
import { errorCodesOf } from "../../../api/http/route-errors.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { listingBody, readStack, startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { keyRequestBody, registrationBody } from "../../fixtures/sign-in.ts";

/** The stack's database behind a proxy that can be closed. */
async function doorToDatabase(mongodbUri: string) {
  const { hostname, port } = new URL(mongodbUri);
  const sockets = new Set<Socket>();
  let isOpen = true;
  const server = createServer((incoming) => {
    if (!isOpen) {
      incoming.destroy();
      return;
    }
    const outgoing = connect(Number(port), hostname);
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      socket.on("error", () => socket.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    // The addresses that the replica set reports don't go through the proxy.
    url: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/?directConnection=true`,
    shut() {
      isOpen = false;
      cut();
    },
    open() {
      isOpen = true;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const SECRET = "a-secret-that-only-the-rpc-provider-knows";
const pushSignature = () => signWebhook(SECRET, "{}", Math.floor(Date.now() / 1_000));

/** Statuses of the routes that need no database, unless they are 200. No web page is built here. */
const WITHOUT: Readonly<Record<string, number>> = {
  "GET /ready": 503,
  "GET /": 503,
  "GET /me": 503,
  "GET /me/deals": 503,
  "GET /me/deals/{transactionId}": 503,
  "GET /me/hire": 503,
  "GET /me/keys": 503,
  "GET /me/webhooks": 503,
  "GET /me/listings": 503,
  "GET /me/listings/{serviceId}": 503,
  "GET /operator": 503,
  "GET /search": 503,
  "GET /status": 503,
  "GET /listings/{serviceId}": 503,
  "GET /agents/{wallet}": 503,
  "GET /deals/{escrowId}": 503,
  "GET /disputes": 503,
  "GET /assets/{file}": 404,
};

describe("while the database is unavailable", () => {
  let api: TestApi;
  let door: Awaited<ReturnType<typeof doorToDatabase>>;
  let agent: TestAgent;
  let keyless: Record<string, [path: string, options: RequestOptions]>;

  before(async () => {
    door = await doorToDatabase((await readStack()).mongodbUri);
    const secrets = { internalWebhookSecret: SECRET, adminApiKey: ADMIN_KEY };
    api = await startTestApi({ search: true, env: { mongodbUri: door.url, webDir: "none", ...secrets } });
    agent = await api.registerAgent();
    const listed = await api.request("POST", "/api/v1/services", { key: agent.apiKey, body: listingBody() });
    assert.strictEqual(listed.status, 201, listed.text);
    const newKey = await keyRequestBody(agent.account);
    keyless = {
      "POST /api/v1/auth/register": ["/api/v1/auth/register", { body: (await registrationBody()).body }],
      "POST /api/developer/access": ["/api/developer/access", { body: { email: "dev@example.test" } }],
      "POST /api/v1/auth/keys": ["/api/v1/auth/keys", { body: newKey }],
      "GET /api/v1/agents/{id}/public-key": [`/api/v1/agents/${agent.agentId}/public-key`, {}],
      "POST /api/v1/discover": ["/api/v1/discover", { body: { query: "invoice reconciliation" } }],
      "GET /api/v1/agents/score": [`/api/v1/agents/score?address=${agent.walletAddress}`, {}],
      "GET /api/v1/market/agents/{wallet}": [`/api/v1/market/agents/${agent.walletAddress}`, {}],
      "GET /docs/{file}": ["/docs/start.js", {}],
      "GET /guides/{page}": ["/guides/webhooks", {}],
      "GET /guides/{page}.md": ["/guides/webhooks.md", {}],
      "POST /internal/webhooks/chain": [
        "/internal/webhooks/chain",
        { rawBody: "{}", headers: { "content-type": "application/json", "x-service-signature": pushSignature() } },
      ],
    };
    door.shut();
  });
  after(async () => {
    door.open();
    await api.close();
    await door.close();
  });

  it("each route that needs it answers its declared 503 service_unavailable, and every other route works", async () => {
    await Promise.all(
      routes.map(async (route) => {
        const { method, path, auth } = route;
        const name = `${method} ${path}`;
        const [target, options] = keyless[name] ?? [path.replaceAll(/\{\w+\}/g, "unknown"), {}];
        const keys = {
          none: options,
          apiKey: { key: agent.apiKey },
          bearerKey: { key: agent.apiKey },
          optionalApiKey: { key: agent.apiKey },
          admin: AS_ADMIN,
        };
        const answer = await api.request(method, target, keys[auth]);
        assert.match(answer.headers.get("x-ratelimit-limit") ?? "", /^\d+$/, name);
        if (errorCodesOf(route).has("service_unavailable")) {
          assert.deepEqual([answer.status, answer.body?.code], [503, "service_unavailable"], `${name}: ${answer.text}`);
          assert.match(answer.headers.get("retry-after") ?? "", /^\d+$/, name);
        } else {
          assert.strictEqual(answer.status, WITHOUT[name] ?? 200, `${name}: ${answer.text.slice(0, 200)}`);
        }
      }),
    );
  });

  it("nothing has changed, and the same requests succeed once it is back", async () => {
    door.open();
    const [path, options] = keyless["POST /api/v1/auth/keys"] ?? ["", {}];
    const issued = await api.request("POST", path, options);
    assert.strictEqual(issued.status, 201, issued.text);
    // The new key has ended the other one.
    const access = await api.container.features.limits.models.access.findById(agent.agentId).lean();
    assert.strictEqual(access?.keys.length, 1);
  });
});
