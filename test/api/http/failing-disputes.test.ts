// Writes about a real dispute, a real delivery of a webhook and a real token, while one of their calls fails or hangs.
import { randomUUID } from "node:crypto";

import { assert } from "chai";
import type { Document } from "mongodb";

import { AGREEMENT_TYPES, agreementDomain } from "../../../api/chain/agreement.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { readStack, startTestApi } from "../../fixtures/api.ts";
import type { RequestOptions, TestApi } from "../../fixtures/api.ts";
import { Court, settingsWithKey } from "../../fixtures/disputes.ts";
import type { Disputed } from "../../fixtures/disputes.ts";
import { failEachCall, FAILING, HANGING } from "../../fixtures/each-call.ts";
import type { PreparedRequest } from "../../fixtures/each-call.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { faultyDatabase, faultyServer } from "../../fixtures/faults.ts";
import type { FaultyRoute } from "../../fixtures/faults.ts";
import { storeMailToken } from "../../fixtures/mail-tokens.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { until } from "../../fixtures/until.ts";

const ANSWER_LIMIT_MS = 300;
const HOUR_MS = 3_600_000;

/** What a request finds when it comes, and the request. */
interface RealWrite {
  /** Puts back what an earlier request has changed. */
  reset: () => Promise<unknown>;
  request: () => PreparedRequest | Promise<PreparedRequest>;
  asksSubgraph: boolean;
}

