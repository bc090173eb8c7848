import { assert } from "chai";

import { ADMIN_KEY } from "../../../scripts/testing/admin-key.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { Answer, TestAgent, TestApi } from "../../fixtures/api.ts";
import { boundsOfRequests, nameOf } from "../../fixtures/bounds.ts";
import type { Bound } from "../../fixtures/bounds.ts";
import { placeOf, requestWith } from "../../fixtures/request-fields.ts";

const OPAQUE = "a cursor is opaque, and so none can be made at the bound";
const LATE = "the header is read once the rest of the request is valid; routes without a body show its bounds";
const EMPTY = "without the segment it is another path";

/** The bounds that aren't walked, and why. */
const LEFT_OUT: readonly [RegExp, string][] = [
  [/ query\.cursor /, OPAQUE],
  [/^GET \/api\/v1\/events(\/stream)? query\.after /, "only the caller's own events are accepted"],
  [/ path\.\w+ minLength$/, EMPTY],
  [
    /^(POST|PATCH) .*(register|auth\/keys|payment-method|kya|developer\/\w+|services|services\/\{id\}|discover|checkout|fund|deliver|disputes|evidence|settlement|ruling|memory|memory\/\w+|webhooks|webhooks\/\{webhookId\}|redeliver|redeliver-missed|ping|messages|messages\/\{id\}|subscribe|webhook|fractal|approvals\/\{id\}|agents\/erc8004|reports|appeals|admin\/moderation|reports\/\{id\}|appeals\/\{decisionId\}|quarantine\/\{id\}) header\./,
    LATE,
  ],
  [/^DELETE \/api\/v1\/auth\/keys header\./, "each call ends its key; the header is read like everywhere else"],
];

/** Fields without which a value is refused, whatever the bound. */
const COMPANIONS: Readonly<Record<string, string>> = {
  "query.sort=relevance": "&q=x",
  "query.explain=true": "&q=x",
  "query.explain=false": "&q=x",
};

/** Messages that say what is allowed without repeating it. */
const NAMES_THE_BOUND = /must not be blank|taxonomy/i;

const bounds = boundsOfRequests();
const isLeftOut = (bound: Bound) => LEFT_OUT.some(([pattern]) => pattern.test(nameOf(bound)));
const routes = [...new Set(bounds.map(({ route }) => route))];

describe("the bounds of /openapi.json", () => {
  let api: TestApi;
  let caller: TestAgent;
  before(async () => {
    api = await startTestApi({ search: true, env: { adminApiKey: ADMIN_KEY } });
    caller = await api.registerAgent();
  });
  after(() => api.close());

  function send(bound: Bound, value: unknown): Promise<Answer> {
    const companion = COMPANIONS[`${placeOf(bound)}=${String(value)}`];
    const { method, path, options } = requestWith(bound, value, caller, companion);
    return api.request(method, path, options);
  }

  /** What the answer says about the field and what is inside of it. */
  function issuesAbout(bound: Bound, { status, body }: Answer): string[] {
    if (status !== 400 || body.code !== "validation_error") return [];
    const place = placeOf(bound);
    return (body.details as { path: string; message: string }[])
      .filter(({ path }) => path === place)
      .map(({ message }) => message);
  }

  it("names every bound that isn't walked, and no other", () => {
    for (const [pattern, reason] of LEFT_OUT) {
      assert.ok(
        bounds.some((bound) => pattern.test(nameOf(bound))),
        `${pattern} (${reason}) leaves nothing out`,
      );
    }
    assert.isAbove(bounds.filter((bound) => !isLeftOut(bound)).length, 150);
  });

  for (const route of routes) {
    const walked = bounds.filter((bound) => bound.route === route && !isLeftOut(bound));
    if (walked.length === 0) continue;
    it(`[D33] ${route} takes what is at each bound, and names field and bound for what is beyond`, async () => {
      for (const bound of walked) {
        for (const value of bound.allowed) {
          const answer = await send(bound, value);
          assert.isBelow(answer.status, 500, answer.text);
          assert.deepEqual(issuesAbout(bound, answer), [], `${nameOf(bound)} at ${String(value).slice(0, 80)}`);
        }
        for (const value of bound.refused) {
          const answer = await send(bound, value);
          const issues = issuesAbout(bound, answer);
          const what = `${nameOf(bound)} beyond ${String(value).slice(0, 80)}: ${answer.status} ${answer.text}`;
          assert.isAbove(issues.length, 0, what);
          assert.ok(
            issues.some((message) => message.includes(bound.limit) || NAMES_THE_BOUND.test(message)),
            what,
          );
        }
      }
    });
  }
});
