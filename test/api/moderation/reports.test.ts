// What agents report to the operator, and what becomes of it (decision 59).
import { randomBytes } from "node:crypto";

import { assert } from "chai";
import type { Connection } from "mongoose";

import { RATE_LIMITS } from "../../../api/config/constants.ts";
import type { RateClass } from "../../../api/config/constants.ts";
import { connectDatabase, createIndexes } from "../../../api/db/connection.ts";
import { moderationModels } from "../../../api/features/moderation/model.ts";
import type { ReportRecord } from "../../../api/features/moderation/model.ts";
import { placeOf } from "../../../api/features/moderation/queue.ts";
import { Reports } from "../../../api/features/moderation/reports.ts";
import type { ReportDeps } from "../../../api/features/moderation/reports.ts";
import { RequestOperation } from "../../../api/http/operation.ts";
import { createLogger } from "../../../api/lib/logger.ts";
import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { assertError, assertInvalid, readStack, startTestApi } from "../../fixtures/api.ts";
import type { Answer, RequestOptions, TestAgent, TestApi } from "../../fixtures/api.ts";
import { listService } from "../../fixtures/deals.ts";
import { AS_ADMIN } from "../../fixtures/environment.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { moderationCalls } from "../../fixtures/moderation.ts";
import { readsOf } from "../../fixtures/profile.ts";

const ENOUGH = Object.fromEntries(Object.keys(RATE_LIMITS).map((name) => [name, 10_000])) as Record<RateClass, number>;
const REPORTS = "/api/v1/reports";
const FOR_OPERATORS = "/api/v1/admin/moderation/reports";
const HOURLY = 10;
const KEPT_MS = 90 * 86_400_000;

/** A report as the API answers it to an operator. */
interface Filed {
  id: string;
  state: string;
  [field: string]: unknown;
}