describe("a write about something real while one of the calls that it waits for", () => {
  let routes: { database: FaultyRoute; subgraph: FaultyRoute };
  let court: Court;
  let receiver: TestReceiver;
  /** Takes its time. */
  let api: TestApi;
  /** The same service with a short limit, so that many calls can hang. */
  let hurried: TestApi;
  let open: Disputed;
  /** Ruled by the system, whose key this service doesn't have. */
  let ruled: Disputed;
  let webhookId: string;
  let deliveryId: string;
  /** Documents as they are before a write. */
  const stored = new Map<string, Document>();

  const collection = (name: string) => court.api.container.connection.collection(name);
  const remember = async (name: string, _id: string) => {
    const found: Document | null = await collection(name).findOne({ _id: _id as never });
    if (found === null) throw new Error(`${name} has no ${_id}`);
    stored.set(`${name} ${_id}`, found);
  };
  const putBack = (name: string, _id: string) =>
    collection(name).replaceOne({ _id: _id as never }, stored.get(`${name} ${_id}`) ?? {});

  before(async () => {
    const env = { adminApiKey: ADMIN_KEY, disputes: settingsWithKey("admin") };
    court = await Court.open({ env, oneProcess: "the faults are between one process and its servers" });
    receiver = await startReceiver();
    const hook = { url: receiver.url, events: ["dispute.created"] };
    const registered = await court.api.request("POST", "/api/v1/webhooks", { key: court.seller.apiKey, body: hook });
    ({ webhookId } = registered.body.data);
    ruled = await court.disputed();
    open = await court.disputed();
    await court.complete(ruled);
    await until("the system has ruled", async () => (await court.read(ruled.disputeId)).body.data.status === "ruled");
    deliveryId = await until("the webhook is acknowledged", async () => {
      const found = await collection("outbox_dispatches").findOne({ webhookId, status: "acknowledged" });
      return found !== null && String(found._id);
    });
    await court.api.endLoops();
    await remember("disputes", open.disputeId);
    await remember("disputes", ruled.disputeId);
    await remember("ruling_transactions", ruled.disputeId);
    await remember("transactions", open.transactionId);
    await remember("outbox_dispatches", deliveryId);

    const { mongodbUri, networks } = await readStack();
    routes = {
      database: await faultyDatabase(mongodbUri),
      subgraph: await faultyServer(networks["base-sepolia"].subgraphUrl),
    };
    const options = {
      oneProcess: "the faults are between this process and its servers",
      databaseName: court.api.container.connection.name,
      env: {
        ...env,
        mongodbUri: routes.database.url,
        subgraphUrls: { "base-sepolia": routes.subgraph.url, base: networks.base.subgraphUrl },
      },
    };
    api = await startTestApi(options);
    hurried = await startTestApi({ ...options, timings: { answerLimitMs: ANSWER_LIMIT_MS } });
  });
  after(async () => {
    await hurried.stop();
    await api.stop();
    await court.close();
    await Promise.all([receiver.close(), ...Object.values(routes).map((route) => route.close())]);
  });

  const post = (path: string, key: string, body: object): PreparedRequest => ["POST", path, { key, body }];
  const item = { type: "other", description: "So it was", attachments: ["https://files.example/a"] };
  const reopened = () => putBack("disputes", open.disputeId);
  const unsent = () => collection("outbox_dispatches").deleteMany({ kind: { $in: ["redelivery", "ping"] } });

  const writes: Record<string, RealWrite> = {
    "POST disputes": {
      reset: () => reopened(),
      request: () =>
        post("/api/v1/disputes", court.buyer.apiKey, {
          transactionId: open.transactionId,
          reason: "The summary is missing",
          evidence: [item],
        }),
      asksSubgraph: true,
    },
    "POST disputes/{disputeId}/evidence": {
      reset: () => reopened(),
      request: () => post(`/api/v1/disputes/${open.disputeId}/evidence`, court.buyer.apiKey, item),
      asksSubgraph: true,
    },
    "POST transactions/{id}/dispute/evidence": {
      reset: () => reopened(),
      request: () =>
        post(`/api/v1/transactions/${open.transactionId}/dispute/evidence`, court.seller.apiKey, {
          ...item,
          complete: true,
        }),
      asksSubgraph: true,
    },
    "POST disputes/{disputeId}/settlement": {
      reset: () => reopened(),
      request: async () => {
        const { chainId, escrowId } = open.paymentInstructions;
        const terms = { buyerPercent: 30, deadline: Math.floor(Date.now() / 1_000) + 3_600 };
        const signature = await court.seller.account.signTypedData({
          domain: agreementDomain({ chainId, resolverContract: court.chain.deployment.resolver }),
          types: AGREEMENT_TYPES,
          primaryType: "ResolutionAgreement",
          message: { escrowId, buyerPercent: BigInt(terms.buyerPercent), deadline: BigInt(terms.deadline) },
        });
        return post(`/api/v1/disputes/${open.disputeId}/settlement`, court.seller.apiKey, { ...terms, signature });
      },
      asksSubgraph: true,
    },
    "POST transactions/{id}/deliver": {
      reset: () =>
        collection("transactions").updateOne(
          { _id: open.transactionId as never },
          { $set: { responsePayloadJson: null, deliveryProof: null, payloadReceivedAt: null } },
        ),
      request: () => {
        const responsePayload = JSON.parse(stored.get(`transactions ${open.transactionId}`)?.["responsePayloadJson"]);
        return post(`/api/v1/transactions/${open.transactionId}/deliver`, court.seller.apiKey, { responsePayload });
      },
      asksSubgraph: true,
    },
    "POST transactions/{id}/confirm": {
      reset: () => putBack("transactions", open.transactionId),
      request: () => post(`/api/v1/transactions/${open.transactionId}/confirm`, court.buyer.apiKey, {}),
      asksSubgraph: true,
    },
    "POST admin/disputes/{disputeId}/ruling": {
      async reset() {
        await reopened();
        await collection("ruling_transactions").deleteOne({ _id: open.disputeId as never });
      },
      request: () => ruling(open),
      asksSubgraph: false,
    },
    "POST admin/disputes/{disputeId}/ruling of a held one": {
      async reset() {
        await putBack("disputes", ruled.disputeId);
        await putBack("ruling_transactions", ruled.disputeId);
      },
      request: () => ruling(ruled),
      asksSubgraph: false,
    },
    "POST webhooks/deliveries/{deliveryId}/redeliver": {
      reset: unsent,
      request: () => post(`/api/v1/webhooks/deliveries/${deliveryId}/redeliver`, court.seller.apiKey, {}),
      asksSubgraph: false,
    },
    "POST webhooks/{webhookId}/ping": {
      reset: unsent,
      request: () => post(`/api/v1/webhooks/${webhookId}/ping`, court.seller.apiKey, {}),
      asksSubgraph: false,
    },
    "POST webhooks/{webhookId}/redeliver-missed": {
      async reset() {
        await unsent();
        await collection("outbox_dispatches").updateOne({ _id: deliveryId as never }, { $set: { status: "failed" } });
      },
      request: () => {
        const since = new Date(Date.now() - HOUR_MS).toISOString();
        return post(`/api/v1/webhooks/${webhookId}/redeliver-missed`, court.seller.apiKey, { since });
      },
      asksSubgraph: false,
    },
    "POST developer/verify": {
      reset: () => Promise.resolve(),
      request: async () => {
        const token = await storeMailToken(court.api);
        return post("/api/developer/verify", court.buyer.apiKey, { token });
      },
      asksSubgraph: false,
    },
  };
  const shown = new Map<string, number>();
  function ruling({ disputeId }: Disputed): PreparedRequest {
    const body = { outcome: "SellerPaid", rationale: "It was delivered" };
    return ["POST", `/api/v1/admin/disputes/${disputeId}/ruling`, { ...AS_ADMIN, body }];
  }

  for (const [name, { reset, request, asksSubgraph }] of Object.entries(writes)) {
    const prepare = async (): Promise<PreparedRequest> => {
      await reset();
      const [method, path, options] = await request();
      const headers: RequestOptions["headers"] = { ...options.headers, "idempotency-key": randomUUID() };
      return [method, path, { ...options, headers }];
    };
    /** Once nothing fails, the same request ends as it would have. */
    const afterwards = async ([method, path, options]: PreparedRequest, _answer: unknown, what: string) => {
      await collection("idempotency_keys").updateMany({}, { $set: { leaseEndsAt: new Date(0) } });
      const again = await api.request(method, path, options);
      const expected = name.endsWith("/confirm") ? 4 : 2;
      assert.strictEqual(Math.floor(again.status / 100), expected, `${what}, again: ${again.text}`);
    };
    for (const target of asksSubgraph ? (["database", "subgraph"] as const) : (["database"] as const)) {
      it(`to the ${target} fails or hangs, is answered, and can be repeated: ${name}`, async () => {
        const route = routes[target];
        const calls = await failEachCall({ name, prepare }, { api, route, kinds: FAILING, shown, afterwards });
        // What hangs may still have its effect after the next request has begun, so a repeat may find another one's.
        await failEachCall({ name, prepare }, { api: hurried, route, kinds: HANGING, shown });
        assert.isAbove(calls, 0);
      });
    }
  }
});
