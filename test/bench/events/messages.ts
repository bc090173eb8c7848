import { Pool } from "undici";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import { Callers } from "../api/callers.ts";
import { cpuMsOf } from "../api/load.ts";
import { BenchProcess, now } from "./bench-process.ts";
import { scaled, startService } from "./service.ts";
import type { BenchAgent, BenchService, EventsBench, PartResult } from "./service.ts";
import { arrivalDelays, faultsOf, hasArrived } from "./streams.ts";
import type { StreamReport, StreamsToOpen } from "./streams.ts";
import { delaysOf } from "./summary.ts";

const RECIPIENTS = 20;
const TOPICS = 8;
const SUBSCRIBERS_PER_TOPIC = 5;
const DIRECT = 3_000;
const PUBLISHED = 1_500;
/** Calls under way at once. */
const CONNECTIONS = 16;
/** Messages of a sender before the next one takes over: fewer than a minute allows (section 8.2). */
const CALLS_EACH = RATE_LIMITS.messageSend - 2;
const CONTENT = "The report is ready: three findings, none of them urgent. Shall I start with the second part?";

/** Messages to be sent. */
interface Batch {
  url: string;
  /** Messages with marks from `first` on. */
  first: number;
  count: number;
  keyOf: (connection: number) => string;
  /** What a message carries besides its mark: where it goes. */
  addressOf: (mark: number) => Record<string, string>;
}

