// Requests on a service that requires RFC 9421 signatures.
import { createHash, randomUUID } from "node:crypto";

import { assert } from "chai";
import { httpbis } from "http-message-signatures";
import { hexToBytes } from "viem";

import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";

const SERVICES = "/api/v1/services";
const MINUTE_MS = 60_000;

interface Request {
  method: string;
  path: string;
  body?: unknown;
}

/** What a signature differs in from a good one. */
interface Flaw {
  signer?: TestAgent;
  keyId?: string;
  fields?: string[];
  params?: string[];
  created?: Date;
  expires?: Date;
  nonce?: string;
  alg?: string;
  /** What is signed instead of the request that is sent. */
  instead?: Partial<Request>;
}

const READ: Request = { method: "GET", path: `${SERVICES}?limit=1` };
const CREATE: Request = { method: "POST", path: SERVICES, body: listingBody() };

describe("a service that requires request signatures", () => {
  let api: TestApi;
  let agent: TestAgent;
  let other: TestAgent;

  before(async () => {
    api = await startTestApi({ search: true, env: { requireRequestSignatures: true } });
    [agent, other] = await Promise.all([api.registerAgent(), api.registerAgent()]);
  });
  after(() => api.close());

  const digestOf = (body: unknown) => `sha-256=:${createHash("sha256").update(JSON.stringify(body)).digest("base64")}:`;

  /** The signature's headers, as a client makes them. */
  async function signatureOf(request: Request, flaw: Flaw = {}): Promise<Record<string, string>> {
    const { method, path, body } = { ...request, ...flaw.instead };
    const { signer = agent, created = new Date(), nonce = randomUUID(), alg = "eip191" } = flaw;
    const digest: Record<string, string> = body === undefined ? {} : { "content-digest": digestOf(body) };
    const { headers } = await httpbis.signMessage(
      {
        key: {
          id: flaw.keyId ?? `erc8128:84532:${agent.walletAddress}`,
          sign: async (data) => Buffer.from(hexToBytes(await signer.account.signMessage({ message: { raw: data } }))),
        },
        fields: flaw.fields ?? ["@method", "@target-uri", ...Object.keys(digest)],
        params: flaw.params ?? ["created", "nonce", "keyid", "alg", ...(flaw.expires === undefined ? [] : ["expires"])],
        paramValues: { created, nonce, alg, ...(flaw.expires === undefined ? {} : { expires: flaw.expires }) },
      },
      { method, url: PUBLIC_URL + path, headers: digest },
    );
    return headers;
  }

  const send = ({ method, path, body }: Request, headers: Record<string, string>): Promise<Answer> =>
    api.request(method, path, { key: agent.apiKey, headers, ...(body === undefined ? {} : { body }) });
  const sendSigned = async (request: Request, flaw?: Flaw) => send(request, await signatureOf(request, flaw));

  describe("accepts", () => {
    it("[D42] a read and a change that the wallet has signed", async () => {
      const read = await sendSigned(READ);
      assert.strictEqual(read.status, 200, read.text);
      const created = await sendSigned(CREATE);
      assert.strictEqual(created.status, 201, created.text);
    });

    it("[D42] a key id of either chain, in either case, and the short path", async () => {
      const wallet = agent.walletAddress.toLowerCase();
      for (const keyId of [`erc8128:8453:${wallet}`, `erc8128:84532:${agent.walletAddress}`]) {
        const answer = await sendSigned({ method: "GET", path: "/v1/services" }, { keyId });
        assert.strictEqual(answer.status, 200, answer.text);
      }
    });

    it("[D42] an unsigned request on a route without a key", async () => {
      assert.strictEqual((await api.request("GET", "/api/v1/categories")).status, 200);
      const found = await api.request("POST", "/api/v1/discover", { body: { query: "bank reconciliation" } });
      assert.strictEqual(found.status, 200, found.text);
    });
  });

  describe("answers 401 request_signature_invalid", () => {
    const assertRefused = (answer: Answer) => {
      assertError(answer, 401, "request_signature_invalid");
      assert.match(answer.body.error as string, /RFC 9421/);
    };

    it("[D42] without a signature, or with half of one", async () => {
      assertRefused(await send(READ, {}));
      const { Signature, "Signature-Input": input } = await signatureOf(READ);
      assertRefused(await send(READ, { Signature: String(Signature) }));
      assertRefused(await send(READ, { "Signature-Input": String(input) }));
    });

    const flaws: [what: string, request: Request, flaw: () => Flaw][] = [
      ["another wallet's signature", READ, () => ({ signer: other })],
      ["another wallet's key id", READ, () => ({ signer: other, keyId: `erc8128:84532:${other.walletAddress}` })],
      ["a foreign chain's key id", READ, () => ({ keyId: `erc8128:1:${agent.walletAddress}` })],
      ["a malformed key id", READ, () => ({ keyId: agent.walletAddress })],
      ["another algorithm", READ, () => ({ alg: "hmac-sha256" })],
      ["the method unsigned", READ, () => ({ fields: ["@target-uri"] })],
      ["only the path signed", READ, () => ({ fields: ["@method", "@path"] })],
      ["the body unsigned", CREATE, () => ({ fields: ["@method", "@target-uri"] })],
      ["another method signed", READ, () => ({ instead: { method: "DELETE" } })],
      ["another query signed", READ, () => ({ instead: { path: `${SERVICES}?limit=2` } })],
      ["no creation time", READ, () => ({ params: ["nonce", "keyid", "alg"] })],
      ["no nonce", READ, () => ({ params: ["created", "keyid", "alg"] })],
      ["a short nonce", READ, () => ({ nonce: "1234567" })],
    ];
    for (const [what, request, flaw] of flaws) {
      it(`[D42] for ${what}`, async () => {
        assertRefused(await sendSigned(request, flaw()));
      });
    }

    it("[D42] for another body than the signed one, under either digest", async () => {
      const forged = { ...CREATE, body: listingBody({ price: 1_000 }) };
      assertRefused(await send(forged, await signatureOf(CREATE)));
      assertRefused(await send(forged, { ...(await signatureOf(CREATE)), "content-digest": digestOf(forged.body) }));
    });

    it("[D42] for a creation time that isn't a number, which would never expire", async () => {
      const headers = await signatureOf(READ);
      const input = String(headers["Signature-Input"]).replace(/created=\d+/, 'created="soon"');
      assertRefused(await send(READ, { ...headers, "Signature-Input": input }));
    });

    it("[D42] for a signature that is used twice", async () => {
      const headers = await signatureOf(READ);
      assert.strictEqual((await send(READ, headers)).status, 200);
      assertRefused(await send(READ, headers));
    });

    it("[D42] for nonsense in the headers", async () => {
      const good = await signatureOf(CREATE);
      for (const nonsense of [
        { Signature: "nonsense", "Signature-Input": "sig=(" },
        { Signature: "sig=:AAAA:", "Signature-Input": 'sig="text"' },
        { ...good, Signature: "sig=1" },
        { ...good, Signature: "other=:AAAA:" },
        { ...good, "content-digest": "md5=:AAAA:" },
        { ...good, "content-digest": "sha-256=AAAA" },
        { ...good, "Signature-Input": String(good["Signature-Input"]).replace('"@method"', '"@method";req') },
      ]) {
        assertRefused(await send(CREATE, nonsense as Record<string, string>));
      }
    });
  });

  describe("answers 401 request_timestamp_expired", () => {
    for (const [what, times] of [
      ["older than 5 minutes", () => ({ created: new Date(Date.now() - 6 * MINUTE_MS) })],
      ["from the future", () => ({ created: new Date(Date.now() + 2 * MINUTE_MS) })],
      ["past its own end", () => ({ expires: new Date(Date.now() - MINUTE_MS) })],
    ] as const) {
      it(`[D42] for a signature ${what}`, async () => {
        assertError(await sendSigned(READ, times()), 401, "request_timestamp_expired");
      });
    }
  });

  it("[D42] checks the API key first", async () => {
    const headers = await signatureOf(READ);
    assertError(await api.request("GET", READ.path, { headers }), 401, "invalid_api_key");
  });
});
