// API processes and workers that are killed at random while agents trade and write.
import { assert } from "chai";
import type { Connection } from "mongoose";

import { readDeployment } from "../../../api/chain/deployment.ts";
import { connectDatabase } from "../../../api/db/connection.ts";
import { recordEventId } from "../../../api/features/events/event-id.ts";
import { outboxModels } from "../../../api/features/outbox/model.ts";
import type { DispatchModel } from "../../../api/features/outbox/model.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { AgentsUnderLoad } from "../../fixtures/agents-under-load.ts";
import type { LoadedAgent, WebhookName } from "../../fixtures/agents-under-load.ts";
import { readStack } from "../../fixtures/api.ts";
import { FakeIndexer } from "../../fixtures/fake-indexer.ts";
import { START } from "../../fixtures/follower.ts";
import { serveIndexer } from "../../fixtures/indexer-server.ts";
import type { IndexerServer } from "../../fixtures/indexer-server.ts";
import { KilledProcesses } from "../../fixtures/killed-processes.ts";
import { campaignSize } from "../../fixtures/nightly.ts";
import { seededRandom } from "../../fixtures/random.ts";
import { until } from "../../fixtures/until.ts";

/** How long the load runs. */
const SECONDS = campaignSize({
  unit: "seconds of load while API processes and workers are killed",
  nightly: 600,
  eachPush: 20,
  variable: "EVENT_KILL_SECONDS",
});
/** In a short run, the leases of killed processes end with them, or little would be left of it. */
const IS_SHORT = SECONDS < 60;
const AGENTS = 5;
const MOST = "1000000";
/** The load goes on until so many kills of each kind have hit a process at work. */
const FEWEST_AT_WORK = 2;
const MOST_ATTEMPTS = 5;
const PATIENCE_MS = 240_000;
const HOUR_MS = 3_600_000;

/** The record whose events come in order to a durable webhook: its transaction or topic. */
function orderOf(payload: Record<string, unknown>): string | undefined {
  const { transactionId, topic } = payload as { transactionId?: string; topic?: string };
  return topic ?? transactionId;
}

