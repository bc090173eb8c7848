// Numbers, times and strangers' texts in words.
import { assert } from "chai";

import { price, token, usd } from "../../web/src/words/amounts.ts";
import { clean, shortened } from "../../web/src/words/strangers-text.ts";
import { distance, duration, hour, moment } from "../../web/src/words/times.ts";

describe("the words of the web pages", () => {
  it("take out of a text what can't be seen, and count it", () => {
    const cases: [given: string, text: string, hidden: number][] = [
      ["Token risk report", "Token risk report", 0],
      ["pay\u202eme\u202c", "payme", 2],
      ["zero\u200bwidth\ufeff", "zerowidth", 2],
      ["tag\u{e0041}\u{e007f}", "tag", 2],
      ["bell\u0007 escape\u001b[31m", "bell escape[31m", 2],
      ["two\nlines\tand a tab", "two\nlines\tand a tab", 0],
      ["filler\u3164\u2800", "filler", 2],
      ["\ud800half a pair", "half a pair", 1],
      ["👩‍👩‍👧 ❤️ می‌خواهم", "👩‍👩‍👧 ❤️ می‌خواهم", 0],
      [`z${"\u0301".repeat(40)}`, `z${"\u0301".repeat(4)}`, 36],
    ];
    for (const [given, text, hidden] of cases) assert.deepEqual(clean(given), { text, hidden }, JSON.stringify(given));
  });

  it("cut a text between characters", () => {
    assert.strictEqual(shortened("👩👩👩👩", 3), "👩👩…");
    assert.strictEqual(shortened("exact", 5), "exact");
  });

  it("show amounts with their exact value", () => {
    assert.deepEqual(usd("12.5"), { shown: "$12.50", exact: "$12.5" });
    assert.deepEqual(usd("0.000001"), { shown: "$0.000001", exact: "$0.000001" });
    assert.deepEqual(usd("1234567.8"), { shown: "$1.23M", exact: "$1234567.8" });
    assert.strictEqual(token("2500000", 6, "USDC"), "2.5 USDC");
    assert.strictEqual(token("1", 18, "WETH"), "0.000000000000000001 WETH");
    assert.strictEqual(token("123456789000000", 6, "USDC"), "123,456,789 USDC");
    assert.strictEqual(price(1e-7, "ETH"), "0.0000001 ETH");
  });

  it("show times by their two largest units", () => {
    const shown = [0, 59, 60, 61, 3_599, 3_600, 90_060, 86_400 * 3].map(duration);
    assert.deepEqual(shown, ["0 s", "59 s", "1 min", "1 min 1 s", "59 min 59 s", "1 h", "1 d 1 h", "3 d"]);
    assert.deepEqual([distance(0, 400), distance(0, 5_000), distance(65_000, 0)], ["now", "5 s ago", "in 1 min 5 s"]);
    assert.strictEqual(moment(0), "1 Jan 1970, 00:00:00 UTC");
    assert.strictEqual(hour(5_400_000), "1 Jan 1970, 01:00 UTC");
  });
});
