// What needs an agent's owner, in words, and its money, from the records that the API lists.
import { assert } from "chai";

import type { Approval, Dispute, Transaction } from "../../sdk/src/generated/api-types.ts";
import { moneyOf, needsOf } from "../../web/src/owner/needs.ts";
import { refusalWords, walletWords } from "../../web/src/owner/sign-in-words.ts";
import { signInText, STATEMENTS } from "../../web/src/owner/sign-in-text.ts";
import { readAnnouncement } from "../../web/src/owner/announcement.ts";
import { barWidth } from "../../web/src/words/amounts.ts";

const BUYER = "0xAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaa";
const SELLER = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const START = Date.parse("2026-03-01T12:00:00.000Z");
const HOUR = 3_600;
const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString();

/** A deal whose seller has an hour to deliver, two to decline, and whose buyer has one to review. */
const deal = (fields: Partial<Transaction>): Transaction =>
  ({
    transactionId: "txn_1",
    serviceId: "lst_1",
    serviceTitle: "Report",
    buyerAddress: BUYER,
    sellerAddress: SELLER,
    network: "base",
    escrowId: "0x01",
    currency: "USDC",
    amount: "2500000",
    lockedAmount: "2450000",
    deadline: START / 1_000 + HOUR,
    deadlineAt: at(HOUR),
    abandonmentGrace: 2 * HOUR,
    disputeWindow: HOUR,
    quoteExpiresAt: at(900),
    responsePayload: null,
    deliveredAt: null,
    timeline: [],
    disputeId: null,
    buyerAmount: null,
    sellerAmount: null,
    ...fields,
  }) as unknown as Transaction;
const delivered = {
  status: "delivered",
  timeline: [{ event: "DeliverySubmitted", at: at(0) }],
} as Partial<Transaction>;
const disputed = { status: "disputed", disputeId: "dsp_1" } as Partial<Transaction>;
const dispute = (fields: Partial<Dispute>): Dispute =>
  ({
    disputeId: "dsp_1",
    status: "open",
    reason: "wrong",
    complete: { buyer: false, seller: false },
    evidenceDeadline: at(60),
    ...fields,
  }) as unknown as Dispute;

/** What one party is told about a deal some seconds after its start. */
const told = (fields: Partial<Transaction>, wallet: string, seconds: number, disputes: Dispute[] = []) =>
  needsOf({ deals: [deal(fields)], approvals: [], disputes }, wallet.toLowerCase(), START + seconds * 1_000).map(
    ({ todo, until }) => [todo, until],
  );

describe("what needs an agent's owner", () => {
  it("follows a deal through its states, to the second", () => {
    const cases: [Partial<Transaction>, buyer: [number, unknown[]][], seller: [number, unknown[]][]][] = [
      [
        { status: "pending_funding" },
        [
          [900, ["Pay the deposit", at(900)]],
          [901, []],
        ],
        [[0, []]],
      ],
      [
        { status: "funded" },
        [
          [3 * HOUR, []],
          [3 * HOUR + 1, ["Take the deposit back", null]],
        ],
        [
          [HOUR, ["Deliver", at(HOUR)]],
          [HOUR + 1, ["Decline", at(3 * HOUR)]],
          [3 * HOUR + 1, []],
        ],
      ],
      [
        { status: "funded", responsePayload: { done: true } },
        [[0, []]],
        [[0, ["Put the delivery on chain", at(HOUR)]]],
      ],
      [
        delivered,
        [
          [HOUR, ["Review: accept or dispute", at(HOUR)]],
          [HOUR + 1, []],
        ],
        [
          [HOUR, []],
          [HOUR + 1, ["Collect the payment", null]],
        ],
      ],
      [disputed, [[0, ["Look at the dispute", null]]], [[0, ["Look at the dispute", null]]]],
      [{ status: "released" }, [[0, []]], [[0, []]]],
    ];
    for (const [fields, buyer, seller] of cases) {
      for (const [wallet, moments] of [[BUYER, buyer] as const, [SELLER, seller] as const]) {
        for (const [seconds, expected] of moments) {
          const title = `${fields.status}, ${wallet}, ${seconds} s`;
          assert.deepEqual(told(fields, wallet, seconds), expected.length === 0 ? [] : [expected as string[]], title);
        }
      }
    }
  });

  it("asks for evidence while it is taken and the party isn't done", () => {
    assert.deepEqual(told(disputed, SELLER, 0, [dispute({})]), [["Answer the dispute", at(60)]]);
    assert.deepEqual(told(disputed, BUYER, 0, [dispute({ reason: null })]), [["Say what is wrong", at(60)]]);
    for (const fields of [{ complete: { buyer: true, seller: true } }, { status: "ruling" }] as Partial<Dispute>[]) {
      assert.deepEqual(told(disputed, SELLER, 0, [dispute(fields)]), []);
    }
    assert.deepEqual(told(disputed, SELLER, 61, [dispute({})]), []);
  });

  it("has purchases to approve, and what ends first stands first", () => {
    const approval = {
      id: "apr_1",
      status: "open",
      serviceTitle: "Token risk report",
      askedUsd: "12.5",
      expiresAt: at(30),
      request: { serviceId: "lst_2" },
    };
    const approvals = [approval, { ...approval, id: "apr_2", status: "granted" }] as unknown as Approval[];
    const deals = [deal({ ...delivered, transactionId: "txn_2" }), deal({ status: "pending_funding" })];
    const needs = needsOf({ deals, approvals, disputes: [] }, BUYER, START);
    assert.deepEqual(
      needs.map(({ todo, page, command }) => [todo, page, command]),
      [
        ["Approve a purchase of $12.50", "/me/keys", "agent-marketplace approvals"],
        ["Pay the deposit", "/me/deals/txn_1", "agent-marketplace deal txn_1"],
        ["Review: accept or dispute", "/me/deals/txn_2", "agent-marketplace review txn_2"],
      ],
    );
  });
});

