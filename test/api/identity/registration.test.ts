import { assert } from "chai";
import { generatePrivateKey, privateKeyToAccount, publicKeyToAddress } from "viem/accounts";

import { checkSignInMessage } from "../../../api/features/identity/sign-in-message.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { KEY_STATEMENT, registrationBody, signInMessage } from "../../fixtures/sign-in.ts";
import type { SignInFields } from "../../fixtures/sign-in.ts";

const REGISTER = "/api/v1/auth/register";

/** The API's clock stands still, so that the age of a message is exact. */
const NOW = new Date();

describe("registration", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ clock: { now: () => NOW } });
  });
  after(() => api.close());

  const register = () => api.registerAgent({ message: { issuedAt: NOW } });
  const bodyWith = (message: SignInFields = {}) => registrationBody({ message: { issuedAt: NOW, ...message } });

  describe("happy", () => {
    it("[S4.r18] [S2.5.01] [S1.16] answers agentId, apiKey, walletAddress and publicKey without a key", async () => {
      const { account, body } = await bodyWith();
      const answer = await api.request("POST", REGISTER, { body });
      assert.strictEqual(answer.status, 201);
      assert.deepEqual(Object.keys(answer.body).sort(), ["agentId", "apiKey", "publicKey", "success", "walletAddress"]);
      assert.strictEqual(answer.body.success, true);
      assert.strictEqual(answer.body.walletAddress, account.address);
      assert.strictEqual(typeof answer.body.agentId, "string");
    });

    it("[S2.5.02] [S2.5.03] recovers the wallet's uncompressed public key from the signature", async () => {
      const { account, body } = await bodyWith();
      const { publicKey } = (await api.request("POST", REGISTER, { body })).body;
      assert.match(publicKey, /^0x04[0-9a-f]{128}$/);
      assert.strictEqual(publicKey, account.publicKey);
      assert.strictEqual(publicKeyToAddress(publicKey), account.address);
    });

    it("[S5.01] gives a key of svc_ and 64 hexadecimal characters", async () => {
      const { apiKey } = await register();
      assert.match(apiKey, /^svc_[0-9a-f]{64}$/);
    });

    it("[D21] stores only a hash of the key", async () => {
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

    it("[D21] accepts the mainnet's chain id and a message that is almost ten minutes old", async () => {
      const issuedAt = new Date(NOW.getTime() - 599_000);
      const { body } = await bodyWith({ issuedAt, chainId: 8_453 });
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
      const { body } = await bodyWith();
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
        const { body } = await bodyWith(fields);
        const answer = await api.request("POST", REGISTER, { body });
        assertError(answer, 400, "sign_in_message_invalid");
        assert.ok(
          (answer.body.details as string[]).some((text) => fault.test(text)),
          answer.text,
        );
      });
    }

    it("[D21] refuses a message that is older than ten minutes, from the future, expired or not valid yet", async () => {
      const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000);
      const fields: SignInFields[] = [
        { issuedAt: at(-601) },
        { issuedAt: at(120) },
        { issuedAt: at(-10), expirationTime: at(-1) },
        { issuedAt: at(-10), notBefore: at(90) },
      ];
      for (const times of fields) {
        const { body } = await bodyWith(times);
        assertError(await api.request("POST", REGISTER, { body }), 400, "sign_in_message_invalid");
      }
    });

    it("refuses a text that isn't an EIP-4361 message or can be read in two ways", async () => {
      const { account, body } = await bodyWith();
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

    it("a service on loopback accepts all loopback names as its domain, any other service only its own", () => {
      const { address } = privateKeyToAccount(generatePrivateKey());
      const verdict = (publicUrl: string, host: string, protocol = "http") => {
        const text = signInMessage(address, { domain: host, uri: `${protocol}://${host}`, issuedAt: NOW });
        return "message" in checkSignInMessage(text, { purpose: "register", publicUrl, now: NOW });
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
      const message = signInMessage(agent.walletAddress, { issuedAt: NOW });
      const signature = await agent.account.signMessage({ message });
      const walletAddress = agent.walletAddress.toLowerCase();
      const body = { agentName: "Again", walletAddress, message, signature };
      const answer = await api.request("POST", REGISTER, { body });
      assertError(answer, 409, "wallet_already_registered");
      assert.match(answer.body.details.hint, /POST \/api\/v1\/auth\/keys/);
      assert.strictEqual((await api.request("GET", "/api/v1/services", { key: agent.apiKey })).status, 200);
    });

    it("[D21] exactly one of several simultaneous registrations of a wallet succeeds", async () => {
      const account = privateKeyToAccount(generatePrivateKey());
      const attempts = Array.from({ length: 5 }, async () => {
        const message = signInMessage(account.address, { issuedAt: NOW });
        const signature = await account.signMessage({ message });
        return api.request("POST", REGISTER, {
          body: { agentName: "Racer", walletAddress: account.address, message, signature },
        });
      });
      const answers = await Promise.all(attempts);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409, 409]);
      for (const answer of answers.filter(({ status }) => status === 409)) {
        assertError(answer, 409, "wallet_already_registered");
        assert.match(answer.body.details.hint, /POST \/api\/v1\/auth\/keys/);
      }
    });
  });

  describe("security", () => {
    it("[S4.r18.1] [D21] refuses a signature by another wallet", async () => {
      const { body } = await bodyWith();
      const stranger = privateKeyToAccount(generatePrivateKey());
      const signature = await stranger.signMessage({ message: body.message });
      assertError(await api.request("POST", REGISTER, { body: { ...body, signature } }), 400, "signature_invalid");
    });

    it("refuses to register a wallet other than the one that signs", async () => {
      const { body } = await bodyWith();
      const walletAddress = privateKeyToAccount(generatePrivateKey()).address;
      const answer = await api.request("POST", REGISTER, { body: { ...body, walletAddress } });
      assertError(answer, 400, "sign_in_message_invalid");
    });

    it("refuses malformed signatures", async () => {
      const { body } = await bodyWith();
      for (const signature of [`0x${"00".repeat(65)}`, `0x${"ff".repeat(65)}`]) {
        assertError(await api.request("POST", REGISTER, { body: { ...body, signature } }), 400, "signature_invalid");
      }
    });
  });
});
