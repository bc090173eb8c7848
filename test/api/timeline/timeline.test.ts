// The timeline of a deal (decision 47), compared with what the routes of its sources say.
import { assert } from "chai";

import { OUTBOX_DEFAULTS } from "../../../api/features/outbox/outbox.ts";
import { collect, Marketplace } from "../../../sdk/src/index.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { act, checkOut, deliverDeal, fundedDeal, openMarket, readTransaction } from "../../fixtures/deals.ts";
import type { Market } from "../../fixtures/deals.ts";
import { startReceiver } from "../../fixtures/receiver.ts";
import type { TestReceiver } from "../../fixtures/receiver.ts";
import { openChain } from "../../fixtures/stack.ts";
import type { TestChain } from "../../fixtures/stack.ts";
import { until } from "../../fixtures/until.ts";

const RETRY_MS = 50;

interface Entry {
  at: string;
  kind: string;
  title: string;
  proof: Record<string, unknown>;
}

describe("the timeline of a deal", () => {
  let api: TestApi;
  let chain: TestChain;
  let market: Market;
  let stranger: TestAgent;

  before(async () => {
    const outbox = { ...OUTBOX_DEFAULTS, retryDelayMs: RETRY_MS, backupDelayMs: RETRY_MS };
    api = await startTestApi({ runsLoops: true, timings: { outbox } });
    chain = await openChain("base-sepolia");
    market = await openMarket(api, chain);
    stranger = await api.registerAgent();
  });
  after(() => api.close());

  const get = (agent: TestAgent, path: string): Promise<Answer> => api.request("GET", path, { key: agent.apiKey });
  const timeline = (agent: TestAgent, transactionId: string, query = "") =>
    get(agent, `/api/v1/transactions/${transactionId}/timeline${query}`);
  async function all(agent: TestAgent, transactionId: string, query = "?limit=100"): Promise<Entry[]> {
    const { status, body, text } = await timeline(agent, transactionId, query);
    assert.strictEqual(status, 200, text);
    assert.isNull(body.nextCursor);
    return body.data as Entry[];
  }
  const dataOf = async (agent: TestAgent, path: string): Promise<any[]> => {
    const { status, body, text } = await get(agent, path);
    assert.strictEqual(status, 200, text);
    assert.isNull(body.nextCursor);
    return body.data as any[];
  };
  const auditPath = (transactionId: string) =>
    `/api/v1/memory?limit=100&namespace=audit&prefix=${encodeURIComponent(`escrow/${transactionId}/`)}`;

  /** Waits until both parties have all audit entries, and no dispatch waits for an attempt. */
  async function settled(transactionId: string, events: number): Promise<void> {
    const { dispatches } = api.container.features.outbox.models;
    for (const party of [market.buyer, market.seller]) {
      await until("the trail is complete", async () => {
        return (await dataOf(party, auditPath(transactionId))).length === events;
      });
    }
    await until("every dispatch has ended", async () => {
      return (await dispatches.countDocuments({ transactionId, status: "pending" })) === 0;
    });
  }

  /** The timeline that the other routes imply. */
  async function expected(agent: TestAgent, transactionId: string): Promise<Omit<Entry, "title">[]> {
    const { network, escrowId, timeline: moves } = await readTransaction(api, agent, transactionId);
    const audit = await dataOf(agent, auditPath(transactionId));
    const deliveries = await dataOf(agent, `/api/v1/webhooks/deliveries?limit=100&transactionId=${transactionId}`);
    const inbox = await dataOf(agent, "/api/v1/messages?limit=100");
    const sent = await dataOf(agent, "/api/v1/messages?limit=100&box=sent");
    const entries = [
      ...(moves as any[])
        .filter(({ txHash }) => txHash !== null)
        .map(({ event, at, txHash, blockNumber }) => ({
          at,
          kind: "move",
          proof: { network, escrowId, event, txHash, blockNumber },
        })),
      ...audit.map(({ namespace, key, createdAt }) => ({ at: createdAt, kind: "audit", proof: { namespace, key } })),
      ...deliveries
        .sort((one, other) => (one.deliveryId < other.deliveryId ? -1 : 1))
        .flatMap(({ deliveryId, eventId, attempts }) =>
          (attempts as any[]).map(({ startedAt, outcome, statusCode }, index) => ({
            at: startedAt,
            kind: "webhook",
            proof: { deliveryId, eventId, attempt: index + 1, outcome, statusCode },
          })),
        ),
      ...[...inbox, ...sent]
        .filter((message) => message.transactionId === transactionId)
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map(({ id, createdAt }) => ({ at: createdAt, kind: "message", proof: { messageId: id } })),
    ];
    return entries.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at));
  }

  const namesOf = (entries: Entry[], kind: string) => entries.filter((entry) => entry.kind === kind);
  const count = (entries: Entry[]) =>
    ["move", "audit", "webhook", "message"].map((kind) => namesOf(entries, kind).length);

  describe("that was released", () => {
    let transactionId: string;
    let receivers: TestReceiver[];

    before(async () => {
      // The buyer's receiver refuses the first attempt.
      const ofBuyer = await startReceiver((n) => (n === 1 ? 503 : 200));
      const ofSeller = await startReceiver();
      receivers = [ofBuyer, ofSeller];
      const webhook = { url: ofSeller.url, events: ["escrow.funded", "escrow.released"] };
      const registered = await api.request("POST", "/api/v1/webhooks", { key: market.seller.apiKey, body: webhook });
      assert.strictEqual(registered.status, 201, registered.text);
      ({ transactionId } = await fundedDeal(market, { callbackUrl: ofBuyer.url }));
      for (const [from, to, body] of [
        [market.buyer, market.seller, "the secret question"],
        [market.seller, market.buyer, "the secret answer"],
      ] as const) {
        const message = { toAgentId: to.agentId, body, transactionId };
        const sent = await api.request("POST", "/api/v1/messages", { key: from.apiKey, body: message });
        assert.strictEqual(sent.status, 201, sent.text);
      }
      await deliverDeal(market, transactionId);
      await act(api, chain, market.buyer, transactionId, "accept");
      await settled(transactionId, 3);
      // A second deal, which must not appear in the timeline of the first.
      const other = await fundedDeal(market, { callbackUrl: ofBuyer.url });
      await deliverDeal(market, other.transactionId);
      await settled(other.transactionId, 2);
      for (const party of [market.buyer, market.seller]) {
        const path = `/api/v1/webhooks/deliveries?limit=100&transactionId=${other.transactionId}`;
        assert.isNotEmpty(await dataOf(party, path), "each party has dispatches of both deals");
      }
    });
    after(() => Promise.all(receivers.map((receiver) => receiver.close())));

    for (const side of ["buyer", "seller"] as const) {
      it(`[D47] is for the ${side} exactly what the chain, its memory, its deliveries and its messages have, in order`, async () => {
        const entries = await all(market[side], transactionId);
        assert.deepEqual(
          entries.map(({ at, kind, proof }) => ({ at, kind, proof })),
          await expected(market[side], transactionId),
        );
        assert.deepEqual(
          namesOf(entries, "move").map(({ title }) => title),
          ["The buyer funded the escrow", "The seller submitted the delivery", "The funds were released to the seller"],
        );
        const [moves, audit, attempts, messages] = count(entries);
        assert.deepEqual([moves, audit, messages], [3, 3, 2]);
        assert.ok(attempts !== undefined && attempts >= 2, `${attempts} attempts`);
        assert.notInclude(JSON.stringify(entries), "secret", "no content of a message");
      });
    }

    it("[D41] [D47] says on every page at which block its moves were read", async () => {
      let cursor = "";
      do {
        const { body, text } = await timeline(market.buyer, transactionId, `?limit=2&kind=move${cursor}`);
        const latest = Math.max(...(body.data as Entry[]).map(({ proof }) => Number(proof["blockNumber"])));
        assert.isAtLeast(body.indexedBlock, latest, text);
        cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
      } while (cursor !== "");
    });

    it("[D47] has each attempt at a delivery with its outcome", async () => {
      const attempts = namesOf(await all(market.buyer, transactionId), "webhook");
      const [refused] = attempts.filter(({ proof }) => proof["outcome"] === "refused");
      assert.ok(refused !== undefined);
      assert.deepInclude(refused.proof, { attempt: 1, statusCode: 503 });
      const again = attempts.filter(({ proof }) => proof["deliveryId"] === refused.proof["deliveryId"]);
      assert.deepEqual(
        again.map(({ title }) => title),
        ["attempt 1: refused", "attempt 2: acknowledged"].map((end) => `Webhook service.delivered, ${end}`),
      );
    });

    it("[D47] [D23] comes in pages of any size, and of one kind where asked", async () => {
      const whole = await all(market.buyer, transactionId);
      for (const limit of [1, 3]) {
        const seen: Entry[] = [];
        let cursor = "";
        do {
          const { status, body, text } = await timeline(market.buyer, transactionId, `?limit=${limit}${cursor}`);
          assert.strictEqual(status, 200, text);
          assert.isAtMost(body.data.length, limit);
          seen.push(...body.data);
          cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`;
        } while (cursor !== "");
        assert.deepEqual(seen, whole);
      }
      for (const kind of ["move", "audit", "webhook", "message"]) {
        assert.deepEqual(await all(market.buyer, transactionId, `?limit=100&kind=${kind}`), namesOf(whole, kind));
      }
    });

    it("[D47] comes through the client, over all pages", async () => {
      const agent = new Marketplace({ url: api.url }).agent({ apiKey: market.seller.apiKey });
      const deal = await agent.deal(transactionId);
      const whole = await all(market.seller, transactionId);
      assert.deepEqual(await collect<unknown>(deal.timeline({ limit: 2 })), whole);
      assert.deepEqual(await collect<unknown>(deal.timeline({ kind: "move" })), namesOf(whole, "move"));
    });

    it("[D33] doesn't exist for a stranger", async () => {
      assertError(await timeline(stranger, transactionId), 404, "not_found");
    });
  });

  it("[D15] [D47] of an unfunded checkout is the buyer's alone, and empty", async () => {
    const { transactionId } = await checkOut(market);
    const { body, text } = await timeline(market.buyer, transactionId);
    assert.deepEqual([body.data, body.nextCursor], [[], null]);
    assert.isAbove(body.indexedBlock, 0, text);
    assertError(await timeline(market.seller, transactionId), 409, "transaction_not_funded");
  });

  it("[D47] of a disputed deal has the dispute", async () => {
    const { transactionId } = await fundedDeal(market);
    await deliverDeal(market, transactionId);
    await act(api, chain, market.buyer, transactionId, "openDispute");
    await settled(transactionId, 3);
    for (const party of [market.buyer, market.seller]) {
      const entries = await all(party, transactionId);
      const last = namesOf(entries, "move").at(-1);
      assert.deepEqual([last?.title, last?.proof["event"]], ["The buyer opened a dispute", "DisputeOpened"]);
      assert.strictEqual(namesOf(entries, "audit").at(-1)?.title, "Audit entry: dispute.created");
    }
  });
});