describe("reports", () => {
  let api: TestApi;
  /** Another process on the same database. */
  let other: TestApi;
  let seller: TestAgent;
  let serviceId: string;

  before(async () => {
    const options = {
      oneProcess: "the test starts both of its processes",
      env: { adminApiKey: ADMIN_KEY, limits: limitsWith(ENOUGH) },
    };
    api = await startTestApi(options);
    other = await startTestApi({ ...options, databaseName: api.container.connection.name });
    seller = await api.registerAgent();
    serviceId = await listService(api, seller);
  });
  after(async () => {
    await other.stop();
    await api.close();
  });

  const { decided } = moderationCalls(() => api);
  const report = (agent: TestAgent, type: string, id: string, fields: object = {}, through = api) =>
    through.request("POST", REPORTS, {
      key: agent.apiKey,
      body: { subject: { type, id }, reason: "fraud", ...fields },
    });
  /** A report that is taken; returns it. */
  async function reported(agent: TestAgent, type: string, id: string, fields: object = {}): Promise<Filed> {
    const answer = await report(agent, type, id, fields);
    assert.strictEqual(answer.status, 201, answer.text);
    return answer.body.data as Filed;
  }
  async function list(query: string): Promise<{ data: Filed[]; nextCursor: string | null }> {
    const answer = await api.request("GET", `${FOR_OPERATORS}?${query}`, AS_ADMIN);
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body;
  }
  const close = (id: string, fields: object = {}, options: RequestOptions = AS_ADMIN, through = api) => {
    const body = { outcome: "dismissed", note: "It is as it says.", ...fields };
    return through.request("POST", `${FOR_OPERATORS}/${id}`, { ...options, body });
  };
  async function send(from: TestAgent, to: TestAgent, body: string): Promise<string> {
    const message = { toAgentId: to.agentId, contentType: "text/plain", body };
    const sent = await api.request("POST", "/api/v1/messages", { key: from.apiKey, body: message });
    assert.strictEqual(sent.status, 201, sent.text);
    return sent.body.data.id as string;
  }
  /** An operation of a request with an Idempotency-Key. */
  function operationOf(seed: string, isRepeat: boolean): RequestOperation {
    const operation = new RequestOperation();
    operation.resumeFrom({ startedAt: new Date(0), seed, isRepeat });
    return operation;
  }

  it("[D59] are taken of a listing, an agent and a received message, and shown to the operator", async () => {
    const reporter = await api.registerAgent();
    const long = `Pay me <b>elsewhere</b> ${"x".repeat(2_000)}`;
    const messageId = await send(seller, reporter, long);
    for (const [type, id] of [
      ["listing", serviceId],
      ["agent", seller.agentId],
      ["message", messageId],
    ] as const) {
      const text = `What is wrong with the ${type}: <script>.`;
      const filed = await reported(reporter, type, id, { text, reason: "harmful" });
      assert.deepInclude(filed, { subject: { type, id }, reason: "harmful", text, state: "open" });
      assert.hasAllKeys(filed, ["id", "subject", "reason", "text", "state", "at"]);
      const { data } = await list(`subjectId=${id}`);
      assert.deepEqual(data, [
        {
          ...filed,
          reporterId: reporter.agentId,
          agentId: seller.agentId,
          excerpt: type === "message" ? JSON.stringify(long).slice(0, 1_000) : null,
          note: null,
          closedAt: null,
        },
      ]);
    }
  });

  it("[D59] are one while it is open, whatever is sent again and however many at once, and another after that", async () => {
    const [reporter, another] = [await api.registerAgent(), await api.registerAgent()];
    const at = (n: number) => (n % 2 === 0 ? api : other);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => report(reporter, "listing", serviceId, {}, at(n))),
    );
    const again = await report(reporter, "listing", serviceId, { reason: "spam", text: "And it is spam." });
    for (const answer of [...answers, again]) {
      assert.strictEqual(answer.status, 201, answer.text);
      assert.deepEqual(answer.body, answers[0]?.body);
    }
    const { id } = again.body.data as Filed;
    assert.notStrictEqual((await reported(another, "listing", serviceId)).id, id);
    assert.strictEqual((await close(id)).status, 200);
    assert.notStrictEqual((await reported(reporter, "listing", serviceId)).id, id);
    const of = { reporterId: reporter.agentId };
    assert.strictEqual(await api.container.features.moderation.models.reports.countDocuments(of), 2);
  });

  it("[D59] overtaken by the same report in another process, are that one", async () => {
    const reporter = await api.registerAgent();
    const { clock, features } = api.container;
    const { reports } = features.moderation.models;
    let overtaking: Filed | undefined;
    /** Lets the other process file its report between the search for an open one and the insertion. */
    const findOne = (open: { reporterId: string; subjectId: string; state: "open" }) => ({
      async lean() {
        const found = await reports.findOne(open).lean();
        overtaking ??= (await report(reporter, "listing", serviceId, {}, other)).body.data as Filed;
        return found;
      },
    });
    const overtaken = new Reports({
      reports: new Proxy(reports, {
        get: (model, name, receiver): unknown => (name === "findOne" ? findOne : Reflect.get(model, name, receiver)),
      }),
      agents: features.agents.models.agents,
      listings: features.listings.models.listings,
      countCall: features.limits.countCall,
      findReceived: features.messages.findReceived,
      clock,
    });
    const request = { subject: { type: "listing" as const, id: serviceId }, reason: "fraud" as const };
    const { _id } = await overtaken.file(reporter.agentId, request, new RequestOperation());
    assert.strictEqual(_id, overtaking?.id);
    assert.strictEqual(await reports.countDocuments({ reporterId: reporter.agentId }), 1);
  });

  it("[D59] are ten an hour for an agent, and those of what doesn't exist count too", async () => {
    const [reporter, another] = [await api.registerAgent(), await api.registerAgent()];
    for (let call = 0; call < HOURLY; call += 1) {
      assertError(await report(reporter, "listing", `lst_${call}`), 404, "not_found");
    }
    const refused = await report(reporter, "listing", serviceId);
    assertError(refused, 429, "rate_limit_exceeded");
    assert.deepEqual(refused.body.details, { window: "reports", countedBy: "agent", limit: HOURLY });
    const seconds = Number(refused.headers.get("retry-after"));
    assert.ok(seconds > 0 && seconds <= 3_600, `Retry-After: ${seconds}`);
    assertError(await report(reporter, "listing", "lst_unknown"), 429, "rate_limit_exceeded");
    assert.strictEqual((await report(another, "listing", serviceId)).status, 201);
  });

  it("[D59] repeated as one operation, are the first one, even if that has been closed", async () => {
    const reporter = await api.registerAgent();
    const { reports } = api.container.services;
    const seed = `report of ${reporter.agentId}`;
    const request = { subject: { type: "agent" as const, id: seller.agentId }, reason: "spam" as const };
    const first = await reports.file(reporter.agentId, request, operationOf(seed, false));
    const closing = { outcome: "acted" as const, note: "Suspended." };
    const closed = await reports.close(first._id, closing, operationOf(`${seed}, closed`, false));
    const repeat = await reports.file(reporter.agentId, request, operationOf(seed, true));
    assert.strictEqual(repeat._id, first._id);
    assert.deepEqual(await reports.close(first._id, closing, operationOf(`${seed}, closed`, true)), closed);
  });

  describe("to the operator", () => {
    it("[D59] are listed open ones first, page by page, and by state and subject", async () => {
      const accused = await api.registerAgent();
      const filed: string[] = [];
      for (let n = 0; n < 4; n += 1) {
        filed.push((await reported(await api.registerAgent(), "agent", accused.agentId)).id);
      }
      const [first, second, third, fourth] = filed as [string, string, string, string];
      for (const id of [fourth, first]) assert.strictEqual((await close(id)).status, 200);
      const idsOf = async (query: string) => (await list(query)).data.map(({ id }) => id);
      const of = `subjectId=${accused.agentId}`;
      assert.deepEqual(await idsOf(of), [third, second, fourth, first]);
      assert.deepEqual(await idsOf(`${of}&state=open`), [third, second]);
      assert.deepEqual(await idsOf(`${of}&state=closed`), [fourth, first]);

      const paged: string[] = [];
      let cursor = "";
      for (;;) {
        const { data, nextCursor } = await list(`${of}&limit=1${cursor}`);
        paged.push(...data.map(({ id }) => id));
        if (nextCursor === null) break;
        cursor = `&cursor=${nextCursor}`;
        // A position among open reports is before all closed ones.
        if (paged.length === 1) assert.deepEqual(await idsOf(`${of}&state=closed${cursor}`), [fourth, first]);
        if (paged.length === 3) assert.deepEqual(await idsOf(`${of}&state=open${cursor}`), []);
      }
      assert.deepEqual(paged, [third, second, fourth, first]);

      const states = (await list("limit=100")).data.map(({ state }) => state);
      assert.deepEqual(states, [
        ...states.filter((state) => state === "open"),
        ...states.filter((state) => state !== "open"),
      ]);
      assert.include(states, "dismissed");
    });

    it("[D59] are closed once with a note, by one of several at once, and kept for 90 days from then", async () => {
      const reporter = await api.registerAgent();
      const { reports } = api.container.features.moderation.models;
      const { id } = await reported(reporter, "listing", serviceId);
      assert.notProperty(await reports.findById(id).lean(), "deleteAt", "an open report isn't deleted");
      const outcomes = ["dismissed", "acted", "dismissed", "acted"];
      const answers = await Promise.all(
        outcomes.map((outcome, n) => close(id, { outcome, note: `No. ${n}` }, AS_ADMIN, n % 2 === 0 ? api : other)),
      );
      const [made, ...more] = answers.filter(({ status }) => status === 200);
      assert.deepEqual(more, []);
      const closed = made?.body.data as Filed & { note: string; closedAt: string };
      const place = Number(closed.note.at(-1));
      assert.deepInclude(closed, { id, state: outcomes[place], note: `No. ${place}`, reporterId: reporter.agentId });
      for (const answer of [...answers.filter((one) => one !== made), await close(id, { outcome: closed.state })]) {
        assertError(answer, 409, "report_not_open");
        assert.deepEqual(answer.body.details, { state: closed.state });
      }
      const { deleteAt } = await reports.findById(id).lean().orFail();
      assert.strictEqual(deleteAt?.getTime(), Date.parse(closed.closedAt) + KEPT_MS);
      const expiring = (await reports.collection.indexes()).filter(
        ({ expireAfterSeconds }) => expireAfterSeconds !== undefined,
      );
      assert.deepEqual(
        expiring.map(({ key }) => key),
        [{ deleteAt: 1 }],
      );
    });
  });

  describe("refuse", () => {
    it("[D59] an agent's own listing, itself and its own message", async () => {
      const note = await send(seller, seller, "Remember the milk.");
      for (const [type, id] of [
        ["listing", serviceId],
        ["agent", seller.agentId],
        ["message", note],
      ] as const) {
        assertError(await report(seller, type, id), 409, "self_report");
      }
    });

    it("[D59] what the reporter can't read: messages of others and its own to others, hidden listings, the unknown", async () => {
      const [sender, recipient, stranger] = [
        await api.registerAgent(),
        await api.registerAgent(),
        await api.registerAgent(),
      ];
      const messageId = await send(sender, recipient, "Between us");
      const hiddenId = await listService(api, seller);
      await decided("hide", "listing", hiddenId);
      const tries: [TestAgent, string, string][] = [
        [stranger, "message", messageId],
        [sender, "message", messageId],
        [stranger, "listing", hiddenId],
        [stranger, "listing", "lst_unknown"],
        [stranger, "agent", "agt_unknown"],
        [stranger, "message", "msg_unknown"],
        [stranger, "listing", seller.agentId],
        [stranger, "agent", serviceId],
      ];
      for (const [agent, type, id] of tries) {
        assertError(await report(agent, type, id), 404, "not_found");
        const { data } = await list(`subjectId=${id}`);
        assert.notInclude(
          data.map(({ reporterId }) => reporterId),
          agent.agentId,
        );
      }
      assertError(await report(seller, "listing", hiddenId), 409, "self_report");
    });

    it("[D33] reasons and outcomes of other lists, texts that are too long or turn around, and more fields", async () => {
      const stranger = await api.registerAgent();
      const attempt = (fields: object) => report(stranger, "listing", serviceId, fields);
      assertInvalid(await attempt({ reason: "appeal" }), "body.reason");
      assertInvalid(await attempt({ text: "x".repeat(1_001) }), "body.text");
      assertInvalid(await attempt({ text: "\u202etxet" }), "body.text");
      assertInvalid(await attempt({ subject: { type: "deal", id: "txn_1" } }), "body.subject.type");
      assertInvalid(await attempt({ subject: { type: "agent", id: "x".repeat(65) } }), "body.subject.id");
      assertInvalid(await attempt({ subject: { type: "agent", id: "x", name: "x" } }), "body.subject.name");
      assertInvalid(await close("rpt_unknown", { outcome: "open" }), "body.outcome");
      assertInvalid(await close("rpt_unknown", { note: "x".repeat(1_001) }), "body.note");
      assertError(await close("rpt_unknown"), 404, "not_found");
    });

    it("[D59] callers without a key, operators as reporters, and agents as operators", async () => {
      const { id } = await reported(await api.registerAgent(), "listing", serviceId);
      const body = { subject: { type: "listing", id: serviceId }, reason: "spam" };
      const asReporter: Answer[] = [
        await api.request("POST", REPORTS, { body }),
        await api.request("POST", REPORTS, { ...AS_ADMIN, body }),
      ];
      const asOperator: Answer[] = [];
      for (const headers of [undefined, { authorization: `Bearer ${seller.apiKey}` }]) {
        const options = headers === undefined ? {} : { headers };
        asOperator.push(await api.request("GET", FOR_OPERATORS, options), await close(id, {}, options));
      }
      for (const answer of [...asReporter, ...asOperator]) assertError(answer, 401, "invalid_api_key");
      assert.strictEqual((await close(id)).status, 200, "nobody has closed it");
    });
  });
});

