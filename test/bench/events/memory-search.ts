import { MEMORY_BATCH_ENTRIES } from "../../../api/config/constants.ts";
import type { EntryRecord } from "../../../api/features/memory/model.ts";
import { toBytes } from "../../../api/search/embedding/vectors.ts";
import { startLoops } from "../../fixtures/loops.ts";
import { untilIndexed } from "../../fixtures/memory.ts";
import { RELEVANCE_CASES } from "../../fixtures/relevance.ts";
import { load } from "../api/load.ts";
import type { Call } from "../api/load.ts";
import { scaled, startService } from "./service.ts";
import type { BenchAgent, BenchService, EventsBench, PartResult } from "./service.ts";
import { delaysOf } from "./summary.ts";

const SIZES = [1_000, 10_000, 100_000] as const;
const SEARCHES = 300;
const RESULTS = 20;
const CPU_SECONDS = 3;
const PATH = "/api/v1/memory/search";
/** Texts that are embedded. Entries share their vectors, because embedding 10,000 texts takes minutes and changes no search. */
const EMBEDDED = 10 * RELEVANCE_CASES.length;
const WRITES_AT_ONCE = 1_000;
const INDEXED_WITHIN_MS = 600_000;
const MANY = "1000000";
/** The bench searches more often than the specification allows one agent. */
const RAISED = {
  RATE_LIMIT_MEMORY_SEARCH: MANY,
  RATE_LIMIT_MEMORY_WRITE: MANY,
  RATE_LIMIT_MEMORY_READ: MANY,
  BUDGET_SEARCH: MANY,
  BUDGET_API: MANY,
  MEMORY_MAX_ENTRIES: MANY,
  MEMORY_MAX_BYTES: String(2 ** 31),
};

const textOf = (entry: number): string =>
  `${RELEVANCE_CASES[entry % RELEVANCE_CASES.length]?.description ?? ""} Client ${entry} asked for it.`;
const KEY_PREFIX = "notes/";
const keyOf = (entry: number): string => KEY_PREFIX + String(entry);

/** Writes entries in batches, as an agent does. */
async function fill(service: BenchService, agent: BenchAgent, size: number): Promise<void> {
  for (let start = 0; start < size; start += MEMORY_BATCH_ENTRIES) {
    const entries = Array.from({ length: Math.min(MEMORY_BATCH_ENTRIES, size - start) }, (_, index) => ({
      key: keyOf(start + index),
      value: textOf(start + index),
      tags: [`client-${(start + index) % 50}`],
    }));
    await service.call(agent, "POST", "/api/v1/memory/batch", 200, { entries });
  }
}

/** Gives the entries vectors, as the worker's job does, and has the worker's loop write the index. */
async function index(service: BenchService, agents: readonly BenchAgent[]): Promise<void> {
  const { connection, features } = service.local.container;
  const { totals } = features.memory.models;
  const { current: encoder } = features.discovery.encoders;
  const vectors: Buffer[] = [];
  for (let text = 0; text < EMBEDDED; text += 1) vectors.push(toBytes((await encoder.encode(textOf(text))).vector));
  const entries = connection.collection<EntryRecord>("memory_entries");
  await totals.updateMany({}, { $inc: { changes: 1 } });
  const changes = new Map((await totals.find().lean()).map((record) => [record._id, record.changes]));
  const found = await entries.find({}, { projection: { key: 1, agentId: 1 } }).toArray();
  for (let start = 0; start < found.length; start += WRITES_AT_ONCE) {
    await entries.bulkWrite(
      found.slice(start, start + WRITES_AT_ONCE).map(({ _id, key, agentId }) => ({
        updateOne: {
          filter: { _id },
          update: {
            $set: {
              change: changes.get(agentId),
              embedding: { model: encoder.model, vector: vectors[Number(key.slice(KEY_PREFIX.length)) % EMBEDDED] },
            },
          },
        },
      })) as never,
    );
  }
  const writing = startLoops(service.local, "memory.write-index");
  for (const { agentId } of agents) await untilIndexed(service.local, agentId, INDEXED_WITHIN_MS);
  await writing.stop();
}

/** How long the searches of an agent take over HTTP, beside the encoder alone and a read of one entry. */
export async function measureMemorySearch(bench: EventsBench): Promise<PartResult> {
  const service = await startService(bench, { worker: false, variables: RAISED });
  try {
    const sizes = SIZES.map((size) => scaled(bench, size, RESULTS));
    const agents = await service.agents(sizes.length);
    const memories = agents.map((agent, index) => ({ agent, size: sizes[index] ?? 0, samples: [] as number[] }));
    for (const { agent, size } of memories) {
      bench.say(`memorySearch: writing ${size} entries`);
      await fill(service, agent, size);
    }
    bench.say("memorySearch: writing the index");
    await index(service, agents);
    const { current: encoder } = service.local.container.features.discovery.encoders;
    let found = 0;
    const timed = async (samples: number[], work: () => Promise<unknown>): Promise<void> => {
      const startedAt = performance.now();
      await work();
      samples.push(performance.now() - startedAt);
    };
    const search = async (agent: BenchAgent, query: string): Promise<void> => {
      const { data } = await service.call(agent, "POST", PATH, 200, { query, limit: RESULTS });
      found += (data as unknown[]).length;
    };
    const firstMs: number[] = [];
    for (const { agent } of memories) await timed(firstMs, () => search(agent, RELEVANCE_CASES[0]?.queries[0] ?? ""));

    const searches = scaled(bench, SEARCHES, 20);
    bench.say(`memorySearch: ${searches} searches of each`);
    const [encoding, reading]: number[][] = [[], []];
    const queries = RELEVANCE_CASES.flatMap((wanted) => wanted.queries);
    for (let turn = 0; turn < searches; turn += 1) {
      const query = queries[turn % queries.length] ?? "";
      for (const { agent, samples } of memories) {
        await timed(samples, () => search(agent, query));
        await timed(reading ?? [], () =>
          service.call(agent, "GET", `/api/v1/memory/${encodeURIComponent(keyOf(turn % RESULTS))}`, 200),
        );
      }
      await timed(encoding ?? [], () => encoder.encode(query));
    }
    /** Processor time of the API, encoder included; unlike the delays, other programs barely change it. */
    const cpuMsPerSearch: number[] = [];
    for (const { agent } of memories) {
      let turn = 0;
      const next = (): Call => ({
        method: "POST",
        path: PATH,
        status: 200,
        headers: { "x-api-key": agent.key, "content-type": "application/json" },
        body: JSON.stringify({ query: queries[turn++ % queries.length], limit: RESULTS }),
      });
      const { cpuMsPerCall } = await load(service.server, { seconds: CPU_SECONDS, connections: 1, next });
      cpuMsPerSearch.push(cpuMsPerCall);
    }
    const floor = { encoding: delaysOf(encoding ?? []), reading: delaysOf(reading ?? []) };
    return {
      resultsPerSearch: found / ((searches + 1) * memories.length),
      /** The encoder alone, and the read of one entry over HTTP, in turns with the searches. */
      floor,
      byEntries: Object.fromEntries(
        memories.map(({ size, samples }, index) => {
          const delays = delaysOf(samples);
          const perFloor = delays.p95Ms / (floor.encoding.p95Ms + floor.reading.p95Ms);
          return [size, { ...delays, firstMs: firstMs[index], perFloor, cpuMsPerSearch: cpuMsPerSearch[index] }];
        }),
      ),
      faults: [],
    };
  } finally {
    await service.stop();
  }
}
