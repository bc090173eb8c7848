// The deals of an agent's owner, in a real browser: the list with its filters, and a deal with what strangers have written.
import { assert } from "chai";

import { encryptFor } from "../../sdk/src/index.ts";
import { checkOut, fundedDeal } from "../fixtures/deals.ts";
import type { CheckoutData } from "../fixtures/deals.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { dealRows, OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertAccessible, assertFits, assertShown, DESKTOP } from "../fixtures/page-checks.ts";

const HOSTILE = {
  summary: '<img src="x" onerror="alert(1)"><script>alert(2)</script>',
  link: "javascript:alert(3)",
  turned: "pay\u202eme\u202c",
  long: "x".repeat(10_000),
};
const CRITERIA = { checks: ["cel: words(result.summary) >= 3", "Is it <b>useful</b>?"] };

describe("an owner's deals in a browser", () => {
  let owner: OwnerBrowser;
  let delivered: CheckoutData;
  let funded: CheckoutData;
  let pending: CheckoutData;

  before(async () => {
    owner = await OwnerBrowser.start({ title: "Token <b>risk</b> report" });
    delivered = await owner.delivered(HOSTILE, { criteria: CRITERIA, requestPayload: { token: "0x01" } });
    funded = await fundedDeal(owner.market, { requestPayload: { token: "0x02" } });
    pending = await checkOut(owner.market, { intentId: "my-third", requestPayload: { token: "0x03" } });
  });
  after(() => owner.close());

  const walletOf = (who: "buyer" | "seller") => new InjectedWallet(owner.market[who].account, owner.market.chain);
  const send = async (body: object) => {
    const { api, seller, buyer } = owner.market;
    const message = { toAgentId: buyer.agentId, ...body };
    const { status, text } = await api.request("POST", "/api/v1/messages", { key: seller.apiKey, body: message });
    assert.strictEqual(status, 201, text);
  };

  it("are listed with what is next, filtered by the address, and loaded page by page", async () => {
    const { page, faults, close } = await owner.signIn(walletOf("buyer"), "/me");
    // The same list in small pages.
    await page.route("**/api/v1/transactions?*", (route) =>
      route.continue({ url: route.request().url().replace("limit=100", "limit=2") }),
    );
    await page.getByRole("navigation", { name: "Your agent" }).getByRole("link", { name: "Deals" }).click();
    assert.match((await dealRows(page, 2))[0] ?? "", /^Token <b>risk<\/b> report/);
    await page.getByRole("button", { name: "More" }).click();
    const rows = await dealRows(page, 3);
    assert.match(rows[0] ?? "", /you buy from 0x\w{4}…\w{4} · Base Sepolia[\s\S]+You pay the deposit\s+until .* UTC/);
    assert.match(rows[0] ?? "", /2\.5 USDC\s+Not paid yet$/);
    assert.match(rows[1] ?? "", /The seller delivers\s+until [^\t]+ left\s+2\.5 USDC\s+Funded$/);
    assert.match(rows[2] ?? "", /You accept or dispute\s+until [^\t]+ left\s+2\.5 USDC\s+Delivered$/);
    await assertAccessible(page, "/me/deals");
    await assertFits(page, "/me/deals");
    await page.setViewportSize(DESKTOP);

    // A message is news, upon which the list is read again as far as it is shown.
    await checkOut(owner.market, { intentId: "my-fourth", requestPayload: { token: "0x04" } });
    await send({ body: "Hello" });
    await dealRows(page, 4);

    await page.getByLabel("State").selectOption("Funded");
    await dealRows(page, 1);
    assert.strictEqual(new URL(page.url()).search, "?status=funded");
    await page.getByLabel("Side").selectOption("Selling");
    await page.getByText("No deal passes these filters.").waitFor();
    await page.goBack();
    await page.reload();
    assert.match((await dealRows(page, 1))[0] ?? "", /Funded$/);
    assert.strictEqual(await page.getByLabel("State").inputValue(), "funded");
    await page.getByLabel("State").selectOption("Any");
    await page.getByLabel("Intent, of what you buy").fill("my-third");
    await page.getByRole("button", { name: "Filter" }).click();
    assert.match((await dealRows(page, 1))[0] ?? "", /Not paid yet$/);
    assert.strictEqual(new URL(page.url()).search, "?intentId=my-third");

    await page.getByRole("link", { name: "Token <b>risk</b> report" }).click();
    await page.getByText("Pay the deposit, with the command line").waitFor();
    assert.strictEqual(new URL(page.url()).pathname, `/me/deals/${pending.transactionId}`);
    await close();
    assert.deepEqual(unexpected(faults, "ERR_ABORTED"), []);
  });

  it("are shown with what strangers have written as text, its criteria and its messages", async () => {
    const { transactionId } = delivered;
    const { seller, buyer } = owner.market;
    const bound = { fromAgentId: seller.agentId, toAgentId: buyer.agentId, contentType: "text/plain", transactionId };
    await send({ transactionId, body: "Look at <b>page</b> two" });
    const encrypted = await encryptFor(buyer.publicKey, { ...bound, body: "a secret" });
    await send({ transactionId, contentType: "text/plain", encrypted });

    const { page, faults, close } = await owner.signIn(walletOf("buyer"), `/me/deals/${transactionId}`, "See and act");
    await page.getByRole("heading", { name: "What was ordered and delivered" }).waitFor();
    const delivery = page.locator("details.json").filter({ hasText: "Delivery" });
    const text = await delivery.locator("pre").innerText();
    assert.deepEqual(JSON.parse(text), { ...HOSTILE, turned: "payme" });
    assert.include(await delivery.locator("summary").innerText(), "2 hidden characters removed");
    await page.getByText("Its hash is the one that the seller committed to on chain.").waitFor();
    const checks = page.locator(".checks");
    assert.match(await checks.innerText(), /cel: words\(result\.summary\) >= 3/);
    assert.match(await checks.innerText(), /Open\s+Is it <b>useful<\/b>\?/);
    const messages = page.locator(".messages > li");
    assert.match((await messages.allInnerTexts()).join("\n"), /The other party[\s\S]+Look at <b>page<\/b> two/);
    assert.match(await messages.last().innerText(), /Encrypted: the service can't read it/);
    assert.notInclude(await page.content(), "a secret");
    // The page's own icon alone.
    assert.strictEqual(await page.locator("main img, main script, a[href^=javascript]").count(), 0);
    await assertShown(page, "/me/deals/{transactionId}");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("show a seller what to deliver, and a session that only sees no contents of messages", async () => {
    const { page, close } = await owner.signIn(walletOf("seller"), `/me/deals/${funded.transactionId}`);
    await page.getByText("You deliver", { exact: true }).waitFor();
    await page.getByText(`agent-marketplace deliver ${funded.transactionId} --input result.json`).waitFor();
    await page.getByText("Nobody has written about this deal.").waitFor();
    await page.goto(`${owner.url}/me/deals/${delivered.transactionId}`);
    await page.getByText("This session sees no contents").waitFor();
    await close();
  });

  it("don't exist for others, whom an empty list teaches what to do", async () => {
    const stranger = await owner.newAgent("Stranger");
    const wallet = new InjectedWallet(stranger.account, owner.market.chain);
    const { page, faults, close } = await owner.signIn(wallet, `/me/deals/${delivered.transactionId}`);
    await page.getByRole("heading", { name: "Your agent has no such deal" }).waitFor();
    await page.getByRole("link", { name: "All deals of your agent" }).click();
    await page.getByText("Your agent has no deals yet.").waitFor();
    assert.strictEqual(
      await page.getByRole("link", { name: "Find a service to hire" }).getAttribute("href"),
      "/search",
    );
    await close();
    assert.deepEqual(unexpected(faults, "404"), []);
  });
});
