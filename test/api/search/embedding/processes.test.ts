// What several processes share: vectors and the day's tokens.
import { assert } from "chai";

import { NoVectorError } from "../../../../api/search/embedding/encoder.ts";
import type { EncodeOptions, Encoding, SentenceEncoder } from "../../../../api/search/embedding/encoder.ts";
import { EMBEDDING_KEY, openEncoderBench, PACES, providerAt } from "../../../fixtures/embedding-encoders.ts";
import type { EncoderBench } from "../../../fixtures/embedding-encoders.ts";
import {
  expensive,
  failing,
  hanging,
  mostTokensOf,
  startEmbeddingServer,
  tokensOf,
} from "../../../fixtures/embedding-server.ts";
import type { EmbeddingServerFixture } from "../../../fixtures/embedding-server.ts";
import { movedClock } from "../../../fixtures/limits.ts";
import { rejectionOf } from "../../../fixtures/rejection.ts";
import { until } from "../../../fixtures/until.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Waits as long as a loaded machine needs. */
const PATIENT_QUERY = { as: "query", patienceMs: 60_000 } as const;

describe("processes that share an embedding server", () => {
  let bench: EncoderBench;
  let server: EmbeddingServerFixture;

  beforeEach(async () => {
    bench = await openEncoderBench();
    server = await startEmbeddingServer();
  });
  afterEach(async () => {
    await bench.close();
    await server.close();
  });

  const spent = async () => {
    const days = await bench.connection.collection("embedding_spending").find().toArray();
    return days.reduce((sum, { tokens }) => sum + Number(tokens), 0);
  };
  const cached = () => bench.connection.collection("embeddings").find().toArray();

  describe("the cache", () => {
    const texts = Array.from({ length: 40 }, (_, number) => `listing ${number}`);
    const encodeTexts = (current: SentenceEncoder) => Promise.all(texts.map((text) => current.encode(text)));

    it("embeds each text once, no matter which process asks later", async () => {
      const processes = await Promise.all(Array.from({ length: 3 }, () => bench.process(providerAt(server.baseUrl))));
      const all: Encoding[][] = [];
      for (const { current } of processes) all.push(await encodeTexts(current));
      const [first] = all;
      for (const vectors of all) assert.deepEqual(vectors, first);
      assert.deepEqual(server.texts().sort(), [...texts].sort());
    });

    it("has the same vectors for processes that embed the same texts at the same time", async () => {
      const processes = await Promise.all(Array.from({ length: 3 }, () => bench.process(providerAt(server.baseUrl))));
      const [first, ...others] = await Promise.all(processes.map(({ current }) => encodeTexts(current)));
      for (const vectors of others) assert.deepEqual(vectors, first);
      assert.strictEqual(await bench.connection.collection("embeddings").countDocuments(), texts.length);
    });

    it("has nothing of a failed request, so that another process can go on at once", async () => {
      const [one, other] = [
        await bench.process(providerAt(server.baseUrl)),
        await bench.process(providerAt(server.baseUrl)),
      ];
      server.always = failing(401);
      await rejectionOf(one.current.encode("airships"), NoVectorError);
      assert.isEmpty(await cached());
      server.always = undefined;
      assert.strictEqual((await other.current.encode("airships")).vector.length, 64);
    });

    it("keeps hashes and vectors only, and each until its end: a query's for an hour, a private text's for a day", async () => {
      const clock = movedClock(new Date(Date.now() + DAY));
      const { current } = await bench.process(providerAt(server.baseUrl), { now: clock.now });
      const kept = async (text: string, options: Parameters<typeof current.encode>[1]) => {
        const before = new Set((await cached()).map(({ _id }) => String(_id)));
        await current.encode(text, options);
        const [added] = (await cached()).filter(({ _id }) => !before.has(String(_id)));
        assert.deepEqual(Object.keys(added ?? {}).sort(), ["_id", "expiresAt", "vector"]);
        assert.match(String(added?._id), /^[0-9a-f]{64}$/);
        return (added?.["expiresAt"] as Date).getTime() - clock.now().getTime();
      };
      assert.strictEqual(await kept("a query about airships", PATIENT_QUERY), HOUR);
      assert.strictEqual(await kept("a diary about airships", { owner: "agt_1" }), DAY);
      assert.strictEqual(await kept("a listing about airships", {}), 30 * DAY);
      const indexes = await bench.connection.collection("embeddings").indexes();
      const ttl = indexes.find(({ key }) => JSON.stringify(key) === '{"expiresAt":1}');
      assert.strictEqual(ttl?.expireAfterSeconds, 0);
    });

    it("doesn't tell an agent whether another has stored the same private text", async () => {
      const { current } = await bench.process(providerAt(server.baseUrl));
      for (const owner of ["agt_1", "agt_2", "agt_1", undefined]) await current.encode("my password is", { owner });
      assert.strictEqual(server.texts().length, 3);
      for (const owner of ["agt_1", "agt_2", "agt_2"]) await current.encode("my password", { ...PATIENT_QUERY, owner });
      assert.strictEqual(server.texts().length, 5);
    });
  });

  describe("the day's tokens", () => {
    const text = (number: number) => `airship number ${number}`;
    const cost = tokensOf(text(1));
    const reserve = mostTokensOf(text(10));

    it("count what the server says, and all that was sent if it doesn't say anything", async () => {
      const { current } = await bench.process(providerAt(server.baseUrl));
      await current.encode(text(10));
      assert.strictEqual(await spent(), cost);
      server.script = [
        (response, { data }) =>
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ data })),
      ];
      await current.encode(text(11));
      assert.strictEqual(await spent(), cost + reserve);
    });

    it("aren't spent by what the server turns away, but by what it may have done", async () => {
      const attempts = { attempts: 1, ...PACES.document };
      const impatient = { ...attempts, timeoutMs: 100 };
      for (const [script, document, expected] of [
        [failing(401), attempts, 0],
        [failing(500), attempts, 0],
        [hanging, impatient, reserve],
      ] as const) {
        server.script = [script];
        const { current } = await bench.process(providerAt(server.baseUrl), { paces: { document } });
        await rejectionOf(current.encode(text(10)), NoVectorError);
        assert.strictEqual(await spent(), expected);
      }
    });

    it("are never exceeded by two processes together, and every text that they pay for is embedded", async () => {
      const dailyTokens = 9 * reserve;
      const processes = await Promise.all(
        Array.from({ length: 2 }, () => bench.process(providerAt(server.baseUrl, { dailyTokens }))),
      );
      // Exactly nine texts fit.
      server.always = expensive;
      const settled: PromiseSettledResult<unknown>[] = [];
      for (let number = 10; number < 30; number += 2) {
        settled.push(
          ...(await Promise.allSettled(processes.map(({ current }, index) => current.encode(text(number + index))))),
        );
      }
      const rejected = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as NoVectorError] : []));
      assert.strictEqual(settled.length - rejected.length, 9);
      assert.strictEqual(server.texts().length, 9);
      assert.isTrue(rejected.every(({ reason }) => reason === "budget"));
      assert.strictEqual(await spent(), dailyTokens);
      const said = bench.lines.filter((line) => line.includes("the day's tokens for embedding are spent"));
      assert.strictEqual(said.length, 2, "each process says it once");
      assert.notInclude(bench.lines.join("\n"), EMBEDDING_KEY);
    });

    describe("of many agents", () => {
      /** An agent's share is that of the longest text then, and has room for nine of these. */
      const fields = { maxTextBytes: 200, dailyTokens: 100 * reserve };
      const ofShare = Math.floor(204 / reserve);
      const encodeAll = (current: SentenceEncoder, numbers: readonly number[], options: EncodeOptions) =>
        Promise.allSettled(numbers.map((number) => current.encode(text(number), options)));
      const numbers = Array.from({ length: 20 }, (_, index) => 10 + index);
      const reasonsOf = (settled: readonly PromiseSettledResult<unknown>[]) =>
        settled.flatMap((one) => (one.status === "rejected" ? [(one.reason as NoVectorError).reason] : []));

      it("are no more than its share for one, whatever it embeds and at which process", async () => {
        server.always = expensive;
        const processes = [
          await bench.process(providerAt(server.baseUrl, fields)),
          await bench.process(providerAt(server.baseUrl, fields)),
        ].map(({ current }) => current);
        const [first, second] = processes as [SentenceEncoder, SentenceEncoder];
        const entries = await encodeAll(first, numbers, { owner: "agt_1" });
        assert.deepEqual(reasonsOf(entries), Array<string>(20 - ofShare).fill("share"));
        assert.deepEqual(reasonsOf(await encodeAll(second, [30, 31], { spender: "agt_1" })), ["share", "share"]);
        // Its queries, others' texts and those of nobody aren't held up.
        await first.encode(text(10), { ...PATIENT_QUERY, owner: "agt_1" });
        await second.encode(text(32), { owner: "agt_2" });
        await second.encode(text(33));
      });

      it("are had by an agent whose text waits on the share of another one that is spent", async () => {
        server.always = expensive;
        const provider = providerAt(server.baseUrl, fields);
        const { current } = await bench.process(provider);
        const shared = Array.from({ length: 4 }, (_, index) => 50 + index);
        await encodeAll(current, numbers, { spender: "agt_1" });
        // Another process doesn't know yet that the share is spent, so the text waits on it.
        const { current: other } = await bench.process(provider);
        const [first, second, third] = await Promise.all(
          ["agt_1", "agt_2", undefined].map((spender) => encodeAll(other, shared, { spender })),
        );
        assert.deepEqual(reasonsOf(first ?? []), Array<string>(4).fill("share"));
        assert.deepEqual([reasonsOf(second ?? []), reasonsOf(third ?? [])], [[], []]);
      });

      it("have a part that their private documents can't spend", async () => {
        server.always = expensive;
        const { current } = await bench.process(providerAt(server.baseUrl, fields));
        const settled: PromiseSettledResult<unknown>[] = [];
        for (let agent = 0; agent < 12; agent += 1) {
          for (const number of numbers.slice(0, ofShare)) {
            settled.push(...(await encodeAll(current, [number], { owner: `agt_${agent}` })));
          }
        }
        assert.strictEqual(settled.filter(({ status }) => status === "fulfilled").length, 80);
        assert.deepEqual([...new Set(reasonsOf(settled))], ["budget"]);
        await current.encode(text(30), { spender: "agt_99" });
        await current.encode(text(31), { ...PATIENT_QUERY, owner: "agt_0" });
      });
    });

    it("come back the next UTC day, for a text that waited too", async () => {
      const clock = movedClock(new Date("2026-11-23T23:59:59Z"));
      const provider = providerAt(server.baseUrl, { dailyTokens: reserve });
      const encoders = await bench.process(provider, { now: clock.now });
      const { current } = encoders;
      await current.encode(text(10));
      assert.strictEqual((await encoders.state()).server?.tokensToday, cost);
      const { reason } = await rejectionOf(current.encode(text(11)), NoVectorError);
      assert.strictEqual(reason, "budget");
      assert.isTrue((await encoders.state()).server?.answers, "the server itself works");
      assert.strictEqual((await current.encode(text(10))).vector.length, 64, "the cache costs nothing");
      clock.pass(1_000);
      assert.strictEqual((await current.encode(text(11))).vector.length, 64);
      const days = await bench.connection.collection("embedding_spending").find().sort({ _id: 1 }).toArray();
      assert.deepEqual(
        days.map(({ _id }) => String(_id)),
        ["2026-11-23", "2026-11-24"],
      );
    });

    it("of a process that dies within a request stay spent", async () => {
      const encoders = await bench.process(providerAt(server.baseUrl));
      server.always = hanging;
      const vector = rejectionOf(encoders.current.encode(text(10)), NoVectorError);
      await until("the text has been sent", () => Promise.resolve(server.seen.length === 1));
      await encoders.close();
      await vector;
      assert.strictEqual(await spent(), reserve);
      assert.isEmpty(await cached());
    });
  });
});
