import { connect } from "node:net";

import { assert } from "chai";
import { privateKeyToAccount, generatePrivateKey, publicKeyToAddress } from "viem/accounts";

import { checkSignInMessage } from "../../../api/features/auth/sign-in-message.ts";
import { assertError, assertInvalid, registrationBody, signInMessage, startTestApi } from "../../fixtures/api.ts";
import type { SignInFields, TestAgent, TestApi } from "../../fixtures/api.ts";

const REGISTER = "/api/v1/auth/register";
const KEYS = "/api/v1/auth/keys";
const KEY_STATEMENT = "Issue an API key for this agent.";

const now = { value: new Date() };
const clock = { now: () => new Date(now.value) };

/** Moves the API's clock on; tests of one file run one after the other. */
function passSeconds(seconds: number): void {
  now.value = new Date(now.value.getTime() + seconds * 1_000);
}

describe("registration", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ clock });
  });
  after(() => api.close());

  describe("happy", () => {
    it("[S4.r18] [S2.5.01] [S1.16] answers agentId, apiKey, walletAddress and publicKey without a key", async () => {
      const { account, body } = await registrationBody({}, { issuedAt: clock.now() });
      const answer = await api.request("POST", REGISTER, { body });
      assert.strictEqual(answer.status, 201);
      assert.deepEqual(Object.keys(answer.body).sort(), ["agentId", "apiKey", "publicKey", "success", "walletAddress"]);
      assert.strictEqual(answer.body.success, true);
      assert.strictEqual(answer.body.walletAddress, account.address);
      assert.strictEqual(typeof answer.body.agentId, "string");
    });

    it("[S2.5.02] [S2.5.03] recovers the wallet's uncompressed public key from the signature", async () => {
      const { account, body } = await registrationBody({}, { issuedAt: clock.now() });
      const { publicKey } = (await api.request("POST", REGISTER, { body })).body;
      assert.match(publicKey, /^0x04[0-9a-f]{128}$/);
      assert.strictEqual(publicKey, account.publicKey);
      assert.strictEqual(publicKeyToAddress(publicKey), account.address);
    });

    it("[S5.01] gives a key of svc_ and 64 hexadecimal characters", async () => {
      const { apiKey } = await register();
      assert.match(apiKey, /^svc_[0-9a-f]{64}$/);
    });

    it("[D21] stores the key as a hash alone", async () => {
      const { apiKey } = await register();
      const collections = await api.container.connection.listCollections();
      for (const { name } of collections) {
        const documents = await api.container.connection.collection(name).find({}).toArray();
        assert.ok(!JSON.stringify(documents).includes(apiKey.slice(4)), `${name} holds a key`);
      }
    });

    it("[S2.5.04] [S4.r14] [S4.r14.1] every agent's public key is readable without a key", async () => {
      const { agentId, publicKey } = await register();
      const answer = await api.request("GET", `/api/v1/agents/${agentId}/public-key`);
      assert.deepEqual([answer.status, answer.body], [200, { agentId, publicKey }]);
    });

    it("[D21] accepts a message of the mainnet's chain id and one that is nearly ten minutes old", async () => {
      const issuedAt = new Date(clock.now().getTime() - 599_000);
      const { body } = await registrationBody({}, { issuedAt, chainId: 8_453 });
      assert.strictEqual((await api.request("POST", REGISTER, { body })).status, 201);
    });
  });

  describe("error", () => {
    it("[S4.r14.2] the public key of an unknown agent is a 404", async () => {
      for (const id of ["agt_00000000000000000000000000000000", "nobody", "%24ne"]) {
        assertError(await api.request("GET", `/api/v1/agents/${id}/public-key`), 404, "not_found");
      }
    });

    it("[D33] names every missing, mistyped, unknown and oversized field", async () => {
      assertInvalid(
        await api.request("POST", REGISTER, { body: {} }),
        ...["body.agentName", "body.walletAddress", "body.message", "body.signature"],
      );
      const { body } = await registrationBody({}, { issuedAt: clock.now() });
      const wrong: [Record<string, unknown>, string][] = [
        [{ agentName: 7 }, "body.agentName"],
        [{ agentName: "   " }, "body.agentName"],
        [{ agentName: "x".repeat(101) }, "body.agentName"],
        [{ agentName: "bell\u0007" }, "body.agentName"],
        [{ walletAddress: "0x12" }, "body.walletAddress"],
        [{ walletAddress: { $ne: null } }, "body.walletAddress"],
        [{ message: "" }, "body.message"],
        [{ message: "x".repeat(4_001) }, "body.message"],
        [{ signature: "0x00" }, "body.signature"],
        [{ description: "x".repeat(2_001) }, "body.description"],
        [{ agentId: "agt_mine" }, "body.agentId"],
        [{ publicKey: "0x04" }, "body.publicKey"],
      ];
      for (const [change, path] of wrong) {
        assertInvalid(await api.request("POST", REGISTER, { body: { ...body, ...change } }), path);
      }
    });

    const wrongMessages: [string, SignInFields, RegExp][] = [
      ["another domain", { domain: "evil.test" }, /domain/],
      ["another URI", { uri: "https://evil.test" }, /URI/],
      ["an unsupported chain", { chainId: 1 }, /chain id/],
      ["another purpose", { statement: "Log in to the marketplace." }, /register/],
      ["no statement", { statement: undefined }, /register/],
      ["the statement of a key request", { statement: KEY_STATEMENT }, /register/],
    ];
    for (const [what, fields, fault] of wrongMessages) {
      it(`[D21] refuses a message with ${what}`, async () => {
        const { body } = await registrationBody({}, { issuedAt: clock.now(), ...fields });
        const answer = await api.request("POST", REGISTER, { body });
        assertError(answer, 400, "sign_in_message_invalid");
        assert.ok(
          (answer.body.details as string[]).some((text) => fault.test(text)),
          answer.text,
        );
      });
    }

    it("[D21] refuses a message older than ten minutes, of the future, expired or not yet valid", async () => {
      const at = (seconds: number) => new Date(clock.now().getTime() + seconds * 1_000);
      const fields: SignInFields[] = [
        { issuedAt: at(-601) },
        { issuedAt: at(120) },
        { issuedAt: at(-10), expirationTime: at(-1) },
        { issuedAt: at(-10), notBefore: at(30) },
      ];
      for (const times of fields) {
        const { body } = await registrationBody({}, times);
        assertError(await api.request("POST", REGISTER, { body }), 400, "sign_in_message_invalid");
      }
    });

    it("refuses a text that is no EIP-4361 message or could be read in two ways", async () => {
      const { account, body } = await registrationBody({}, { issuedAt: clock.now() });
      for (const message of [
        "hello",
        body.message.replace(/Nonce: \w+/, "Nonce: short"),
        `${body.message}\nURI: https://evil.test`,
        body.message.replace("wants you", "asks you"),
      ]) {
        const signature = await account.signMessage({ message });
        const answer = await api.request("POST", REGISTER, { body: { ...body, message, signature } });
        assertError(answer, 400, "sign_in_message_invalid");
      }
    });

    it("a service on the loopback takes the loopback's names for its domain, any other service its own alone", () => {
      const { address } = privateKeyToAccount(generatePrivateKey());
      const verdict = (publicUrl: string, host: string, protocol = "http") => {
        const text = signInMessage(address, { domain: host, uri: `${protocol}://${host}`, issuedAt: clock.now() });
        return "message" in checkSignInMessage(text, { purpose: "register", publicUrl, now: clock.now() });
      };
      assert.ok(verdict("http://127.0.0.1:3000", "localhost:3000"));
      assert.ok(verdict("http://localhost:3000", "127.0.0.1:3000"));
      assert.ok(!verdict("http://127.0.0.1:3000", "localhost:3001"));
      assert.ok(!verdict("http://127.0.0.1:3000", "evil.test:3000"));
      assert.ok(verdict("https://market.example", "market.example", "https"));
      assert.ok(!verdict("https://market.example", "localhost", "https"));
    });

    it("[D21] one wallet is one agent: a second registration is refused and changes nothing", async () => {
      const agent = await register();
      const message = signInMessage(agent.walletAddress, { issuedAt: clock.now() });
      const signature = await agent.account.signMessage({ message });
      const walletAddress = agent.walletAddress.toLowerCase();
      const body = { agentName: "Again", walletAddress, message, signature };
      assertError(await api.request("POST", REGISTER, { body }), 409, "wallet_already_registered");
      assert.strictEqual((await api.request("GET", "/api/v1/services", { key: agent.apiKey })).status, 200);
    });

    it("[D21] of simultaneous registrations of one wallet exactly one succeeds", async () => {
      const account = privateKeyToAccount(generatePrivateKey());
      const attempts = Array.from({ length: 5 }, async () => {
        const message = signInMessage(account.address, { issuedAt: clock.now() });
        const signature = await account.signMessage({ message });
        return api.request("POST", REGISTER, {
          body: { agentName: "Racer", walletAddress: account.address, message, signature },
        });
      });
      const answers = await Promise.all(attempts);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
      for (const answer of answers.filter(({ status }) => status === 409)) {
        assertError(answer, 409, "wallet_already_registered");
      }
    });
  });

  describe("security", () => {
    it("[S4.r18.1] [D21] refuses a signature by another wallet", async () => {
      const { body } = await registrationBody({}, { issuedAt: clock.now() });
      const stranger = privateKeyToAccount(generatePrivateKey());
      const signature = await stranger.signMessage({ message: body.message });
      assertError(await api.request("POST", REGISTER, { body: { ...body, signature } }), 400, "signature_invalid");
    });

    it("refuses to register another wallet than the one that signs", async () => {
      const { body } = await registrationBody({}, { issuedAt: clock.now() });
      const walletAddress = privateKeyToAccount(generatePrivateKey()).address;
      const answer = await api.request("POST", REGISTER, { body: { ...body, walletAddress } });
      assertError(answer, 400, "sign_in_message_invalid");
    });

    it("refuses signatures that are none", async () => {
      const { body } = await registrationBody({}, { issuedAt: clock.now() });
      for (const signature of [`0x${"00".repeat(65)}`, `0x${"ff".repeat(65)}`]) {
        assertError(await api.request("POST", REGISTER, { body: { ...body, signature } }), 400, "signature_invalid");
      }
    });
  });

  async function register(): Promise<TestAgent> {
    const { account, privateKey, body } = await registrationBody({}, { issuedAt: clock.now() });
    const answer = await api.request("POST", REGISTER, { body });
    assert.strictEqual(answer.status, 201, answer.text);
    return { ...(answer.body as Omit<TestAgent, "account" | "privateKey">), account, privateKey };
  }

  async function keyRequest(agent: TestAgent, fields: SignInFields = {}, extra: Record<string, unknown> = {}) {
    const message = signInMessage(agent.walletAddress, { issuedAt: clock.now(), statement: KEY_STATEMENT, ...fields });
    return { message, signature: await agent.account.signMessage({ message }), ...extra };
  }

  const isAccepted = async (key: string) => (await api.request("GET", "/api/v1/services", { key })).status === 200;

  describe("keys", () => {
    it("[D21] a new key works at once and ends the others at once by default", async () => {
      const agent = await register();
      const answer = await api.request("POST", KEYS, { body: await keyRequest(agent) });
      assert.strictEqual(answer.status, 201);
      assert.strictEqual(answer.body.agentId, agent.agentId);
      assert.ok(await isAccepted(answer.body.apiKey));
      assertError(await api.request("GET", "/api/v1/services", { key: agent.apiKey }), 401, "invalid_api_key");
    });

    it("[D21] [S5.06] an old key that was given time works until it has expired", async () => {
      const agent = await register();
      const body = await keyRequest(agent, {}, { revokeOthersAfterSeconds: 60 });
      const answer = await api.request("POST", KEYS, { body });
      assert.strictEqual(answer.body.othersEndAt, new Date(clock.now().getTime() + 60_000).toISOString());
      assert.ok(await isAccepted(agent.apiKey));
      passSeconds(59);
      assert.ok(await isAccepted(agent.apiKey));
      passSeconds(1);
      assertError(await api.request("GET", "/api/v1/services", { key: agent.apiKey }), 401, "invalid_api_key");
      assert.ok(await isAccepted(answer.body.apiKey));
    });

    it("[D21] DELETE revokes the presented key and no other", async () => {
      const agent = await register();
      const body = await keyRequest(agent, {}, { revokeOthersAfterSeconds: 86_400 });
      const { apiKey } = (await api.request("POST", KEYS, { body })).body as { apiKey: string };
      const answer = await api.request("DELETE", KEYS, { key: apiKey });
      assert.strictEqual(answer.status, 200);
      assert.strictEqual(answer.body.data.agentId, agent.agentId);
      assert.ok(!(await isAccepted(apiKey)));
      assert.ok(await isAccepted(agent.apiKey));
    });

    it("[S5.05] [S7.03] a revoked key is invalid, also for a second revocation", async () => {
      const { apiKey } = await register();
      assert.strictEqual((await api.request("DELETE", KEYS, { key: apiKey })).status, 200);
      const answer = await api.request("DELETE", KEYS, { key: apiKey });
      assertError(answer, 401, "invalid_api_key");
      assert.strictEqual(answer.body.error, "Invalid API key");
    });

    it("[D21] a message gives one key only: its nonce is used once", async () => {
      const agent = await register();
      const body = await keyRequest(agent, {}, { revokeOthersAfterSeconds: 300 });
      const answers = await Promise.all([1, 2, 3].map(() => api.request("POST", KEYS, { body })));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409]);
      for (const answer of answers.filter(({ status }) => status === 409))
        assertError(answer, 409, "nonce_already_used");
    });

    it("[D21] a registration message gives no key, nor one of a wallet that is not registered", async () => {
      const agent = await register();
      const wrongPurpose = await keyRequest(agent, { statement: "Register and give me an API key" });
      assertError(await api.request("POST", KEYS, { body: wrongPurpose }), 400, "sign_in_message_invalid");
      const privateKey = generatePrivateKey();
      const account = privateKeyToAccount(privateKey);
      const unknown = await keyRequest({ ...agent, account, walletAddress: account.address });
      assertError(await api.request("POST", KEYS, { body: unknown }), 404, "not_found");
    });

    it("[D21] revokeOthersAfterSeconds is a whole number from 0 to 86400", async () => {
      const agent = await register();
      for (const revokeOthersAfterSeconds of [-1, 86_401, 1.5, "60", null]) {
        const body = await keyRequest(agent, {}, { revokeOthersAfterSeconds });
        assertInvalid(await api.request("POST", KEYS, { body }), "body.revokeOthersAfterSeconds");
      }
      assert.ok(await isAccepted(agent.apiKey));
    });
  });

  describe("key headers", () => {
    it("[S5.02] [S5.03] X-API-Key and Authorization: Bearer both authenticate", async () => {
      const { apiKey } = await register();
      for (const [name, value] of [
        ["x-api-key", apiKey],
        ["authorization", `Bearer ${apiKey}`],
      ] as const) {
        assert.strictEqual((await api.request("GET", "/api/v1/services", { headers: { [name]: value } })).status, 200);
      }
    });

    it("[S5.04] the API description prefers X-API-Key", async () => {
      const { body } = await api.request("GET", "/openapi.json");
      const { securitySchemes } = body.components;
      assert.deepEqual([securitySchemes.apiKey.in, securitySchemes.apiKey.name], ["header", "X-API-Key"]);
      assert.match(securitySchemes.apiKey.description, /Preferred/);
      assert.match(securitySchemes.bearer.description, /X-API-Key is preferred/);
      assert.strictEqual(securitySchemes.bearer.scheme, "bearer");
    });

    it("[S7.01] a missing key answers 401 Invalid API key", async () => {
      const answer = await api.request("GET", "/api/v1/services");
      assertError(answer, 401, "invalid_api_key");
      assert.strictEqual(answer.body.error, "Invalid API key");
    });

    it("[S7.02] an unknown or malformed key answers 401 Invalid API key", async () => {
      const { apiKey } = await register();
      const wrong = [
        `svc_${"0".repeat(64)}`,
        `svc_live_${"0".repeat(64)}`,
        `svc_${"0".repeat(63)}`,
        apiKey.slice(4),
        apiKey.toUpperCase(),
        "undefined",
      ];
      for (const key of wrong) {
        const answer = await api.request("GET", "/api/v1/services", { key });
        assertError(answer, 401, "invalid_api_key");
        assert.strictEqual(answer.body.error, "Invalid API key");
      }
    });

    it("a key in the query, in another scheme or twice in one header line does not authenticate", async () => {
      const { apiKey } = await register();
      assert.strictEqual((await api.request("GET", `/api/v1/services?apiKey=${apiKey}`)).status, 401);
      const headers = { authorization: `Basic ${apiKey}` };
      assert.strictEqual((await api.request("GET", "/api/v1/services", { headers })).status, 401);
      const twice = { "x-api-key": `${apiKey}, ${apiKey}` };
      assert.strictEqual((await api.request("GET", "/api/v1/services", { headers: twice })).status, 401);
    });

    it("[S5.02] the same key may be sent twice, in one header or in both", async () => {
      const { apiKey } = await register();
      const [own, bearer] = [`X-API-Key: ${apiKey}`, `Authorization: Bearer ${apiKey}`];
      for (const lines of [`${own}\r\n${bearer}`, `${own}\r\n${own}`, `${bearer}\r\n${bearer}`]) {
        assert.strictEqual(await rawStatus(lines), 200, lines);
      }
      // Credentials of another scheme, for a proxy before the service, are no second key.
      assert.strictEqual(await rawStatus(`${own}\r\nAuthorization: Basic dXNlcjpwYXNz`), 200);
    });

    it("[S7.02] two different keys in one request answer 401, even if both are valid", async () => {
      const [{ apiKey: one }, { apiKey: two }] = [await register(), await register()];
      const headers = { "x-api-key": one, authorization: `Bearer ${two}` };
      const answer = await api.request("GET", "/api/v1/services", { headers });
      assertError(answer, 401, "invalid_api_key");
      assert.strictEqual(answer.body.error, "Invalid API key");
      for (const lines of [
        `X-API-Key: ${one}\r\nX-API-Key: ${two}`,
        `Authorization: Bearer ${one}\r\nAuthorization: Bearer ${two}`,
        `X-API-Key: ${one}\r\nAuthorization: Bearer svc_${"0".repeat(64)}`,
        `Authorization: Bearer ${one}\r\nX-API-Key: `,
      ]) {
        assert.strictEqual(await rawStatus(lines), 401, lines);
      }
    });

    it("discover takes a key and no key, but not a wrong one", async () => {
      const { apiKey } = await register();
      const discover = (key?: string) =>
        api.request("POST", "/api/v1/discover", { body: { query: "risk" }, ...(key === undefined ? {} : { key }) });
      assert.strictEqual((await discover()).status, 200);
      assert.strictEqual((await discover(apiKey)).status, 200);
      assertError(await discover(`svc_${"0".repeat(64)}`), 401, "invalid_api_key");
    });

    it("[S5.07] a key with whitespace in or around it is invalid", async () => {
      const { apiKey } = await register();
      const middle = `${apiKey.slice(0, 10)} ${apiKey.slice(10)}`;
      for (const header of [
        `X-API-Key: ${middle}`,
        `X-API-Key: \t ${apiKey}\u00a0`,
        `Authorization: Bearer  ${apiKey}`,
      ]) {
        assert.strictEqual(await rawStatus(header), 401, JSON.stringify(header));
      }
    });
  });

  /** Sends a header line as it is, which fetch would tidy up. */
  async function rawStatus(headerLine: string): Promise<number> {
    const { hostname, port } = new URL(api.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(
          `GET /api/v1/services HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${headerLine}\r\n\r\n`,
          "latin1",
        );
      });
      let text = "";
      socket.on("data", (chunk) => (text += chunk.toString("latin1")));
      socket.on("end", () => {
        resolve(Number(text.split(" ")[1]));
      });
      socket.on("error", reject);
    });
  }
});
