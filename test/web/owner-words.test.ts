// What an owner reads about deals and moves, and what the page encodes.
import { assert } from "chai";
import { decodeFunctionData, encodeErrorResult, encodeFunctionResult, getAddress, keccak256, toHex } from "viem";

import { escrowAbi } from "../../api/chain/abis.ts";
import {
  criteriaHashOf,
  decodeCredit,
  decodeEscrow,
  encodeCreditRead,
  encodeEscrowRead,
  encodeMove,
  encodeWithdraw,
  revertNameOf,
} from "../../sdk/src/calls.ts";
import type { TransactionWithActions } from "../../sdk/src/generated/api-types.ts";
import { dealsAddress, ownerPlaceOf, readFilters } from "../../web/src/data/owner-place.ts";
import { commandsFor, isMove, MOVES, nextStep, stateWords } from "../../web/src/owner/deal-words.ts";
import {
  keyStatement,
  secretStatement,
  signingWords,
  usdText,
  usdUnits,
  usedBounds,
} from "../../web/src/owner/key-words.ts";
import { ether, moveWalletWords, moveWords } from "../../web/src/owner/move-words.ts";

const BUYER = "0xAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaaAAAAaaaa";
const SELLER = "0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const ESCROW_ID = `0x${"ab".repeat(32)}` as const;
const START = Date.parse("2026-03-01T12:00:00.000Z");
const HOUR = 3_600;
const DAY = 24 * HOUR;
const at = (seconds: number) => new Date(START + seconds * 1_000).toISOString();

/** A deal whose seller has an hour to deliver, two to decline, and whose buyer has one to review. */
const deal = (fields: Partial<TransactionWithActions>): TransactionWithActions =>
  ({
    transactionId: "txn_1",
    buyerAddress: BUYER,
    sellerAddress: SELLER,
    deadline: START / 1_000 + HOUR,
    deadlineAt: at(HOUR),
    abandonmentGrace: 2 * HOUR,
    disputeWindow: HOUR,
    quoteExpiresAt: at(900),
    deliveredAt: null,
    timeline: [],
    actions: [],
    ...fields,
  }) as unknown as TransactionWithActions;
const moved = (event: string) => [{ event, at: at(0) }] as unknown as TransactionWithActions["timeline"];

describe("what is next with a deal", () => {
  it("is said to both parties, to the second", () => {
    type Moment = [seconds: number, buyer: string, seller: string, until: number | null];
    const cases: [Partial<TransactionWithActions>, Moment[]][] = [
      [
        { status: "funded" },
        [
          [HOUR, "The seller delivers", "You deliver", HOUR],
          [HOUR + 1, "The seller is late, and may still decline", "You are late, and may still decline", 3 * HOUR],
          [3 * HOUR + 1, "You may take the deposit back", "The buyer may take the deposit back", null],
        ],
      ],
      [
        { status: "delivered", timeline: moved("DeliverySubmitted") },
        [
          [HOUR, "You accept or dispute", "The buyer accepts or disputes", HOUR],
          [HOUR + 1, "Anyone may release the deposit to the seller", "Anyone may release the deposit to you", null],
        ],
      ],
      [
        { status: "disputed", timeline: moved("DisputeOpened") },
        [
          [
            30 * DAY,
            "A ruling or an agreement divides the deposit",
            "A ruling or an agreement divides the deposit",
            30 * DAY,
          ],
          [
            30 * DAY + 1,
            "Anyone may end the dispute: each gets half",
            "Anyone may end the dispute: each gets half",
            null,
          ],
        ],
      ],
    ];
    for (const [fields, moments] of cases) {
      for (const [seconds, buyer, seller, end] of moments) {
        const until = end === null ? null : at(end);
        const now = START + seconds * 1_000;
        assert.deepEqual(nextStep(deal(fields), BUYER.toLowerCase(), now), { text: buyer, until });
        assert.deepEqual(nextStep(deal(fields), SELLER, now), { text: seller, until });
      }
    }
    const pending = deal({ status: "pending_funding" });
    assert.deepEqual(nextStep(pending, BUYER, START), { text: "You pay the deposit", until: at(900) });
    assert.strictEqual(nextStep(pending, BUYER, START + 901_000)?.until, null);
    for (const status of ["released", "refunded", "resolved", "abandoned", "expired"] as const) {
      assert.isNull(nextStep(deal({ status }), BUYER, START), status);
      assert.isDefined(stateWords(status));
    }
  });

  it("has a line for what needs more than a signature", () => {
    const action = (name: string) => ({ action: name }) as TransactionWithActions["actions"][number];
    const lines = (fields: Partial<TransactionWithActions>, isSeller: boolean, acts = false) =>
      commandsFor(deal(fields), isSeller, acts).map(({ command }) => command);
    assert.deepEqual(lines({ actions: [action("approve"), action("createEscrow")] }, false), [
      "agent-marketplace deal txn_1",
    ]);
    assert.deepEqual(lines({ actions: [action("deliver"), action("refund")] }, true), [
      "agent-marketplace deliver txn_1 --input result.json",
    ]);
    assert.deepEqual(lines({ status: "disputed" }, false), [
      'agent-marketplace dispute txn_1 --reason "What is wrong"',
      "agent-marketplace agree txn_1 --buyer-percent 50",
    ]);
    assert.lengthOf(lines({ status: "disputed" }, true), 1);
    assert.deepEqual(lines({ status: "disputed" }, false, true), [], "a session that acts says it on the page");
    assert.deepEqual(["accept", "deliver", "toString"].map(isMove), [true, false, false]);
  });
});