describe("reports in the database", () => {
  const [STORED, LIMIT] = [3_000, 5];
  let connection: Connection;

  before(async () => {
    const log = createLogger({ level: "silent", name: "test" });
    const { mongodbUri } = await readStack();
    connection = await connectDatabase(mongodbUri, log, `test_reports_${randomBytes(6).toString("hex")}`);
    const { reports } = moderationModels(connection);
    await createIndexes(connection);
    await reports.insertMany(
      Array.from({ length: STORED }, (_, n): ReportRecord => {
        const [_id, isOpen] = [`rpt_${String(n).padStart(32, "0")}`, n % 2 === 0];
        return {
          _id,
          reporterId: `agt_${n}`,
          subjectType: "agent",
          subjectId: `agt_${n % 3}`,
          agentId: `agt_${n % 3}`,
          reason: "spam",
          text: null,
          excerpt: null,
          state: isOpen ? "open" : "acted",
          place: placeOf(_id, isOpen),
          note: null,
          at: new Date(),
          closedAt: null,
        };
      }),
    );
  });
  after(async () => {
    await connection.dropDatabase();
    await connection.close();
  });

  it("[D59] are listed by an index, whatever is asked for: no more is read than is shown", async () => {
    const { reports: records } = moderationModels(connection);
    const reports = new Reports({ reports: records } as ReportDeps);
    for (const subjectId of [undefined, "agt_1"]) {
      for (const state of [undefined, "open", "closed"] as const) {
        for (const cursor of [undefined, { after: placeOf(`rpt_${"0".repeat(28)}1500`, true) }]) {
          let shown = 0;
          const reads = await readsOf(connection, records.collection.collectionName, async () => {
            shown = (await reports.list({ subjectId, state, cursor, limit: LIMIT })).records.length;
          });
          const what = JSON.stringify({ subjectId, state, cursor });
          assert.strictEqual(shown, LIMIT, what);
          for (const { documents, sorts } of reads) {
            assert.isAtMost(documents, LIMIT + 1, what);
            assert.isFalse(sorts, what);
          }
        }
      }
    }
  });
});
