// Keys, mandates and approvals of an agent's owner, in a real browser with a wallet.
import { assert } from "chai";
import type { Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { TestAgent } from "../fixtures/api.ts";
import { withMandate } from "../fixtures/mandates.ts";
import type { MandateFields } from "../fixtures/mandates.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";
import { until } from "../fixtures/until.ts";

const USAGE = "/api/v1/auth/usage";

describe("an owner's keys in a browser", () => {
  let owner: OwnerBrowser;
  before(async () => {
    owner = await OwnerBrowser.start({ title: "Token <b>risk</b> report" });
  });
  after(() => owner.close());

  const walletOf = (agent: TestAgent) => new InjectedWallet(agent.account, owner.market.chain);
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const sign = (page: Page) => page.getByRole("button", { name: "Sign with Test Wallet" }).click();
  /** A key that has to ask above a dollar. */
  const keyOf = (agent: TestAgent, terms: Partial<MandateFields> = {}) =>
    withMandate(owner.api, agent, {
      host: new URL(owner.url).host,
      perDealUsd: "1",
      perDayUsd: "20",
      totalUsd: "100",
      onExceeded: "approval",
      ...terms,
    });
  /** What the key's holder orders. */
  const order = async ({ apiKey }: Pick<TestAgent, "apiKey">, note: string) => {
    const { serviceId } = owner.market;
    const body = { serviceId, paymentMethod: "usdc", requestPayload: { note } };
    const { status, body: answer, text } = await owner.api.request("POST", "/api/v1/checkout", { key: apiKey, body });
    assert.include([200, 201, 202], status, text);
    return { status, data: answer.data };
  };
  const works = async (key: string) => (await owner.api.request("GET", USAGE, { key })).status === 200;
  const statusOf = async (id: string) => {
    const { buyer } = owner.market;
    const { body } = await owner.api.request("GET", "/api/v1/approvals?limit=100", { key: buyer.apiKey });
    return (body.data as { id: string; status: string }[]).find((one) => one.id === id)?.status;
  };

  it("approve a purchase by signing what the page shows, also in a session that only sees", async () => {
    const { buyer, chain } = owner.market;
    const key = await keyOf(buyer);
    const { status, data } = await order(key, "pay\u202eme");
    assert.strictEqual(status, 202);
    const wallet = new InjectedWallet(buyer.account, chain);
    const { page, faults, close } = await owner.signIn(wallet, "/me");
    // Home leads there.
    await page.getByRole("link", { name: "Approve a purchase of $2.50" }).click();
    await page.getByText("Token <b>risk</b> report").waitFor();
    assert.strictEqual(new URL(page.url()).pathname, "/me/keys");
    await page.getByText("above the mandate's amount for one purchase").waitFor();
    const ordered = page.locator("details.json").filter({ hasText: "Order, as the key's holder wrote it" });
    assert.include(await ordered.locator("summary").innerText(), "1 hidden character removed");
    assert.strictEqual(await page.getByRole("button", { name: "Decline" }).count(), 0, "a session that only sees");

    await press(page, "Approve…");
    await page.getByRole("button", { name: "Sign with Test Wallet" }).waitFor();
    await assertShown(page, "/me/keys, to be signed");
    const most = page.getByLabel("At most, in US dollars");
    await most.fill("2.499999");
    await page.getByText("At least 2.5, which was asked for").waitFor();
    assert.isTrue(await page.getByRole("button", { name: "Sign with Test Wallet" }).isDisabled());
    await most.fill("3.25");
    wallet.refuses = "eth_signTypedData_v4";
    await sign(page);
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    wallet.account = privateKeyToAccount(generatePrivateKey());
    await press(page, "Try again");
    await sign(page);
    await page.getByText(/^Test Wallet shows 0x.*choose that account in the wallet\. Nothing was signed\.$/).waitFor();
    wallet.account = buyer.account;
    assert.deepEqual([wallet.grants.length, await statusOf(data.approval.id)], [0, "open"]);
    await press(page, "Try again");
    await sign(page);
    await page.getByText("Decided or over: 1").click();
    await page.getByText("You approved at most $3.25.").waitFor();

    const [grant] = wallet.grants;
    assert.deepInclude(grant?.message, {
      id: data.approval.id,
      host: new URL(owner.url).host,
      keyId: key.keyId,
      requestHash: data.approval.requestHash,
      maxUsd: "3250000",
    });
    assert.strictEqual(grant?.primaryType, "Approval");
    assert.strictEqual(await statusOf(data.approval.id), "granted");
    assert.include([200, 201], (await order(key, "pay\u202eme")).status, "the key buys");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("decline a purchase, and sign nothing for an order with another hash", async () => {
    const { buyer } = owner.market;
    const { data } = await order(await keyOf(buyer), "second");
    const wallet = walletOf(buyer);
    const { page, faults, close } = await owner.signIn(wallet, "/me", "See and act");
    await page.route("**/api/v1/approvals?*", async (route) => {
      const { body } = await owner.api.request("GET", "/api/v1/approvals?limit=100", { key: buyer.apiKey });
      const approvals = body.data as { id: string; request: object }[];
      const lies = approvals.map((one) =>
        one.id === data.approval.id ? { ...one, request: { ...one.request, quantity: 2 } } : one,
      );
      await route.fulfill({ json: { ...body, data: lies } });
    });
    await page.getByRole("navigation", { name: "Your agent" }).getByRole("link", { name: "Keys" }).click();
    await press(page, "Approve…");
    await sign(page);
    await page.getByText("The order has another hash than the approval says. Nothing was signed.").waitFor();
    assert.deepEqual(wallet.grants, []);
    await press(page, "Close");
    await press(page, "Decline");
    await page.getByText("None waits for you.").waitFor();
    assert.strictEqual(await statusOf(data.approval.id), "declined");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("are shown with their limits, revoked and frozen, each by a signature for that alone", async () => {
    const agent = await owner.newAgent("Key Keeper");
    const [kept, revoked] = [
      await keyOf(agent, { scopes: ["read"], networks: ["base-sepolia"] }),
      await keyOf(agent, { perDayUsd: "12.5" }),
    ];
    const wallet = walletOf(agent);
    const { page, faults, close } = await owner.signIn(wallet, "/me/keys");
    await page.getByText("A key whose mandate asks above an amount").waitFor();
    await press(page, "Show the keys");
    await sign(page);
    await page.getByText(/^3 keys, as of/).waitFor();
    const cards = page.locator("section[aria-labelledby=keys] .next > li");
    const texts = await cards.allInnerTexts();
    assert.match(texts[0] ?? "", /no mandate: it may do everything/);
    assert.match(texts[1] ?? "", /Today\s+\$0\.00 of \$20\.00\s+In all\s+\$0\.00 of \$100\.00/);
    assert.match(texts[1] ?? "", /One purchase\s+at most \$1\.00[\s\S]+Networks\s+Base Sepolia/);
    assert.match(texts[2] ?? "", /\$0\.00 of \$12\.50[\s\S]+Above an amount\s+it asks you for approval/);
    await assertShown(page, "/me/keys");

    // Home has their limits as the wallet had them shown, without another signature.
    const navigation = page.getByRole("navigation", { name: "Your agent" });
    await navigation.getByRole("link", { name: "Home" }).click();
    const mandates = page.locator("section[aria-labelledby=mandates]");
    await mandates.getByText("$0.00 of $12.50").waitFor();
    await assertShown(page, "/me, with mandates");
    await navigation.getByRole("link", { name: "Keys" }).click();

    await press(page, `Revoke ${revoked.keyId}`);
    await page.getByText(`Manage keys: revoke ${revoked.keyId}.`).waitFor();
    wallet.refuses = "personal_sign";
    await sign(page);
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    assert.isTrue(await works(revoked.apiKey));
    await press(page, "Try again");
    await sign(page);
    await page.getByText(/^2 keys, as of/).waitFor();
    assert.deepEqual([await works(revoked.apiKey), await works(kept.apiKey)], [false, true]);

    await press(page, "Freeze all keys");
    await sign(page);
    await page.getByText("Your agent has no key, so no program acts for it.").waitFor();
    assert.deepEqual([await works(kept.apiKey), await works(agent.apiKey)], [false, false]);
    // The first text has opened the session.
    const statements = wallet.texts.slice(1).map((text) => text.split("\n")[3]);
    assert.deepEqual(statements, [
      "Manage keys: list them.",
      `Manage keys: revoke ${revoked.keyId}.`,
      "Manage keys: freeze all of them.",
    ]);
    await page.reload();
    await page.getByText("To see them, sign a text with your wallet.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("are signed for by a wallet that announces itself late", async () => {
    const agent = await owner.newAgent("Late Keeper");
    const { page, faults, close } = await owner.signIn(walletOf(agent), "/me/keys");
    // Run inside of the browser, whose types the tests don't have.
    await page.evaluate(`(() => {
      const silent = (event) => event.stopImmediatePropagation();
      addEventListener("eip6963:announceProvider", silent);
      globalThis.wake = () => {
        removeEventListener("eip6963:announceProvider", silent);
        dispatchEvent(new Event("eip6963:requestProvider"));
      };
    })()`);
    await press(page, "Show the keys");
    await page.getByText("This browser shows no wallet.").waitFor();
    await page.evaluate("wake()");
    await sign(page);
    await page.getByText(/^1 key, as of/).waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("say so when another page was faster", async () => {
    const agent = await owner.newAgent("Slow Keeper");
    const key = await keyOf(agent);
    const { page, faults, close } = await owner.signIn(walletOf(agent), "/me/keys");
    await press(page, "Show the keys");
    await sign(page);
    await page.getByText(/^2 keys, as of/).waitFor();
    const path = `/api/v1/auth/keys/${key.keyId}`;
    assert.strictEqual((await owner.api.request("DELETE", path, { key: agent.apiKey })).status, 200);
    await until("the key has ended", async () => !(await works(key.apiKey)));
    await press(page, `Revoke ${key.keyId}`);
    await sign(page);
    await page.getByText("It isn't there any more: another page or program was faster.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults, "404"), []);
  });
});
