// The sign-in of the local stack, in a real browser: it refuses other wallets, makes one, and takes that.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { Hex } from "viem";

import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";

const WALLETS = "**/api/v1/stack/wallets";

describe("the sign-in of the local stack in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start({}, { isLocalStack: true });
  });
  after(() => owner.close());

  const open = (account = privateKeyToAccount(generatePrivateKey())) => {
    const wallet = new InjectedWallet(account, owner.market.chain);
    return owner.open(wallet, "/me").then((watched) => ({ ...watched, wallet }));
  };
  const choose = (page: Page) => page.getByRole("button", { name: "Test Wallet" }).click();
  const make = (page: Page) => page.getByRole("button", { name: "Make a wallet" }).click();
  const keyOn = (page: Page) => page.locator("[aria-labelledby=stack-wallet] pre").first();

  it("refuses a wallet that wasn't made for the stack and says why, registered or not", async () => {
    for (const account of [owner.market.buyer.account, undefined]) {
      const { page, faults, close, wallet } = await open(account);
      // If it were asked to sign, the page would say that it didn't.
      wallet.refuses = "personal_sign";
      await page.getByText("So it takes only wallets made for it.").waitFor();
      await choose(page);
      await page.getByText("This wallet wasn't made for this local stack").waitFor();
      await page.getByText("what the wallet signs here could be used with its money there").waitFor();
      assert.strictEqual(await page.getByText("This wallet isn't registered yet").count(), 0);
      assert.strictEqual(await page.getByRole("button", { name: "Make a wallet" }).count(), 1);
      assert.isEmpty(await page.context().cookies());
      await assertShown(page, "/me, another wallet");
      await close();
      assert.deepEqual(unexpected(faults), []);
    }
  });

  it("says the same when only the sign-in itself finds out", async () => {
    const { page, close } = await open(owner.market.seller.account);
    await page.route(`${WALLETS}/*`, (route) => route.abort());
    await choose(page);
    await page.getByText("This wallet wasn't made for this local stack").waitFor();
    assert.isEmpty(await page.context().cookies());
    await close();
  });

  it("makes a wallet, shows its key once with how to import it, and registers it", async () => {
    const { page, faults, close, wallet } = await open();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await make(page);
    await page.getByRole("heading", { name: "Your wallet for this stack" }).waitFor();
    const key = (await keyOn(page).innerText()) as Hex;
    assert.match(key, /^0x[0-9a-f]{64}$/);
    const account = privateKeyToAccount(key);
    const shown = await page.locator("[aria-labelledby=stack-wallet]").innerText();
    assert.include(shown, account.address);
    assert.include(shown, "import it by its private key");
    assert.include(shown, "Never use this wallet anywhere else");
    const focused = await page.evaluate<string | null>("document.activeElement.getAttribute('aria-labelledby')");
    assert.strictEqual(focused, "stack-wallet");
    await page.getByRole("button", { name: "Copy the lines for Private key" }).click();
    await page.getByRole("button", { name: "Copied the lines for Private key" }).waitFor();
    assert.strictEqual(await page.evaluate<string>("navigator.clipboard.readText()"), key);
    await assertShown(page, "/me, a new wallet");

    // Its owner imports it.
    wallet.account = account;
    await choose(page);
    await page.getByLabel("Name of the agent").fill("Made here");
    assert.strictEqual(await keyOn(page).innerText(), key, "still there while it is needed");
    await page.getByRole("button", { name: "Register and sign in" }).click();
    await page.getByRole("heading", { name: "What needs you now" }).waitFor();
    assert.strictEqual(await page.locator("h1").innerText(), "Made here");
    assert.notInclude(await page.content(), key);
    const kept = await page.evaluate<string>("JSON.stringify([{ ...localStorage }, { ...sessionStorage }])");
    assert.notInclude(kept, key.slice(2));
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Make a wallet" }).waitFor();
    assert.notInclude(await page.content(), key);
    await close();
    assert.deepEqual(unexpected(faults, "status of 404"), []);
  });

  it("says what to do when it makes no more, and when the service doesn't answer", async () => {
    const { page, close } = await open();
    await page.route(WALLETS, (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": "90" }, json: { code: "rate_limit_exceeded" } }),
    );
    await make(page);
    await page.getByText("You can try again in 1 min 30 s.").waitFor();
    await page.unroute(WALLETS);
    await page.route(WALLETS, (route) => route.abort());
    await make(page);
    await page.getByText("The service doesn't answer. Nothing was changed.").waitFor();
    await page.unroute(WALLETS);
    await make(page);
    await page.getByRole("heading", { name: "Your wallet for this stack" }).waitFor();
    await close();
  });
});
