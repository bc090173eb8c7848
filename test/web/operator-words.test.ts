// What an operator's page holds, and says about the parts of the service.
import { assert } from "chai";

import { decideAddress, operatorPlaceOf, rulingsAddress, viewAddress } from "../../web/src/data/operator-place.ts";
import type { NetworkReadiness, Readiness } from "../../web/src/operator/answers.ts";
import { HeldKey, IDLE_MS } from "../../web/src/operator/held-key.ts";
import { needsOf } from "../../web/src/operator/needs.ts";
import { keyWords, refusalWords, shareOf, spentWords, waitingWords } from "../../web/src/operator/words.ts";

const ETHER = "000000000000000000";

describe("the operator's key in a tab", () => {
  const held = () => {
    const clock = { at: 1_000 };
    const key = new HeldKey(() => clock.at);
    key.hold("secret");
    return { clock, key };
  };

  it("is there until 30 minutes after the page was last used", () => {
    const { clock, key } = held();
    clock.at += IDLE_MS - 1;
    assert.strictEqual(key.expire(), false);
    assert.strictEqual(key.read(), "secret");
    key.touch();
    clock.at += IDLE_MS - 1;
    assert.strictEqual(key.read(), "secret");
    clock.at += 1;
    assert.strictEqual(key.expire(), true);
    assert.strictEqual(key.read(), undefined);
    assert.strictEqual(key.expire(), false, "it says so once");
  });

  it("isn't held on by a use after its time, as when the machine slept", () => {
    const { clock, key } = held();
    clock.at += IDLE_MS;
    key.touch();
    assert.strictEqual(key.read(), undefined);
  });

  it("is forgotten when the clock was set back, and when it is asked to be", () => {
    const { clock, key } = held();
    clock.at -= 1;
    assert.strictEqual(key.read(), undefined);
    key.hold("other");
    key.forget();
    assert.strictEqual(key.read(), undefined);
    assert.strictEqual(key.expire(), false);
  });
});

describe("the address of the operator's page", () => {
  it("names the view, and the subject that a decision is about", () => {
    const nothing = { view: "overview", subject: null, action: "hide", network: "base-sepolia" };
    assert.deepEqual<object>(operatorPlaceOf(""), nothing);
    assert.deepEqual(operatorPlaceOf(new URL(`https://m.test${viewAddress("appeals")}`).search).view, "appeals");
    assert.strictEqual(viewAddress("overview"), "/operator");
    const address = decideAddress("agent", "agt_1", "restore");
    assert.strictEqual(address, "/operator?view=decisions&type=agent&id=agt_1&action=restore");
    assert.deepEqual(operatorPlaceOf(new URL(`https://m.test${address}`).search), {
      view: "decisions",
      subject: { type: "agent", id: "agt_1" },
      action: "restore",
      network: "base-sepolia",
    });
    const rulings = operatorPlaceOf(new URL(`https://m.test${rulingsAddress("base")}`).search);
    assert.deepEqual([rulings.view, rulings.network], ["rulings", "base"]);
  });

  it("says what can be done to its subject, whatever it asks for, and leaves out what isn't known", () => {
    const actionOf = (query: string) => operatorPlaceOf(query).action;
    assert.strictEqual(actionOf("?type=listing&id=lst_1&action=suspend"), "hide");
    assert.strictEqual(actionOf("?type=agent&id=agt_1&action=hide"), "suspend");
    assert.strictEqual(actionOf("?action=suspend"), "suspend");
    for (const query of ["?type=message&id=msg_1", "?type=listing&id=%3Cb%3E", "?type=listing", "?id=lst_1"]) {
      assert.strictEqual(operatorPlaceOf(query).subject, null, query);
    }
    assert.strictEqual(operatorPlaceOf("?view=secrets").view, "overview");
    assert.strictEqual(operatorPlaceOf("?view=rulings&network=mars").network, "base-sepolia");
  });
});

