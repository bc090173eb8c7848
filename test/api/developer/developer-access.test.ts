import { assert } from "chai";

import { logMailer } from "../../../api/features/developer/mailer.ts";
import { sha256Hex } from "../../../api/lib/ids.ts";
import { JobSystem } from "../../../api/jobs/job-system.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { assertError, assertInvalid, startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { startMailServer, tokenOf } from "../../fixtures/mail-server.ts";
import type { MailServer } from "../../fixtures/mail-server.ts";
import { until } from "../../fixtures/until.ts";

const ACCESS = "/api/developer/access";
const VERIFY = "/api/developer/verify";
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

describe("developer access", () => {
  let api: TestApi;
  let mails: MailServer;
  /** Added to the clock. */
  let laterMs = 0;
  let addresses = 0;
  let agent: TestAgent;

  before(async () => {
    mails = await startMailServer();
    api = await startTestApi({
      clock: { now: () => new Date(Date.now() + laterMs) },
      env: { mail: { smtpUrl: mails.url, from: "Market <no-reply@market.test>" } },
    });
  });
  beforeEach(async () => {
    mails.mode = "accept";
    mails.received.length = 0;
    laterMs = 0;
    agent = await api.registerAgent();
  });
  after(async () => {
    await api.close();
    await mails.close();
  });

  const newAddress = (): string => {
    addresses += 1;
    return `dev.${addresses}+market@example.test`;
  };
  const ask = (body: unknown): Promise<Answer> => api.request("POST", ACCESS, { body });
  const verify = (token: unknown, by = agent) => api.request("POST", VERIFY, { key: by.apiKey, body: { token } });
  /** One run of the job. */
  async function sendDue(): Promise<number> {
    const { sendDueMails } = api.container.features.developer;
    assert.ok(sendDueMails !== undefined);
    return sendDueMails(api.container.log, new AbortController().signal);
  }
  async function mailedToken(email = newAddress()): Promise<string> {
    assert.strictEqual((await ask({ email })).status, 202);
    await sendDue();
    return tokenOf(mails.received.at(-1));
  }
  const levelOf = async ({ agentId }: TestAgent): Promise<unknown> =>
    (await api.container.features.agents.models.agents.findById(agentId).lean())?.kyaLevel;
  const statusOf = async (email: string): Promise<unknown> =>
    (await api.container.features.developer.models.requests.findById(email).lean())?.status;

  describe("happy", () => {
    it("[S4.r20] [D31] answers without a key and mails a token to the address", async () => {
      const email = newAddress();
      const answer = await ask({ email, name: "Ada", useCase: "An agent\nthat reconciles invoices" });
      assert.strictEqual(answer.status, 202);
      assert.strictEqual(await sendDue(), 1);
      const [mail] = mails.received;
      assert.deepEqual([mail?.from, mail?.to], ["no-reply@market.test", [email]]);
      assert.match(mail?.raw ?? "", /^From: Market <no-reply@market\.test>\r$/m);
      assert.match(tokenOf(mail), /^[0-9a-f]{64}$/);
      assert.deepEqual([await statusOf(email), await sendDue(), mails.received.length], ["sent", 0, 1]);
    });

    it("[D43] a repeat with the same Idempotency-Key is the same request, also when its address may get another mail", async () => {
      const body = { email: newAddress() };
      const request = () => api.request("POST", ACCESS, { body, headers: { "Idempotency-Key": "one mail" } });
      const first = await request();
      assert.strictEqual(first.status, 202, first.text);
      assert.strictEqual(await sendDue(), 1);
      laterMs += 11 * MINUTE_MS;
      const repeat = await request();
      assert.deepEqual([repeat.text, repeat.headers.get("idempotency-replayed")], [first.text, "true"]);
      assert.strictEqual(await sendDue(), 0);
      await ask(body);
      assert.strictEqual(await sendDue(), 1);
    });

    it("[S2.8.01] [D31] [D32] the token gives the agent level 1, Basic, and works once", async () => {
      const email = newAddress();
      const token = await mailedToken(email);
      const answer = await verify(token);
      assert.deepEqual(answer.body.data, {
        agentId: agent.agentId,
        kya: { level: 1, name: "Basic", maxJobValueUsd: 1_000 },
      });
      assert.strictEqual(await levelOf(agent), 1);
      const changes = await api.container.features.kya.models.changes.find({ agentId: agent.agentId }).lean();
      assert.deepEqual(
        changes.map(({ from, to, cause, reason }) => ({ from, to, cause, reason })),
        [{ from: 0, to: 1, cause: "email", reason: email }],
      );
      assertError(await verify(token), 400, "verification_token_invalid");
    });

    it("never lowers a level", async () => {
      await api.container.features.agents.models.agents.updateOne({ _id: agent.agentId }, { kyaLevel: 2 });
      assert.strictEqual((await verify(await mailedToken())).body.data.kya.level, 2);
    });

    it("[D31] on a local stack, which has no mail server, the mail is written to the log", async () => {
      const lines: string[] = [];
      const destination = { write: (line: string) => void lines.push(line) };
      const mail = { to: newAddress(), subject: "Your token", text: "0123456789abcdef" };
      await logMailer(createLogger({ level: "info", name: "worker", destination }))(mail);
      assert.deepEqual(JSON.parse(lines.join("")).mail, mail);
    });

    it("a worker's job system sends the mail", async () => {
      const { connection, log, features } = api.container;
      const worker = new JobSystem({ connection, log });
      const stopping = new AbortController();
      await worker.start(features.developer.jobs, stopping.signal);
      try {
        await ask({ email: newAddress() });
        await until("the mail has arrived", () => Promise.resolve(mails.received.length === 1));
      } finally {
        stopping.abort();
        await worker.stop();
      }
    });
  });

  describe("errors", () => {
    it("a dead mail server loses no mail: it is tried again after a pause that doubles", async () => {
      const email = newAddress();
      mails.mode = "refuse";
      await ask({ email });
      assert.strictEqual(await sendDue(), 1);
      assert.deepEqual([await statusOf(email), await sendDue()], ["pending", 0]);
      laterMs += MINUTE_MS;
      assert.strictEqual(await sendDue(), 1);
      laterMs += MINUTE_MS;
      assert.strictEqual(await sendDue(), 0, "the second pause is two minutes");
      laterMs += MINUTE_MS;
      mails.mode = "accept";
      assert.deepEqual([await sendDue(), await statusOf(email), mails.received.length], [1, "sent", 1]);
      assert.strictEqual((await verify(tokenOf(mails.received[0]))).status, 200);
    });

    it("gives up after six tries, and a later request starts again", async () => {
      const email = newAddress();
      mails.mode = "refuse";
      await ask({ email });
      for (let tries = 0; tries < 6; tries += 1) {
        assert.strictEqual(await sendDue(), 1, `try ${tries + 1}`);
        laterMs += DAY_MS;
      }
      assert.deepEqual([await statusOf(email), await sendDue()], ["failed", 0]);
      mails.mode = "accept";
      await ask({ email });
      assert.deepEqual([await sendDue(), await statusOf(email)], [1, "sent"]);
    });

    it("a connection that breaks after the mail is an unknown outcome: the mail is sent again, and both tokens work", async () => {
      const email = newAddress();
      mails.mode = "drop";
      await ask({ email });
      await sendDue();
      assert.strictEqual(await statusOf(email), "pending");
      mails.mode = "accept";
      laterMs += MINUTE_MS;
      await sendDue();
      const tokens = mails.received.map(tokenOf);
      assert.strictEqual(new Set(tokens).size, 2);
      for (const token of tokens) assert.strictEqual((await verify(token)).status, 200);
    });

    it("a token is invalid after a day", async () => {
      const [early, late] = [await mailedToken(), await mailedToken()];
      laterMs += DAY_MS - MINUTE_MS;
      assert.strictEqual((await verify(early)).status, 200);
      laterMs += 2 * MINUTE_MS;
      assertError(await verify(late), 400, "verification_token_invalid");
    });

    it("a token stays valid when its address asks again, until the mail after its end removes it", async () => {
      const email = newAddress();
      const hashes = async () =>
        (await api.container.features.developer.models.requests.findById(email).lean())?.tokens.map(({ hash }) => hash);
      const first = await mailedToken(email);
      laterMs += 11 * MINUTE_MS;
      const second = await mailedToken(email);
      assert.deepEqual(await hashes(), [first, second].map(sha256Hex));
      assert.strictEqual((await verify(first)).status, 200);
      assert.deepEqual(await hashes(), [sha256Hex(second)]);
      laterMs += DAY_MS;
      const third = await mailedToken(email);
      assert.deepEqual(await hashes(), [sha256Hex(third)]);
    });

    it("without a mail server in production both routes are 503 mail_unavailable", async () => {
      const silent = await startTestApi({ env: { mail: "none" } });
      try {
        const { apiKey } = await silent.registerAgent();
        const request = await silent.request("POST", ACCESS, { body: { email: newAddress() } });
        assertError(request, 503, "mail_unavailable");
        const body = { token: "0".repeat(64) };
        assertError(await silent.request("POST", VERIFY, { key: apiKey, body }), 503, "mail_unavailable");
      } finally {
        await silent.close();
      }
    });
  });

  describe("security", () => {
    it("answers a known, an unknown and a repeated address the same, and mails an address once in ten minutes", async () => {
      const known = newAddress();
      await verify(await mailedToken(known));
      mails.received.length = 0;
      const answers = [await ask({ email: newAddress() }), await ask({ email: known }), await ask({ email: known })];
      assert.deepEqual(
        answers.map(({ status, text }) => ({ status, text })),
        answers.map(() => ({ status: 202, text: answers[0]?.text ?? "" })),
      );
      await sendDue();
      assert.strictEqual(mails.received.length, 1);
      laterMs += 10 * MINUTE_MS;
      await ask({ email: known.toUpperCase() });
      await sendDue();
      assert.deepEqual(mails.received.at(-1)?.to, [known]);
    });

    it("many requests for one address at once cause one mail", async () => {
      const email = newAddress();
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask({ email })));
      assert.ok(answers.every(({ status }) => status === 202));
      await Promise.all([sendDue(), sendDue()]);
      assert.strictEqual(mails.received.length, 1);
    });

    it("refuses what could inject a header or a second recipient, and sends nothing", async () => {
      const injections = [
        "a@example.test\r\nBcc: b@example.test",
        "a@example.test\nSubject: spam",
        "a@example.test%0d%0aBcc:b@example.test\r",
        "a@example.test,b@example.test",
        "a@example.test;b@example.test",
        "Ada <a@example.test>",
        '"a b"@example.test',
        "a@example.test (comment)",
        "a@[127.0.0.1]",
        "a@localhost",
        "@example.test",
        "a@@example.test",
        "a@exämple.test",
        " a@example.test",
        `${"a".repeat(250)}@example.test`,
        "",
      ];
      for (const email of injections) assertInvalid(await ask({ email }), "body.email");
      for (const name of ["Ada\r\nBcc: b@example.test", "Ada\nX", "\u0000", " "]) {
        assertInvalid(await ask({ email: newAddress(), name }), "body.name");
      }
      assertInvalid(await ask({ name: "Ada", token: "x" }), "body.email", "body.token");
      assert.strictEqual(await sendDue(), 0);
    });

    it("the mail contains nothing of the request but the address", async () => {
      await ask({ email: newAddress(), name: "Buy cheap pills", useCase: "https://spam.example" });
      await sendDue();
      assert.notMatch(mails.received[0]?.raw ?? "", /pills|spam/);
    });

    it("stores no token, only its hash", async () => {
      const token = await mailedToken();
      for (const name of ["access_requests", "jobs"]) {
        const stored = await api.container.connection.collection(name).find().toArray();
        assert.ok(!JSON.stringify(stored).includes(token), name);
      }
    });

    it("a token works for one of many who send it at once", async () => {
      const token = await mailedToken();
      const answers = await Promise.all(Array.from({ length: 4 }, () => verify(token)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    });

    it("[S7.24] [S8.2.02] takes 10 requests a minute from a client and answers the next with Too Many Attempts", async () => {
      const { limits: generous } = api.container.env;
      const limits = { ...generous, rateLimits: { ...generous.rateLimits, developerAccess: 10 } };
      const limited = await startTestApi({ env: { limits } });
      try {
        const send = () => limited.request("POST", ACCESS, { body: { email: newAddress() } });
        for (let call = 0; call < 10; call += 1) assert.strictEqual((await send()).status, 202);
        const refused = await send();
        assertError(refused, 429, "too_many_attempts");
        assert.strictEqual(refused.body.error, "Too Many Attempts");
        assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
      } finally {
        await limited.close();
      }
    });

    it("verifying needs a key and a well-formed token", async () => {
      assertError(await api.request("POST", VERIFY, { body: { token: "0".repeat(64) } }), 401, "invalid_api_key");
      assertError(await verify("0".repeat(64)), 400, "verification_token_invalid");
      for (const token of [7, null, "", "0".repeat(63), { $ne: "" }]) assertInvalid(await verify(token), "body.token");
    });
  });
});
