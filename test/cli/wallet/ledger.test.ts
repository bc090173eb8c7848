import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { assert } from "chai";
import { generatePrivateKey } from "viem/accounts";

import type { Ledger, LedgerPlace } from "../../../cli/src/wallet/ledger.ts";
import { checkSpend, writePayment, writeSpend } from "../../../cli/src/wallet/spending.ts";
import type { Purchase } from "../../../cli/src/wallet/spending.ts";
import { ToolRefusal } from "../../../tools/src/index.ts";
import { ledgerIn, purchaseOf, spendElsewhere } from "../../fixtures/ledgers.ts";
import { rejectionOf } from "../../fixtures/rejection.ts";
import { newPlace, WIDE } from "../../fixtures/wallets.ts";

const LIMITS = { ...WIDE, totalUsd: "10" };

describe("a wallet's ledger", () => {
  const key = generatePrivateKey();
  let place: LedgerPlace;
  let ledger: Ledger;
  let remove: () => Promise<void>;
  beforeEach(async () => {
    const made = await newPlace();
    remove = made.remove;
    place = { folder: join(made.place.dir, "ledger"), headFile: join(made.place.stateDir, "head.json") };
    ledger = ledgerIn(place, key);
    await ledger.create();
  });
  afterEach(() => remove());

  const spend = (purchase: Purchase, limits = LIMITS) => writeSpend(ledger, limits, purchase);
  const refusalOf = async (work: Promise<unknown>) => (await rejectionOf(work, ToolRefusal)).refusal;
  const total = async () => Number((await ledgerIn(place, key).read()).totalUsd) / 1e6;
  const record = (n: number) => join(place.folder, "1", `${String(n).padStart(8, "0")}.json`);

  it("counts a deal once, in all its processes", async () => {
    await spend(purchaseOf("a"));
    await spend(purchaseOf("a"));
    await writeSpend(ledgerIn(place, key), LIMITS, purchaseOf("a"));
    assert.strictEqual(await total(), 1);
  });

  it("takes no other terms for a deal, and no other deal for an intent or an escrow", async () => {
    await spend(purchaseOf("a"));
    const others = { amount: "2", escrowId: "0x2", seller: "0x2", network: "base", token: "WETH" };
    for (const field of Object.keys(others) as (keyof typeof others)[]) {
      const { code } = await refusalOf(spend(purchaseOf("a", { [field]: others[field] })));
      assert.strictEqual(code, "other_terms", field);
    }
    const { intentId, escrowId } = purchaseOf("a").spend;
    for (const same of [{ intentId }, { escrowId }]) {
      assert.strictEqual((await refusalOf(spend(purchaseOf("b", same)))).code, "intent_conflict");
    }
    assert.strictEqual(await total(), 1);
  });

  it("renews the day's limit at midnight UTC, and the total never", async () => {
    let now = new Date("2026-11-28T23:59:59.999Z");
    ledger = ledgerIn(place, key, () => now);
    const limits = { ...LIMITS, perDayUsd: "1", totalUsd: "2" };
    await spend(purchaseOf("a"), limits);
    const ofDay = await refusalOf(spend(purchaseOf("b"), limits));
    assert.match(
      ofDay.message,
      /perDayUsd .*\$0\.00 of \$1\.00 remain, and it is renewed at 2026-11-29T00:00:00\.000Z/,
    );
    now = new Date("2026-11-29T00:00:00.000Z");
    await spend(purchaseOf("b"), limits);
    now = new Date("2026-11-30T00:00:00.000Z");
    assert.include((await refusalOf(spend(purchaseOf("c"), limits))).message, "limit totalUsd ");
  });

  it("counts what is paid for calls with the rest", async () => {
    const limits = { ...LIMITS, perDayUsd: "1.5" };
    await spend(purchaseOf("a"), limits);
    const payment = { nonce: "0x01", network: "base-sepolia", usd: 500_000n };
    await writePayment(ledger, limits, payment);
    const { code } = await refusalOf(writePayment(ledger, limits, { ...payment, usd: 1n }));
    assert.strictEqual(code, "limit_exceeded");
    assert.strictEqual(await total(), 1.5);
  });

  it("asks a person above confirmAboveUsd, and uses an approval once and only in time", async () => {
    let now = new Date("2026-11-28T12:00:00.000Z");
    ledger = ledgerIn(place, key, () => now);
    const limits = { ...LIMITS, confirmAboveUsd: "0.5" };
    const ask = async (purchase: Purchase) => {
      const { code, whatToDo } = await refusalOf(spend(purchase, limits));
      assert.strictEqual(code, "confirmation_required");
      return /approve (\w+)/.exec(whatToDo)?.[1] ?? "";
    };
    const grant = (id: string) => ledger.write(() => ({ kind: "approved", id }));
    const id = await ask(purchaseOf("a"));
    assert.strictEqual(await ask(purchaseOf("a")), id);
    await grant(id);
    assert.notStrictEqual(await ask(purchaseOf("b")), id);
    assert.notStrictEqual(await ask(purchaseOf("a", { usd: "1000001", amount: "1000001" })), id);
    assert.strictEqual(
      (await refusalOf(spend(purchaseOf("a"), { ...limits, perDealUsd: "0.9" }))).code,
      "limit_exceeded",
    );
    assert.strictEqual(await checkSpend(ledger, limits, purchaseOf("a"), now), "spend");
    await spend(purchaseOf("a"), limits);
    const late = await ask(purchaseOf("c"));
    await grant(late);
    now = new Date("2026-11-28T12:15:00.000Z");
    assert.notStrictEqual(await ask(purchaseOf("c")), late);
    assert.strictEqual(await total(), 1);
  });

  it("stays within the limit when two processes race, and loses nothing", async () => {
    const deals = Array.from({ length: 8 }, (_, index) => `deal${index}`);
    const jobs = ["x", "y"].map((name) => ({ place, key, limits: LIMITS, deals: deals.map((deal) => name + deal) }));
    const ended = await Promise.all(jobs.map((job) => spendElsewhere(job)));
    const written = ended.flatMap((each) => each.written);
    assert.strictEqual(written.length, 10, ended.map(({ errors }) => errors).join());
    assert.strictEqual(await total(), 10);
    const state = await ledgerIn(place, key).read();
    for (const deal of written) assert.ok(state.spendOf(deal), deal);
  });

  for (const dieAt of ["before-record", "after-record", "after-head"] as const) {
    it(`is whole after kill -9 ${dieAt.replace("-", " the ")}`, async () => {
      await spend(purchaseOf("a"));
      const job = { place, key, limits: LIMITS, deals: ["b"] };
      assert.deepEqual((await spendElsewhere({ ...job, dieAt })).written, []);
      const isWritten = dieAt !== "before-record";
      assert.strictEqual(await total(), isWritten ? 2 : 1);
      ledger = ledgerIn(place, key);
      await spend(purchaseOf("b"));
      await spend(purchaseOf("c"));
      assert.strictEqual(await total(), 3);
    });
  }

  describe("that was tampered with", () => {
    beforeEach(async () => {
      for (const deal of ["a", "b", "c"]) await spend(purchaseOf(deal));
    });

    const damages: [how: string, damage: () => Promise<void>][] = [
      ["is missing", () => rm(place.folder, { recursive: true })],
      ["has lost its last record", () => rm(record(4))],
      ["has lost a record in between", () => rm(record(2))],
      ["has lost its head", () => rm(place.headFile)],
      ["has another amount", async () => edit(record(3), (text) => text.replace('"1000000"', '"1"'))],
      ["has two records exchanged", () => exchange(record(2), record(3))],
      ["has a head of its own", async () => edit(place.headFile, (text) => text.replace(/"count": \d+/, '"count": 2'))],
      ["has a record cut short", async () => edit(record(4), (text) => text.slice(0, 100))],
    ];
    for (const [how, damage] of damages) {
      it(`spends nothing when it ${how}, until a person has approved that`, async () => {
        await damage();
        const fresh = ledgerIn(place, key);
        const refused = await refusalOf(writeSpend(fresh, LIMITS, purchaseOf("d")));
        assert.strictEqual(refused.code, "confirmation_required");
        const id = /approve (ledger-\w+)/.exec(refused.whatToDo)?.[1] ?? "";
        // The process that was running meanwhile names the same damage.
        if (
          how !== "has another amount" &&
          how !== "has two records exchanged" &&
          how !== "has lost a record in between"
        ) {
          assert.include((await refusalOf(spend(purchaseOf("d")))).whatToDo, id);
        }
        assert.isFalse(await ledgerIn(place, key).repair("ledger-000000000000"));
        assert.isTrue(await ledgerIn(place, key).repair(id));
        await writeSpend(fresh, LIMITS, purchaseOf("d"));
        // Either the head or the records still say what was spent.
        assert.strictEqual(await total(), 4);
        assert.isFalse(await ledgerIn(place, key).repair(id));
      });
    }

    it("spends nothing when an older copy of its records comes back", async () => {
      const copy = `${place.folder}-copy`;
      await cp(place.folder, copy, { recursive: true });
      await spend(purchaseOf("d"));
      await rm(place.folder, { recursive: true });
      await cp(copy, place.folder, { recursive: true });
      for (const each of [ledger, ledgerIn(place, key)]) {
        const { code, message } = await refusalOf(writeSpend(each, LIMITS, purchaseOf("e")));
        assert.strictEqual(code, "confirmation_required", message);
      }
    });

    it("spends nothing with the ledger of another key", async () => {
      const other = ledgerIn(place, generatePrivateKey());
      assert.strictEqual((await refusalOf(writeSpend(other, LIMITS, purchaseOf("d")))).code, "confirmation_required");
    });
  });

  async function edit(file: string, change: (text: string) => string): Promise<void> {
    const text = await readFile(file, "utf8");
    const changed = change(text);
    assert.notStrictEqual(changed, text);
    await writeFile(file, changed, { mode: 0o600 });
  }

  async function exchange(a: string, b: string): Promise<void> {
    const [ofA, ofB] = await Promise.all([readFile(a, "utf8"), readFile(b, "utf8")]);
    await writeFile(a, ofB);
    await writeFile(b, ofA);
  }

  it("leaves no drafts behind", async () => {
    await spend(purchaseOf("a"));
    assert.deepEqual(await readdir(join(place.folder, "1")), ["00000001.json", "00000002.json"]);
  });
});