describe("what needs an operator now", () => {
  const calm: NetworkReadiness = {
    ok: true,
    rpc: { ok: true, headBlock: 9 },
    subgraph: { ok: true, indexedBlock: 9, blocksBehind: 0 },
    follower: { block: 9, lagSeconds: 0, quarantined: 0 },
    disputes: { overdue: 0, oldestSeconds: null, held: {} },
    keeper: {
      enabled: true,
      waiting: 0,
      oldestSeconds: null,
      held: {},
      spentTodayWei: "0",
      dailyCapWei: `1${ETHER}`,
    },
  };
  const readiness = (fields: Partial<Readiness> = {}, base: Partial<NetworkReadiness> = {}): Readiness => ({
    database: { ok: true },
    search: { ok: true, listings: 3 },
    encoder: { model: "small", server: null },
    networks: { "base-sepolia": calm, base: { ...calm, ...base } },
    outbox: { waiting: 0, oldestSeconds: null },
    ...fields,
  });
  const said = (state: Readiness) => needsOf(state).map(({ what, to }) => [what, to]);

  it("is nothing while every part works", () => {
    assert.deepEqual(said(readiness()), []);
    const unknown = { disputes: null, keeper: null, follower: { block: null, lagSeconds: null, quarantined: null } };
    assert.deepEqual(said(readiness({ encoder: null, outbox: null }, unknown)), []);
  });

  it("names each part that doesn't, and where to go", () => {
    const cases: [Readiness, what: string, to: string | null][] = [
      [readiness({ database: { ok: false, error: "TimeoutError" } }), "The database doesn't answer", null],
      [readiness({ search: { ok: false } }), "The search doesn't follow the listings", null],
      [
        readiness({ encoder: { model: "large", server: { answers: false, tokensToday: 1, dailyTokens: 2 } } }),
        "The server of embeddings doesn't answer",
        null,
      ],
      [
        readiness({ outbox: { waiting: 2, oldestSeconds: 90 } }),
        "Webhooks are late: 2 wait, the oldest for 1 min 30 s",
        null,
      ],
      [readiness({}, { rpc: { ok: false } }), "The node of Base doesn't answer", null],
      [readiness({}, { subgraph: { ok: false } }), "The subgraph of Base doesn't answer", null],
      [
        readiness({}, { follower: { block: 1, lagSeconds: 120, quarantined: 0 } }),
        "Events of Base are 2 min behind",
        null,
      ],
      [
        readiness({}, { follower: { block: 1, lagSeconds: 60, quarantined: 1 } }),
        "1 escrow is in quarantine on Base",
        "/operator?view=quarantine",
      ],
      [
        readiness({}, { disputes: { overdue: 2, oldestSeconds: 700, held: {} } }),
        "2 rulings are overdue on Base",
        "/operator?view=rulings&network=base",
      ],
      [
        readiness({}, { disputes: { overdue: 0, oldestSeconds: null, held: { no_ether: 3 } } }),
        "3 rulings are held on Base: no_ether",
        "/operator?view=rulings&network=base",
      ],
    ];
    for (const [state, what, to] of cases) assert.deepEqual(said(state), [[what, to]]);
  });

  it("has the keeper's moves that are held, and its cap from four fifths on", () => {
    const keeper = { ...calm.keeper, enabled: true, waiting: 1, oldestSeconds: 5, held: { spending_cap: 1 } };
    const spent = (spentTodayWei: string, isEnabled = true) =>
      said(readiness({}, { keeper: { ...keeper, enabled: isEnabled, spentTodayWei, dailyCapWei: `10${ETHER}` } }));
    const held = ["1 move of the keeper is held on Base: spending_cap", null];
    assert.deepEqual(spent(`7${ETHER}`), [held]);
    assert.deepEqual(spent(`8${ETHER}`), [held, ["The keeper has nearly spent its cap on Base", null]]);
    assert.deepEqual(spent(`8${ETHER}`, false), [held]);
  });
});

describe("what an operator reads", () => {
  const refused = (status: number, body: unknown, retryAfterSeconds?: number) =>
    refusalWords({ status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) });

  it("says what an answer means and what to do", () => {
    assert.match(refused(409, { code: "report_not_open" }), /^This report was closed meanwhile/);
    assert.match(refused(404, { code: "not_found" }), /Check the id\.$/);
    assert.match(refused(429, { code: "rate_limit_exceeded" }, 75), /try again in 1 min 15 s\.$/);
    assert.match(refused(0, undefined), /^The service doesn't answer, so nobody knows/);
    assert.match(refused(503, { code: "service_unavailable" }), /^The service doesn't answer/);
    const details = [
      { path: "body.text", message: "Must not be blank." },
      { path: "body.reason", message: "Unknown" },
    ];
    const words = refused(400, { code: "validation_error", error: "Invalid", details });
    assert.strictEqual(words, "The service doesn't take that: body.text: Must not be blank; body.reason: Unknown.");
    assert.strictEqual(refused(409, { code: "new", error: "So\u202e it is." }), "The service refuses: So it is.");
  });

  it("tells a wrong key from a service that has none, and from one that is down", () => {
    const said = (status: number) => keyWords({ status, body: {} });
    assert.match(said(401), /^That isn't the admin key/);
    assert.match(said(404), /^This service has no admin key any more/);
    assert.match(said(0), /can't be checked/);
    assert.match(said(502), /can't be checked/);
    assert.match(said(429), /more often/);
  });

  it("has amounts in ether, and who waits for how long", () => {
    const spending = { spentTodayWei: `25${ETHER.slice(1)}`, dailyCapWei: `5${ETHER}` };
    assert.strictEqual(spentWords(spending), "2.5 ETH of 5 ETH today");
    assert.strictEqual(shareOf(spending), 0.5);
    assert.strictEqual(shareOf({ spentTodayWei: "0", dailyCapWei: "0" }), 1);
    assert.strictEqual(waitingWords(0, null), "none wait");
    assert.strictEqual(waitingWords(1, 61), "1 waits, the oldest for 1 min 1 s");
  });
});