describe("agents whose API processes and workers are killed", () => {
  const databaseName = `test_event_kill_${process.pid}`;
  const random = seededRandom();
  const servers: IndexerServer[] = [];
  let connection: Connection;
  let dispatches: DispatchModel;
  let processes: KilledProcesses;
  let load: AgentsUnderLoad;

  before(async () => {
    const stack = await readStack();
    const log = createLogger({ level: "silent", name: "test" });
    const mongodbUri = new URL(stack.mongodbUri);
    mongodbUri.pathname = databaseName;
    connection = await connectDatabase(mongodbUri.href, log, databaseName);
    ({ dispatches } = outboxModels(connection));
    const { escrow: escrowContract } = await readDeployment(stack.deployments["base-sepolia"], "base-sepolia");
    load = await AgentsUnderLoad.open({
      escrowContract,
      random,
      seconds: SECONDS,
      fetch: (input, init) => processes.fetch(input, init),
    });
    servers.push(await serveIndexer(load.indexer), await serveIndexer(new FakeIndexer(START)));
    const [testnet, mainnet] = servers.map(({ url }) => url);
    processes = new KilledProcesses({
      mongodbUri,
      connection,
      random,
      endsLeases: IS_SHORT,
      progress: () => load.progress,
      variables: {
        SUBGRAPH_URL_BASE_SEPOLIA: testnet ?? "",
        SUBGRAPH_URL_BASE: mainnet ?? "",
        BUDGET_API: MOST,
        BUDGET_MESSAGE: MOST,
      },
    });
  });
  after(async () => {
    await processes.close();
    await load.close();
    await Promise.all(servers.map((server) => server.close()));
    await connection.dropDatabase();
    await connection.close();
  });

  /** What was sent to one of an agent's webhooks, as its delivery log has it. */
  async function sentTo({ agentId, name }: LoadedAgent, webhook: WebhookName) {
    const url = new RegExp(`/${name}/${webhook}$`);
    return dispatches.find({ agentId, url }).lean();
  }

  async function assertWebhooks(agent: LoadedAgent, positions: ReadonlyMap<string, number>): Promise<void> {
    const { name, expected, arrived } = agent;
    for (const webhook of ["durable", "ordinary"] as const) {
      assert.deepEqual(new Set(arrived[webhook].keys()), expected, `${name} ${webhook}`);
    }
    for (const [webhook, events] of Object.entries(arrived) as [WebhookName, LoadedAgent["arrived"]["durable"]][]) {
      assert.isTrue(
        [...events.values()].every(({ isSame }) => isSame),
        `${name} ${webhook}: another body`,
      );
      const times = new Map([...events].map(([id, arrival]) => [id, arrival.times]));
      const attempts = new Map<string, number>();
      for (const dispatch of await sentTo(agent, webhook)) {
        const before = attempts.get(dispatch.eventId) ?? 0;
        attempts.set(dispatch.eventId, before + dispatch.attempts.length);
        if (dispatch.kind !== "immediate") continue;
        const outcomes = dispatch.attempts.map(({ outcome }) => outcome);
        const what = `${name} ${webhook} ${dispatch.eventId}: ${outcomes.join(", ")}`;
        assert.strictEqual(dispatch.status, webhook === "refusing" ? "failed" : "acknowledged", what);
        assert.notInclude(outcomes.slice(0, -1), "acknowledged", what);
        if (webhook !== "refusing") continue;
        const refused = outcomes.filter((outcome) => outcome === "refused").length;
        assert.ok(refused === 2 || (refused < 2 && outcomes.length === MOST_ATTEMPTS), what);
      }
      for (const [id, count] of times) {
        assert.isAtMost(count, attempts.get(id) ?? 0, `${name} ${webhook} ${id}: an attempt without a record`);
      }
    }
    const inOrder = Map.groupBy(
      [...arrived.durable].map(([id, { body }]) => ({ id, payload: JSON.parse(body) as Record<string, unknown> })),
      ({ payload }) => orderOf(payload),
    );
    for (const [order, events] of inOrder) {
      if (order === undefined) continue;
      const places = events.map(({ id }) => positions.get(id) ?? 0);
      assert.deepEqual(
        places,
        places.toSorted((one, other) => one - other),
        `${name} ${order}`,
      );
    }
  }

  async function assertInbox(agent: LoadedAgent): Promise<number> {
    const inbox = (await Array.fromAsync(agent.client.messages.inbox({ limit: 100 }))).reverse();
    const ids = inbox.map(({ id }) => id);
    assert.strictEqual(new Set(ids).size, ids.length);
    const sent = load.agents.filter((other) => other !== agent).flatMap((other) => other.sent);
    const own = sent.filter(({ toAgentId, topic }) => topic !== undefined || toAgentId === agent.agentId);
    assert.deepEqual(new Set(ids), new Set(own.map(({ id }) => id)), agent.name);
    assert.isTrue(ids.every((id) => agent.expected.has(recordEventId(id, "message.received"))));
    for (const [topic, messages] of Map.groupBy(inbox, (message) => message.topic)) {
      if (topic === undefined) continue;
      const seqs = messages.map(({ topicSeq }) => topicSeq ?? 0);
      assert.deepEqual(
        seqs,
        seqs.toSorted((one, other) => one - other),
        `${agent.name} ${topic}`,
      );
    }
    return ids.length;
  }

  it("[S6.45] [S6.46] [D25] [D37] get every event and message, and repeat none that must not be", async () => {
    await processes.start({ apis: 2, workers: 2 });
    for (let n = 0; n < AGENTS; n += 1) {
      await load.add(n === 0 ? ["durable", "ordinary", "refusing"] : ["durable", "ordinary"]);
    }
    processes.kill();
    const { apiKills, workerKills } = processes;
    await load.run(() => Math.min(apiKills.atWork, workerKills.atWork) >= FEWEST_AT_WORK);
    await processes.spareTheRest();
    await load.drain();
    await until(
      "no webhook waits",
      async () => (await dispatches.findOne({ status: "pending", kind: "immediate" })) === null,
      PATIENCE_MS,
    );

    let events = 0;
    let received = 0;
    for (const agent of load.agents) {
      const { client, expected, audited, streamed, listed } = agent;
      const log = await Array.fromAsync(client.events.list({ limit: 100 }));
      const ids = log.map(({ id }) => id);
      assert.strictEqual(new Set(ids).size, ids.length, `${agent.name}: an event twice`);
      assert.deepEqual(new Set(ids), expected, agent.name);
      assert.deepEqual(
        streamed.map(({ id }) => id),
        ids,
        `${agent.name}: stream`,
      );
      assert.deepEqual(
        listed.map(({ id }) => id),
        ids,
        `${agent.name}: list`,
      );
      await assertWebhooks(agent, new Map(ids.map((id, position) => [id, position])));
      events += ids.length;
      received += await assertInbox(agent);

      const audit = await Array.fromAsync(client.memory.list({ namespace: "audit", limit: 100 }));
      const entries = audit.map(({ value }) => (value as { eventId: string }).eventId);
      assert.strictEqual(new Set(entries).size, entries.length, `${agent.name}: audited twice`);
      assert.deepEqual(new Set(entries), audited, `${agent.name}: audit`);
    }
    const sent = load.agents.flatMap((agent) => agent.sent);
    assert.strictEqual(await connection.collection("messages").countDocuments(), sent.length, "a message twice");
    console.log(
      `${events} events, ${sent.length} messages sent, ${received} received; kills (at work): ` +
        `API ${apiKills.all} (${apiKills.atWork}), worker ${workerKills.all} (${workerKills.atWork})`,
    );
  }).timeout(HOUR_MS);
});