describe("an agent's money in deals", () => {
  it("is summed by token: in escrow on both sides, earned, and spent without what came back", () => {
    const deals = [
      deal({ status: "funded" }),
      deal({ status: "funded", buyerAddress: SELLER, sellerAddress: BUYER, lockedAmount: "7" }),
      deal({ status: "released", sellerAmount: "2450000", buyerAmount: "0" }),
      deal({ status: "resolved", sellerAmount: "450000", buyerAmount: "2000000" }),
      deal({ status: "abandoned", sellerAmount: "0", buyerAmount: "2450000" }),
      deal({ status: "expired" }),
      deal({ status: "released", currency: "WETH", buyerAddress: SELLER, sellerAddress: BUYER, sellerAmount: "5" }),
    ];
    assert.deepEqual(moneyOf(deals, BUYER), [
      { symbol: "USDC", deposited: 2_450_000n, expected: 7n, earned: 0n, spent: 3_050_000n },
      { symbol: "WETH", deposited: 0n, expected: 0n, earned: 5n, spent: 0n },
    ]);
  });

  it("has bars that show the first call, and are full only when nothing is left", () => {
    assert.deepEqual([0, 0.0001, 0.5, 0.999, 1, 1.2].map(barWidth), [0, 1, 50, 99, 100, 100]);
  });
});

describe("the sign-in in words", () => {
  it("says what to do about each refusal", () => {
    const refused = (status: number, body: unknown, retryAfterSeconds?: number) =>
      refusalWords(
        { status, body, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
        "https://m.test",
      );
    assert.match(refused(403, { code: "session_other_origin" }), /Open https:\/\/m\.test\/me\.$/);
    assert.match(refused(409, { code: "session_limit_reached" }), /ten sessions/);
    assert.match(refused(403, { code: "wallet_not_of_stack" }), /made for this local stack.*Make a wallet below\.$/);
    assert.match(refused(429, {}, 90), /in 1 min 30 s\.$/);
    assert.match(
      refused(400, { code: "sign_in_message_invalid", details: ["too old (line 10)"] }),
      /: too old \(line 10\)\./,
    );
    assert.match(
      refused(400, { code: "validation_error", details: [{ message: "Too\u202e short" }] }),
      /: Too short\.$/,
    );
    assert.match(refused(418, { error: "A teapot." }), /^The service refused: A teapot\.$/);
    for (const status of [0, 503]) assert.match(refused(status, undefined), /doesn't answer/);
    assert.match(walletWords("failed", "W", "no\u202e luck"), /^W says: no luck$/);
  });

  it("is a text that names its place, its purpose and its time", () => {
    const text = signInText({
      statement: STATEMENTS.read,
      account: SELLER,
      host: "m.test",
      origin: "https://m.test",
      nonce: "a1b2c3d4",
      issuedAt: new Date(START),
    });
    assert.strictEqual(
      text,
      `m.test wants you to sign in with your Ethereum account:\n${SELLER}\n\nOpen a read-only page session for this agent.\n\n` +
        "URI: https://m.test\nVersion: 1\nChain ID: 84532\nNonce: a1b2c3d4\nIssued At: 2026-03-01T12:00:00.000Z",
    );
  });

  it("takes announcements of wallets alone, and no icon from elsewhere", () => {
    const provider = { request: () => Promise.resolve() };
    const info = { uuid: "1", name: "Wal\u202elet", icon: "https://elsewhere.test/i.png" };
    assert.deepEqual(readAnnouncement({ info, provider }), { id: "1", name: "Wallet", icon: undefined, provider });
    for (const detail of [undefined, {}, { info }, { info: { ...info, name: 7 }, provider }]) {
      assert.isUndefined(readAnnouncement(detail));
    }
  });
});