/** Sends messages over a number of connections, and returns when each was sent. */
async function sendAll({ url, first, count, keyOf, addressOf }: Batch): Promise<Map<number, number>> {
  const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
  const sentAt = new Map<number, number>();
  let next = first;
  const send = async (connection: number): Promise<void> => {
    while (next < first + count) {
      const mark = next++;
      sentAt.set(mark, now());
      const answer = await pool.request({
        method: "POST",
        path: "/api/v1/messages",
        headers: { "content-type": "application/json", "x-api-key": keyOf(connection) },
        body: JSON.stringify({ ...addressOf(mark), body: { mark, text: CONTENT } }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 201) throw new Error(`a message was answered ${answer.statusCode} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, connection) => send(connection)));
  await pool.close();
  return sentAt;
}

/** Messages a second, from the first that was sent until the last of `count` arrivals. */
function rateOf(sentAt: ReadonlyMap<number, number>, lastAt: number, count: number): number {
  return (count / (lastAt - Math.min(...sentAt.values()))) * 1_000;
}

class Messages {
  readonly #service: BenchService;
  readonly #clients: BenchProcess;
  readonly #recipients: readonly BenchAgent[];
  readonly #senders: Callers;

  private constructor(
    service: BenchService,
    clients: BenchProcess,
    recipients: readonly BenchAgent[],
    senders: Callers,
  ) {
    this.#service = service;
    this.#clients = clients;
    this.#recipients = recipients;
    this.#senders = senders;
  }

  /** Registers recipients, subscribes them, and opens a stream for each. */
  static async open(service: BenchService, clients: BenchProcess, count: number): Promise<Messages> {
    const recipients: BenchAgent[] = [];
    for (let index = 0; index < RECIPIENTS; index += 1) {
      const { agentId, apiKey: key } = await service.local.registerAgent();
      recipients.push({ agentId, key });
    }
    const senders = await service.agents(Math.ceil(count / CALLS_EACH) + CONNECTIONS);
    const keys = recipients.map(({ key }) => key);
    await clients.ask("open", { url: service.server.url, keys, perKey: 1 } satisfies StreamsToOpen);
    const callers = new Callers(
      senders.map(({ key }) => key),
      CALLS_EACH,
    );
    const messages = new Messages(service, clients, recipients, callers);
    for (let topic = 0; topic < TOPICS; topic += 1) {
      for (const agent of messages.#subscribersOf(topic)) {
        await service.call(agent, "POST", "/api/v1/messages/subscribe", 200, { topic: `bench-${topic}` });
      }
    }
    return messages;
  }

  #subscribersOf(topic: number): BenchAgent[] {
    return Array.from({ length: SUBSCRIBERS_PER_TOPIC }, (_, index) => index + topic * SUBSCRIBERS_PER_TOPIC).flatMap(
      (index) => this.#recipients[index % RECIPIENTS] ?? [],
    );
  }

  async #measure(batch: Pick<Batch, "first" | "count" | "addressOf">, recipientsOf: (mark: number) => BenchAgent[]) {
    const wanted = new Map(this.#recipients.map(({ key }) => [key, new Set<number>()]));
    let copies = 0;
    for (let mark = batch.first; mark < batch.first + batch.count; mark += 1) {
      for (const { key } of recipientsOf(mark)) {
        wanted.get(key)?.add(mark);
        copies += 1;
      }
    }
    const stored = () => this.#service.local.container.connection.collection("message_entries").countDocuments();
    const storedBefore = await stored();
    const { url, pid } = this.#service.server;
    const cpuBefore = cpuMsOf(pid);
    const sentAt = await sendAll({ ...batch, url, keyOf: (connection) => this.#senders.of(connection) });
    const answeredAt = now();
    const isComplete = await hasArrived(this.#clients, copies);
    const cpuMsPerMessage = (cpuMsOf(pid) - cpuBefore) / batch.count;
    const reports = await this.#clients.ask<StreamReport[]>("take");
    const faults = faultsOf(reports, (key) => wanted.get(key) ?? new Set());
    if (!isComplete) faults.push("not every message has arrived");
    const inInboxes = (await stored()) - storedBefore;
    if (inInboxes !== copies) faults.push(`the inboxes have ${inInboxes} of ${copies} messages`);
    const lastAt = reports.reduce((latest, { times }) => Math.max(latest, times.at(-1) ?? 0), 0);
    return {
      messages: batch.count,
      /** Processor time of the API; unlike the rates, other programs barely change it. */
      cpuMsPerMessage,
      acceptedPerSecond: rateOf(sentAt, answeredAt, batch.count),
      /** Until the last one has arrived in the recipients' streams. */
      messagesPerSecond: rateOf(sentAt, lastAt, batch.count),
      arrivalsPerSecond: rateOf(sentAt, lastAt, copies),
      /** From the POST to the arrival in a recipient's stream. */
      delays: delaysOf(arrivalDelays(reports, sentAt)),
      faults,
    };
  }

  direct(count: number) {
    const recipientOf = (mark: number) => this.#recipients.slice(mark % RECIPIENTS, (mark % RECIPIENTS) + 1);
    return this.#measure(
      { first: 0, count, addressOf: (mark) => ({ toAgentId: recipientOf(mark)[0]?.agentId ?? "" }) },
      recipientOf,
    );
  }

  topic(first: number, count: number) {
    const topicOf = (mark: number) => mark % TOPICS;
    return this.#measure({ first, count, addressOf: (mark) => ({ topic: `bench-${topicOf(mark)}` }) }, (mark) =>
      this.#subscribersOf(topicOf(mark)),
    );
  }
}

/** Plain inserts of the same bodies by a bare Koa route, a second. */
async function measureFloor(service: BenchService, mongodbUri: string, count: number): Promise<number> {
  const floor = new BenchProcess("message-floor");
  const { name: databaseName } = service.local.container.connection;
  const url = await floor.ask<string>("listen", { uri: mongodbUri, databaseName });
  const sentAt = await sendAll({
    url,
    first: 0,
    count,
    keyOf: () => "none",
    addressOf: () => ({ toAgentId: "nobody" }),
  });
  const rate = rateOf(sentAt, now(), count);
  await floor.stop();
  return rate;
}

/** Messages a second, sent by POST until they have arrived: to agents, and to the subscribers of topics. */
export async function measureMessages(bench: EventsBench): Promise<PartResult> {
  const [directCount, publishedCount] = [scaled(bench, DIRECT, 100), scaled(bench, PUBLISHED, 100)];
  const service = await startService(bench, { worker: true });
  const clients = new BenchProcess("stream-clients");
  try {
    const messages = await Messages.open(service, clients, directCount + publishedCount);
    const floorBefore = await measureFloor(service, bench.mongodbUri, directCount);
    bench.say(`messages: ${directCount} to agents`);
    const { faults: directFaults, ...direct } = await messages.direct(directCount);
    bench.say(`messages: ${publishedCount} to topics`);
    const { faults: topicFaults, ...topic } = await messages.topic(directCount, publishedCount);
    const floorAfter = await measureFloor(service, bench.mongodbUri, directCount);
    const floorPerSecond = (floorBefore + floorAfter) / 2;
    return {
      connections: CONNECTIONS,
      recipients: RECIPIENTS,
      topics: TOPICS,
      subscribersPerTopic: SUBSCRIBERS_PER_TOPIC,
      floorPerSecond,
      direct: { ...direct, perFloor: direct.messagesPerSecond / floorPerSecond },
      topic: { ...topic, perFloor: topic.arrivalsPerSecond / floorPerSecond },
      faults: [...directFaults, ...topicFaults],
    };
  } finally {
    await clients.stop();
    await service.stop();
  }
}
