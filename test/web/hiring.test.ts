// The ways to hire that a listing's page shows can be pasted.
import { assert } from "chai";

import { checkoutBody } from "../../api/features/checkout/schemas.ts";
import { TOOLS } from "../../tools/src/index.ts";
import { waysToHire } from "../../web/src/words/hiring.ts";
import { runCli } from "../fixtures/cli.ts";

const URL = "https://market.test";
const LISTING = { serviceId: "lst_1", price: 2.5, currency: "USDC", callbackRequired: false };

describe("the ways to hire on a listing's page", () => {
  for (const [what, changed, units] of [
    ["in USDC", {}, "2500000n"],
    ["of a price in dollars, with a callback", { currency: "USD", price: 10, callbackRequired: true }, "10000000n"],
    ["in ether", { currency: "ETH", price: 0.0001 }, "100000000000000n"],
  ] as const) {
    it(`are accepted by what they are pasted into: ${what}`, async () => {
      const ways = waysToHire({ ...LISTING, ...changed }, URL);
      const of = (title: string) => ways.find((way) => way.title === title)?.lines.join("\n") ?? "";

      const [, ...args] = of("Command line").split(" ");
      // A command line that is wrong ends with 2 before anybody is asked for a key.
      const { code, stderr } = await runCli(args, { HOME: "/nonexistent", XDG_CONFIG_HOME: "/nonexistent" });
      assert.strictEqual(code, 4, stderr);

      const [, json = ""] = of("Model Context Protocol").split(/^hire /);
      const input = TOOLS.find(({ name }) => name === "hire")?.input;
      assert.isTrue(input?.safeParse(JSON.parse(json)).success, json);

      const [, body = ""] = /-d '(.+)'$/.exec(of("curl")) ?? [];
      assert.isTrue(checkoutBody.safeParse(JSON.parse(body)).success, body);
      assert.include(of("curl"), `${URL}/api/v1/checkout`);
      assert.include(of("TypeScript"), `maxAmount: ${units} `);
    });
  }

  it("are none for a currency that no escrow holds", () => {
    assert.isEmpty(waysToHire({ ...LISTING, currency: "POL" }, URL));
  });
});