describe("the addresses of an owner's deals", () => {
  it("keep the filters that the API's list takes, and no others", () => {
    const read = (search: string) => dealsAddress(readFilters(new URLSearchParams(search)));
    assert.strictEqual(read(""), "/me/deals");
    const all = "/me/deals?role=buyer&status=disputed&network=base&serviceId=lst_1&intentId=an%2Fintent";
    assert.strictEqual(read("network=base&intentId=an%2Fintent&status=disputed&role=buyer&serviceId=lst_1&x=1"), all);
    assert.strictEqual(read("role=seller&intentId=mine"), "/me/deals?role=seller");
    assert.strictEqual(read("role=judge&status=lost&network=mainnet&serviceId=%3Cb%3E&intentId=a+b"), "/me/deals");
    assert.deepEqual(ownerPlaceOf("/me/deals/txn_1", ""), { page: "deal", transactionId: "txn_1" });
    assert.deepEqual(ownerPlaceOf("/me", "?status=funded"), { page: "home" });
    assert.deepEqual(ownerPlaceOf("/me/keys", ""), { page: "keys" });
    assert.deepEqual(ownerPlaceOf("/me/webhooks", ""), { page: "webhooks" });
    assert.deepEqual(ownerPlaceOf("/me/listings", "?status=paused"), { page: "listings", status: "paused" });
    assert.deepEqual(ownerPlaceOf("/me/listings", "?status=gone"), { page: "listings", status: "active" });
    assert.deepEqual(ownerPlaceOf("/me/listings/new", ""), { page: "newListing" });
    assert.deepEqual(ownerPlaceOf("/me/hire", "?service=lst_1"), { page: "hire", serviceId: "lst_1" });
    assert.deepEqual(ownerPlaceOf("/me/hire", "?service=%3Cb%3E"), { page: "hire", serviceId: "" });
    assert.deepEqual(ownerPlaceOf("/me/listings/lst_1", ""), { page: "listing", serviceId: "lst_1" });
    assert.deepEqual(ownerPlaceOf("/constructor", ""), { page: "home" });
  });
});

