// What is sent to an embedding server, and what of its answers is taken.
import { assert } from "chai";

import { NoVectorError } from "../../../../api/search/embedding/encoder.ts";
import type { SentenceEncoder } from "../../../../api/search/embedding/encoder.ts";
import type { EncodersOptions } from "../../../../api/search/embedding/encoders.ts";
import type { EmbeddingProvider } from "../../../../api/config/embeddings.ts";
import { cosine } from "../../../../api/search/embedding/vectors.ts";
import {
  EMBEDDING_KEY,
  LONG_PAUSES,
  openEncoderBench,
  PACES,
  providerAt,
} from "../../../fixtures/embedding-encoders.ts";
import type { EncoderBench } from "../../../fixtures/embedding-encoders.ts";
import {
  breaking,
  failing,
  hanging,
  refusing,
  sendGood,
  sending,
  startEmbeddingServer,
} from "../../../fixtures/embedding-server.ts";
import type { EmbeddingScript, EmbeddingServerFixture } from "../../../fixtures/embedding-server.ts";
import { rejectionOf } from "../../../fixtures/rejection.ts";
import { until } from "../../../fixtures/until.ts";

describe("an embedding server", () => {
  let bench: EncoderBench;
  let server: EmbeddingServerFixture;
  let count = 0;

  beforeEach(async () => {
    bench = await openEncoderBench();
    server = await startEmbeddingServer();
  });
  afterEach(async () => {
    await bench.close();
    await server.close();
  });

  async function encoderWith(
    fields: Partial<EmbeddingProvider> = {},
    options: Partial<EncodersOptions> = {},
  ): Promise<SentenceEncoder> {
    return (await bench.process(providerAt(server.baseUrl, fields), options)).current;
  }
  /** A text that hasn't been embedded before. */
  const fresh = () => `text ${(count += 1)} about airships`;
  const reasonOf = async (vector: Promise<unknown>) => (await rejectionOf(vector, NoVectorError)).reason;

  describe("happy", () => {
    it("gets the model, the dimensions, the key and the texts, and nothing else", async () => {
      const encoder = await encoderWith();
      await encoder.encode("Rents airships.");
      const [{ path, headers, body }] = server.seen as [(typeof server.seen)[0]];
      assert.strictEqual(path, "/v1/embeddings");
      assert.strictEqual(headers.authorization, `Bearer ${EMBEDDING_KEY}`);
      const expected = { model: "scripted", input: ["Rents airships."], encoding_format: "float", dimensions: 64 };
      assert.deepEqual(body, expected);
      assert.strictEqual(encoder.model, "compatible:scripted:64");
    });

    it("gets neither a key nor the dimensions if it is so configured, even with a key for other things", async () => {
      process.env["OPENAI_API_KEY"] = "sk-of-the-judge";
      try {
        const encoder = await encoderWith({ apiKey: undefined, sendsDimensions: false });
        await encoder.encode("Rents airships.");
      } finally {
        delete process.env["OPENAI_API_KEY"];
      }
      const [{ headers, body }] = server.seen as [(typeof server.seen)[0]];
      assert.isUndefined(headers.authorization);
      assert.deepEqual(Object.keys(body).sort(), ["encoding_format", "input", "model"]);
    });

    it("gives unit vectors, each for its own text whatever the order of the answer", async () => {
      const encoder = await encoderWith();
      const texts = ["zeppelin journey", "airship voyage", "doctor for animals"];
      const [first, second, third] = (await Promise.all(texts.map((text) => encoder.encode(text)))).map(
        ({ vector }) => vector,
      ) as [Float32Array, Float32Array, Float32Array];
      for (const vector of [first, second, third]) assert.closeTo(Math.hypot(...vector), 1, 1e-5);
      assert.closeTo(cosine(first, second), 1, 1e-5);
      assert.isBelow(cosine(first, third), 0.6);
      assert.strictEqual(server.seen.length, 1);
    });

    it("gets many texts in batches of 64, and the same text once", async () => {
      const encoder = await encoderWith();
      const texts = Array.from({ length: 150 }, fresh);
      await Promise.all([...texts, ...texts].map((text) => encoder.encode(text)));
      assert.deepEqual(
        server.seen.map(({ body }) => body.input.length).sort((a, b) => b - a),
        [64, 64, 22],
      );
      assert.deepEqual(server.texts().sort(), [...texts].sort());
    });

    for (const dimensions of [64, 1_536, 4_096]) {
      it(`may have vectors of ${dimensions} numbers, which come back from the cache unchanged`, async () => {
        const provider = { dimensions };
        const { vector } = await (await encoderWith(provider)).encode("Rents airships.");
        const again = await (await encoderWith(provider)).encode("Rents airships.");
        assert.strictEqual(vector.length, dimensions);
        assert.deepEqual([...again.vector], [...vector]);
        assert.strictEqual(server.seen.length, 1);
      });
    }

    it("never mixes the vectors of different models", async () => {
      const other = { model: "nomic-embed-text:v1.5", dimensions: 128 };
      const encoders = [await encoderWith(), await encoderWith(other)];
      const vectors = await Promise.all(encoders.map((encoder) => encoder.encode("airships")));
      assert.deepEqual(
        vectors.map(({ vector }) => vector.length),
        [64, 128],
      );
      assert.sameDeepMembers(
        server.seen.map(({ body }) => [body.model, body.dimensions]),
        [
          ["scripted", 64],
          ["nomic-embed-text:v1.5", 128],
        ],
      );
    });

    it("is named by its provider, its model and its dimensions", async () => {
      const openai = { baseUrl: "https://api.openai.com/v1", model: "text-embedding-3-small", dimensions: 512 };
      const { current } = await bench.process(providerAt("", openai));
      assert.strictEqual(current.model, "openai:text-embedding-3-small:512");
    });
  });

  describe("failures", () => {
    for (const [name, script] of [
      ["429", failing(429)],
      ["500", failing(500)],
      ["503", failing(503)],
      ["408", failing(408)],
      ["a connection that ends", breaking],
      ["an answer that isn't JSON", sending(() => '{"data": [{"ind')],
    ] as [string, EmbeddingScript][]) {
      it(`${name} is tried again`, async () => {
        server.script = [script, script];
        const { vector } = await (await encoderWith()).encode(fresh());
        assert.strictEqual(vector.length, 64);
        assert.strictEqual(server.seen.length, 3);
      });
    }

    it("a request that gets no answer in time is tried again", async () => {
      server.script = [hanging];
      const encoder = await encoderWith({}, { paces: { document: { ...PACES.document, timeoutMs: 3_000 } } });
      assert.strictEqual((await encoder.encode(fresh())).vector.length, 64);
      assert.isAtLeast(server.seen.length, 2);
    });

    it("after three failures nothing is sent for a while", async () => {
      const encoder = await encoderWith({}, { pauses: LONG_PAUSES });
      server.always = failing(500);
      assert.strictEqual(await reasonOf(encoder.encode(fresh())), "server");
      assert.strictEqual(server.seen.length, 3);
      assert.strictEqual(await reasonOf(encoder.encode(fresh(), { as: "query" })), "server");
      assert.strictEqual(server.seen.length, 3);
    });

    it("an outage is logged once, and its end", async () => {
      const encoder = await encoderWith();
      server.always = failing(500);
      await until("the server has failed twice", async () => {
        await rejectionOf(encoder.encode(fresh()), NoVectorError);
        return server.seen.length >= 6;
      });
      server.always = undefined;
      await until("the server is asked again", () => encoder.encode(fresh()).then(Boolean, () => false));
      const said = bench.lines.map((line) => JSON.parse(line) as { msg: string; problem?: string });
      const outage = said.filter(({ msg }) => msg.startsWith("the embedding server"));
      assert.deepEqual(
        outage.map(({ msg }) => msg),
        ["the embedding server is unavailable", "the embedding server answers again"],
      );
      assert.strictEqual(outage[0]?.problem, "the server answered 500");
    });

    for (const [name, script] of [
      ["a wrong key", failing(401)],
      ["an unknown model", failing(404)],
      ["an account without credit", failing(429, {}, "insufficient_quota")],
      ["a wish to be left alone", failing(429, { "retry-after": "20" })],
    ] as [string, EmbeddingScript][]) {
      it(`${name} isn't tried again`, async () => {
        server.always = script;
        assert.strictEqual(await reasonOf((await encoderWith()).encode(fresh())), "server");
        assert.strictEqual(server.seen.length, 1);
      });
    }

    it("a redirect isn't followed", async () => {
      server.always = (response) => response.writeHead(307, { location: `${server.baseUrl}/elsewhere` }).end();
      assert.strictEqual(await reasonOf((await encoderWith()).encode(fresh())), "server");
      assert.isTrue(server.seen.every(({ path }) => path === "/v1/embeddings"));
    });

    it("what the caller doesn't wait for is kept for the next call", async () => {
      const encoder = await encoderWith();
      const { promise, resolve } = Promise.withResolvers<undefined>();
      server.gate = promise;
      assert.strictEqual(await reasonOf(encoder.encode("airships", { patienceMs: 1 })), "server");
      await until("the text has been sent", () => Promise.resolve(server.seen.length === 1));
      resolve(undefined);
      assert.strictEqual((await encoder.encode("airships")).vector.length, 64);
      assert.strictEqual(server.seen.length, 1);
    });

    it("the end of the process rejects what waits", async () => {
      const encoders = await bench.process(providerAt(server.baseUrl));
      server.always = hanging;
      const reasons = Promise.all([reasonOf(encoders.current.encode("one")), reasonOf(encoders.current.encode("two"))]);
      await until("a text has been sent", () => Promise.resolve(server.seen.length > 0));
      await encoders.close();
      assert.deepEqual(await reasons, ["server", "server"]);
      assert.strictEqual(await reasonOf(encoders.current.encode("three")), "server");
    });
  });

  describe("security", () => {
    const numbers = (change: (embedding: number[], index: number) => unknown[]) =>
      sending(({ data, ...rest }) => ({
        ...rest,
        data: data.map((one) => ({ ...one, embedding: change(one.embedding, one.index) })),
      }));
    const malformed: Record<string, EmbeddingScript> = {
      "has no list": sending(() => ({ object: "list" })),
      "is a page": (response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>"),
      "lacks a vector": sending(({ data }) => ({ data: data.slice(1) })),
      "has a vector too many": sending(({ data }) => ({ data: [...data, { ...data[0], index: data.length }] })),
      "has an index twice": sending(({ data }) => ({ data: data.map((one) => ({ ...one, index: 0 })) })),
      "has indexes of others": sending(({ data }) => ({ data: data.map((one) => ({ ...one, index: one.index + 1 })) })),
      "has no indexes": sending(({ data }) => ({ data: data.map(({ embedding }) => ({ embedding })) })),
      "has other dimensions": numbers((embedding) => embedding.slice(1)),
      "has texts for numbers": numbers((embedding) => embedding.map(String)),
      "has nulls": numbers((embedding) => embedding.with(3, NaN)),
      "has a zero vector": numbers((embedding) => embedding.map(() => 0)),
      "has infinite numbers": (response, { data }) =>
        response
          .writeHead(200, { "content-type": "application/json" })
          .end(JSON.stringify({ data }).replace(/"embedding":\[[^,]+/, '"embedding":[1e999')),
    };
    for (const [name, script] of Object.entries(malformed)) {
      it(`an answer that ${name} is worthless, is paid for and gives no vector`, async () => {
        const encoder = await encoderWith();
        server.always = script;
        const reasons = await Promise.all([reasonOf(encoder.encode("one")), reasonOf(encoder.encode("two"))]);
        assert.deepEqual(reasons, ["server", "server"]);
        assert.strictEqual(server.seen.length, 1);
        assert.isAbove((await bench.connection.collection("embedding_spending").findOne())?.["tokens"] as number, 0);
        assert.strictEqual(await bench.connection.collection("embeddings").countDocuments(), 0);
      });
    }

    it("numbers of any size give a unit vector", async () => {
      for (const size of [1e300, 1e-300]) {
        server.script = [numbers((embedding) => embedding.map((number) => number * size))];
        const { vector } = await (await encoderWith()).encode(fresh());
        assert.closeTo(Math.hypot(...vector), 1, 1e-5);
      }
    });

    it("neither the key nor a text nor the server's words are logged", async () => {
      const secret = "a private diary about airships";
      for (const script of [failing(401), failing(500), failing(400), breaking, sending(() => secret)]) {
        server.always = script;
        const encoder = await encoderWith();
        const before = server.seen.length;
        await rejectionOf(encoder.encode(`${secret} ${fresh()}`), NoVectorError);
        assert.isAbove(server.seen.length, before);
      }
      const log = bench.lines.join("\n");
      assert.include(log, "the embedding server is unavailable");
      for (const word of [EMBEDDING_KEY, "diary", "Incorrect"]) assert.notInclude(log, word);
    });

    it("long, odd and wordless texts are cut, cleaned or refused, and embedded where they can be", async () => {
      const encoder = await encoderWith({ maxTextBytes: 1_000 });
      const texts = {
        long: "word ".repeat(200).trim(),
        emoji: "\u{1f600}".repeat(500),
        halves: "left \ud83d and right",
        control: "a\u0000b\u0007c",
        arabic: "\u0639\u0631\u0628\u064a ".repeat(300),
      };
      for (const text of Object.values(texts)) {
        assert.strictEqual((await encoder.encode(text)).vector.length, 64);
      }
      const sent = server.texts();
      assert.isTrue(sent.every((text) => Buffer.byteLength(text) <= 1_000 && text.isWellFormed()));
      assert.strictEqual(sent[1], "\u{1f600}".repeat(250));
      assert.deepEqual(sent.slice(2, 4), ["left \ufffd and right", "a b c"]);
      for (const blank of ["", " \n ", "\u200b\u2060"])
        assert.strictEqual(await reasonOf(encoder.encode(blank)), "text");
      assert.strictEqual(server.seen.length, Object.keys(texts).length);
    });

    it("a text that the server refuses doesn't hold up the others, and isn't sent again for an hour", async () => {
      const encoder = await encoderWith();
      server.always = refusing("poison");
      const texts = [...Array.from({ length: 63 }, fresh), "poison"];
      const settled = await Promise.allSettled(texts.map((text) => encoder.encode(text)));
      assert.deepEqual(settled.map(({ status }) => status).lastIndexOf("rejected"), 63);
      assert.strictEqual(settled.filter(({ status }) => status === "rejected").length, 1);
      assert.isAtMost(server.seen.length, 13);
      const requests = server.seen.length;
      assert.strictEqual(await reasonOf(encoder.encode("poison")), "text");
      assert.strictEqual(await reasonOf((await encoderWith()).encode("poison")), "text");
      assert.strictEqual(server.seen.length, requests);
    });

    it("a server that refuses everything from the start is left alone: the settings must be wrong", async () => {
      const encoder = await encoderWith();
      server.always = failing(400);
      const settled = await Promise.allSettled(Array.from({ length: 64 }, () => encoder.encode(fresh())));
      assert.isTrue(settled.every((one) => (one as { reason: NoVectorError }).reason.reason === "server"));
      assert.isAtMost(server.seen.length, 8);
      assert.strictEqual(await bench.connection.collection("embeddings").countDocuments(), 0);
      server.always = sendGood;
      await until("the server is asked again", () => encoder.encode(fresh()).then(Boolean, () => false));
    });
  });
});
