// What is stored is exactly what was sent: a body that can't be read unchanged is refused.
import { connect } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";

import { assert } from "chai";

import { MAX_BODY_BYTES } from "../../../api/config/constants.ts";
import { assertError, assertInvalid, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestApi } from "../../fixtures/api.ts";
import { fundedDeal, openMarket } from "../../fixtures/deals.ts";
import type { CheckoutData, Market } from "../../fixtures/deals.ts";
import { openChain } from "../../fixtures/stack.ts";
import { changesNothing } from "../../fixtures/stored.ts";

const DISCOVER = "/api/v1/discover";
const JSON_BRACES_BYTES = 2;

describe("the body of a request", () => {
  let api: TestApi;
  let market: Market;
  let deal: CheckoutData;

  before(async () => {
    api = await startTestApi({ search: true });
    market = await openMarket(api, await openChain("base-sepolia"));
    deal = await fundedDeal(market);
  });
  after(() => api.close());

  const deliver = (rawBody: string | Uint8Array, headers: Record<string, string> = {}): Promise<Answer> =>
    api.request("POST", `/api/v1/transactions/${deal.transactionId}/deliver`, {
      key: market.seller.apiKey,
      rawBody,
      headers,
    });
  const payloadOf = (bytes: number[]) =>
    Buffer.concat([Buffer.from('{"responsePayload":{"text":"'), Buffer.from(bytes), Buffer.from('"}}')]);
  const refusesAll = (requests: () => Promise<void>) => changesNothing(api, [deal.transactionId], requests);

  it("[D33] with invalid UTF-8 is a 400 malformed_json and stores nothing, compressed or not", () =>
    refusesAll(async () => {
      const invalid = [[0xff], [0xc3, 0x28], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5, 0x80, 0x80, 0x80]];
      for (const bytes of invalid) {
        const answer = await deliver(payloadOf(bytes));
        assertError(answer, 400, "malformed_json");
        assert.deepEqual(answer.body.details, { reason: "invalid_utf8" });
      }
      const compressed = await deliver(gzipSync(payloadOf([0xff])), { "content-encoding": "gzip" });
      assertError(compressed, 400, "malformed_json");
    }));

  it("with a lone surrogate in a text or field name is a validation error that says where", () =>
    refusesAll(async () => {
      assertInvalid(await deliver('{"responsePayload":{"list":["ok","\\ud800"]}}'), "body.responsePayload.list.1");
      assertInvalid(await deliver('{"responsePayload":{"\\udc00":1}}'), "body.responsePayload");
    }));

  it("with a repeated field is a validation error that names it, in any spelling", () =>
    refusesAll(async () => {
      assertInvalid(await deliver('{"responsePayload":{"a":1,"b":{"a":2},"a":3}}'), "body.responsePayload.a");
      assertInvalid(await deliver('{"responsePayload":{"a":1,"\\u0061":2}}'), "body.responsePayload.a");
      assertInvalid(
        await deliver('{"responsePayload":{"x":[{},{"q\\"{,":"}","q\\"{,":1}]}}'),
        'body.responsePayload.x.1.q"{,',
      );
      assertInvalid(await deliver('{"responsePayload":{},"responsePayload":{}}'), "body.responsePayload");
    }));

  it("with a field named __proto__ is a validation error that names it, at any depth", () =>
    refusesAll(async () => {
      assertInvalid(
        await deliver('{"responsePayload":{"a":[{"__proto__":{"b":1}}]}}'),
        "body.responsePayload.a.0.__proto__",
      );
      assertInvalid(await deliver('{"__proto__":{},"responsePayload":{}}'), "body.__proto__");
    }));

  it("with damaged compression is a 400, with an unknown one a 415", () =>
    refusesAll(async () => {
      const whole = gzipSync('{"responsePayload":{}}');
      assertError(await deliver(whole.subarray(0, -9), { "content-encoding": "gzip" }), 400, "malformed_json");
      assertError(await deliver('{"responsePayload":{}}', { "content-encoding": "gzip" }), 400, "malformed_json");
      for (const encoding of ["zstd", "gzip, gzip", "constructor"]) {
        assertError(await deliver(whole, { "content-encoding": encoding }), 415, "unsupported_media_type");
      }
    }));

  it("may be compressed in three ways, and its decompressed size counts", async () => {
    const body = JSON.stringify({ query: "köche" });
    const compressed = { gzip: gzipSync, deflate: deflateSync, br: brotliCompressSync };
    const tooLarge = `{"query":"${"a".repeat(MAX_BODY_BYTES)}"}`;
    for (const [encoding, compress] of Object.entries(compressed)) {
      const headers = { "content-encoding": encoding };
      const answer = await api.request("POST", DISCOVER, { rawBody: compress(body), headers });
      assert.strictEqual(answer.status, 200, answer.text);
      const refused = await api.request("POST", DISCOVER, { rawBody: compress(tooLarge), headers });
      assertError(refused, 413, "payload_too_large");
    }
  });

  it("is kept as sent, with every kind of character, and names and texts that look like structure", async () => {
    const responsePayload = {
      "a.b": '😀 ü \u0000 \\ " { } [ ] , :',
      list: [["a", "a"], { a: 1 }, { a: 2 }],
      a: { a: { a: "" } },
    };
    const answer = await deliver(JSON.stringify({ responsePayload }));
    assert.strictEqual(answer.status, 202, answer.text);
    assert.deepEqual(answer.body.data.responsePayload, responsePayload);
  });

  it("that a client aborts changes nothing, and the service answers the next request", () =>
    refusesAll(async () => {
      const { hostname, port } = new URL(api.url);
      for (const encoding of ["", "Content-Encoding: gzip\r\n"]) {
        await new Promise<void>((resolve, reject) => {
          const head =
            `POST ${DISCOVER} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n${encoding}` +
            `Content-Length: 1000\r\n\r\n{`;
          const socket = connect(Number(port), hostname, () => {
            socket.write(head, () => {
              socket.destroy();
            });
          });
          socket.once("close", () => {
            resolve();
          });
          socket.once("error", reject);
        });
      }
      assert.strictEqual((await api.request("GET", "/health")).status, 200);
    }));

  it("of exactly 256 KB is read to its last byte", async () => {
    const filler = "a".repeat(MAX_BODY_BYTES - JSON_BRACES_BYTES - '"query":""'.length);
    const rawBody = `{"query":"${filler}"}`;
    assert.strictEqual(Buffer.byteLength(rawBody), MAX_BODY_BYTES);
    assertInvalid(await api.request("POST", DISCOVER, { rawBody }), "body.query");
    assertInvalid(
      await api.request("POST", "/api/v1/services", { key: market.seller.apiKey, body: listingBody({ title: "" }) }),
      "body.title",
    );
  });
});