describe("a move in words", () => {
  const context = { wallet: "W", account: SELLER, network: "base", chainId: 8_453 };

  it("says why it wasn't made, and that nothing was signed", () => {
    for (const [reason, detail, expected] of [
      ["other_chain", "1", /^W is on chain 1\. This deal is on Base, which is chain 8453\./],
      ["other_account", BUYER, /^W shows 0xAAAA…aaaa\. You are signed in as 0xbbbb…bbbb:/],
      ["other_account", "", /^W shows no account\./],
      ["not_listed", "contract", /doesn't name this deal's contract/],
      ["no_contract", BUYER, /finds no escrow contract at 0xAAAA…aaaa\./],
      ["differs", "deposit", /^The chain has another deposit than this page shows\./],
      ["state", "Released", /^On chain, the deal is released already/],
      ["role", "buyer", /^Only the deal's buyer/],
      ["reverts", "DisputeWindowElapsed", /^The contract refuses it: the time to accept or dispute is over\./],
      ["reverts", "SomethingNew", /^The contract refuses it: SomethingNew\./],
    ] as const) {
      const words = moveWords(reason, detail, context);
      assert.match(words, expected);
      assert.include(words, "Nothing was signed.");
    }
    assert.include(moveWalletWords("failed", "no\u202e luck.", context, false), "W says: no luck. Nothing was signed.");
  });

  it("doesn't say so once the wallet was asked and has failed", () => {
    assert.notInclude(moveWalletWords("failed", "timeout", context, true), "Nothing was signed");
    assert.match(moveWalletWords("failed", "", context, true), /^W failed without a reason\. Look in the wallet/);
    assert.match(moveWalletWords("refused", "", context, true), /^You refused in W\. Nothing was signed\.$/);
    assert.match(moveWalletWords("unknown_chain", "", context, false), /^W doesn't know Base\. Add the chain 8453/);
  });

  it("costs an amount with three digits, rounded up", () => {
    const cases = { "0": "0 ETH", "1": "0.000000000000000001 ETH", "78901234567890": "0.000079 ETH" };
    for (const [wei, shown] of Object.entries(cases)) assert.strictEqual(ether(BigInt(wei)), shown);
    assert.strictEqual(ether(1_234_000_000_000_000_001n), "1.24 ETH");
  });
});

describe("the calls of a page", () => {
  it("are the moves with the escrow's id, and read the escrow back", () => {
    for (const move of Object.keys(MOVES).filter(isMove)) {
      const decoded = decodeFunctionData({ abi: escrowAbi, data: encodeMove(move, ESCROW_ID) });
      assert.deepEqual<unknown>(decoded, { functionName: move, args: [ESCROW_ID] });
    }
    const read = decodeFunctionData({ abi: escrowAbi, data: encodeEscrowRead(ESCROW_ID) });
    assert.deepEqual<unknown>(read, { functionName: "getEscrow", args: [ESCROW_ID] });
    const stored = {
      buyer: SELLER,
      seller: SELLER,
      token: SELLER,
      amount: 2_500_000n,
      fee: 50_000n,
      locked: 2_450_000n,
      state: 2,
      createdAt: 1n,
      deadline: 2n,
      deliveredAt: 3n,
      disputedAt: 0n,
      disputeWindow: 4n,
      abandonmentGrace: 5n,
      criteriaHash: ESCROW_ID,
    } as const;
    const data = encodeFunctionResult({ abi: escrowAbi, functionName: "getEscrow", result: stored });
    assert.deepInclude(decodeEscrow(data), { state: "Delivered", locked: 2_450_000n, criteriaHash: ESCROW_ID });
    assert.throws(() => decodeEscrow("0x"));
  });

  it("read a credit, and withdraw it", () => {
    const other = `0x${"aa".repeat(20)}` as const;
    const read = decodeFunctionData({ abi: escrowAbi, data: encodeCreditRead(other, SELLER) });
    assert.deepEqual<unknown>(read, { functionName: "creditOf", args: [getAddress(other), getAddress(SELLER)] });
    const result = encodeFunctionResult({ abi: escrowAbi, functionName: "creditOf", result: 7n });
    assert.strictEqual(decodeCredit(result), 7n);
    assert.throws(() => decodeCredit("0x"));
    const withdraw = decodeFunctionData({ abi: escrowAbi, data: encodeWithdraw(SELLER) });
    assert.deepEqual<unknown>(withdraw, { functionName: "withdraw", args: [getAddress(SELLER)] });
  });

  it("name the contract's errors, and hash criteria whatever the order of their keys", () => {
    const data = encodeErrorResult({ abi: escrowAbi, errorName: "EscrowNotFound", args: [ESCROW_ID] });
    assert.strictEqual(revertNameOf(data), "EscrowNotFound");
    assert.isUndefined(revertNameOf("0x12345678"));
    assert.strictEqual(criteriaHashOf({ b: 1, a: null }), keccak256(toHex('{"a":null,"b":1}')));
  });
});

describe("keys in words", () => {
  it("have the statements that docs/api/sessions.md gives", () => {
    assert.strictEqual(keyStatement({ action: "list" }), "Manage keys: list them.");
    assert.strictEqual(keyStatement({ action: "freeze" }), "Manage keys: freeze all of them.");
    assert.strictEqual(keyStatement({ action: "revoke", keyId: "key_1" }), "Manage keys: revoke key_1.");
    const statements = (["read", "rotate", "activate"] as const).map(secretStatement);
    assert.deepEqual(statements, [
      "Webhook secret: show it.",
      "Webhook secret: make the next one.",
      "Webhook secret: activate the next one.",
    ]);
  });

  it("count dollars in millionths, exactly", () => {
    for (const [text, units] of [
      ["12.50", 12_500_000n],
      ["0", 0n],
      ["0.000001", 1n],
      ["999999999.999999", 999_999_999_999_999n],
    ] as const) {
      assert.strictEqual(usdUnits(text), units);
    }
    for (const text of ["", ".5", "1.", "1e3", "-1", "1,5", "1.0000001", "1234567890", " 1"]) {
      assert.isUndefined(usdUnits(text), text);
    }
    assert.deepEqual([12_500_000n, 0n, 1n, 100_000_000n].map(usdText), ["12.5", "0", "0.000001", "100"]);
  });

  it("have used what is no longer left, and all of a bound of nothing", () => {
    const left = { perDealUsd: "5", todayUsd: "7.5", totalUsd: "0" };
    const mandate = { perDayUsd: "10", totalUsd: "0", left } as unknown as Parameters<typeof usedBounds>[0];
    assert.deepEqual(usedBounds(mandate), [
      { name: "Today", limit: "10", used: "2.5", share: 0.25 },
      { name: "In all", limit: "0", used: "0", share: 1 },
    ]);
  });

  it("say why a wallet didn't sign", () => {
    const words = (reason: string, message = "") => signingWords(reason, message, "W", BUYER);
    assert.match(words("other_account", SELLER), /^W shows 0xbbbb…bbbb\. You are signed in as 0xAAAA…[aA]{4}: choose/);
    assert.match(words("other_account"), /^W shows no account\./);
    assert.match(words("refused"), /^You refused in W\. Nothing was signed\.$/);
    assert.match(words("failed", "no\u202e luck."), /^W says: no luck\.$/);
  });
});
