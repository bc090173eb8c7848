// The sign-in and Home of an agent's owner, in a real browser with a wallet that announces itself (EIP-6963).
import { assert } from "chai";
import type { Page } from "playwright-core";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { PrivateKeyAccount } from "viem/accounts";

import type { TestAgent } from "../fixtures/api.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertAccessible, assertFits, isAlive } from "../fixtures/page-checks.ts";
import { until } from "../fixtures/until.ts";

/** An icon that would load something if it were more than an image, and a name that hides characters. */
const FACE = {
  name: "Test\u202e Wallet<b>",
  icon: "data:image/svg+xml,%3Csvg xmlns=%27http://www.w3.org/2000/svg%27 viewBox=%270 0 1 1%27 onload=%27alert(1)%27%3E%3Crect width=%271%27 height=%271%27/%3E%3C/svg%3E",
};

describe("the owner's page in a browser", () => {
  let owner: OwnerBrowser;
  let url: string;
  let seller: TestAgent;
  let buyer: TestAgent;
  before(async () => {
    owner = await OwnerBrowser.start({ title: "Token <b>risk</b> report" });
    ({ url } = owner);
    const { api, serviceId } = owner.market;
    ({ seller, buyer } = owner.market);
    const order = { serviceId, paymentMethod: "usdc" };
    const { status, text } = await api.request("POST", "/api/v1/checkout", { key: buyer.apiKey, body: order });
    assert.strictEqual(status, 200, text);
  });
  after(() => owner.close());

  const walletOf = (account: PrivateKeyAccount) => new InjectedWallet(account, owner.market.chain, FACE);
  const open = (wallet?: InjectedWallet) => owner.open(wallet, "/me");
  const choose = (page: Page) => page.getByRole("button", { name: "Test Wallet<b>" }).click();
  const isHome = (page: Page) => page.getByRole("heading", { name: "What needs you now" }).waitFor();
  const isSignIn = (page: Page) => page.getByRole("heading", { name: "Sign in", exact: true }).waitFor();

  it("signs in by the keyboard, shows what needs the owner, survives a reload, and signs out in all tabs", async () => {
    const wallet = walletOf(buyer.account);
    const { page, faults, close } = await open(wallet);
    await page.getByLabel("See and act").check();
    await page.getByRole("button", { name: "Test Wallet<b>" }).focus();
    await assertAccessible(page, "/me, signed out");
    await page.keyboard.press("Enter");
    await isHome(page);
    assert.match(
      wallet.texts[0] ?? "",
      /^127\.0\.0\.1:\d+ wants you to sign in[\s\S]*Open a page session for this agent\./,
    );
    assert.strictEqual(await page.locator("h1").innerText(), "Careful Buyer");
    const need = page.locator("#needs + * > li");
    assert.match(
      await need.innerText(),
      /^Pay the deposit: Token <b>risk<\/b> report\s+until .* UTC\s+\d+ min.* left\s/,
    );
    assert.include(await need.locator("pre").innerText(), "agent-marketplace deal txn_");
    assert.match(await page.locator("[aria-labelledby=budgets]").innerText(), /Reading and writing\s+\d+ of 10,000/);
    await assertAccessible(page, "/me");
    await assertFits(page, "/me");
    await page.reload();
    await isHome(page);
    const other = await page.context().newPage();
    await other.goto(url);
    await isAlive(other);
    await other.getByRole("link", { name: "Your agent" }).click();
    await isHome(other);
    await page.getByRole("button", { name: "Sign out" }).click();
    for (const tab of [page, other]) await isSignIn(tab);
    await other.getByText("You signed out in another tab").waitFor();
    await until("the service has removed the cookie", async () => (await page.context().cookies()).length === 0);
    await close();
    // The reload ends what the page reads when the stream begins.
    assert.deepEqual(unexpected(faults, "ERR_ABORTED"), []);
  });

  it("reads itself again upon news, and asks for nothing while nothing happens", async () => {
    const { page, faults, close } = await open(walletOf(seller.account));
    // The first reading, and one when the stream begins.
    let readings = 0;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("response", (response) => {
      if (response.url() === `${url}/api/v1/auth/usage`) readings += 1;
    });
    await choose(page);
    await isHome(page);
    await page.getByText("see only", { exact: true }).waitFor();
    await until("the page listens", () => Promise.resolve(readings === 2));
    asked.length = 0;
    const again = page.waitForResponse("**/api/v1/auth/usage");
    const message = { toAgentId: seller.agentId, contentType: "application/json", body: "{}" };
    const sent = await owner.api.request("POST", "/api/v1/messages", { key: buyer.apiKey, body: message });
    assert.strictEqual(sent.status, 201, sent.text);
    const before = [...asked];
    await again;
    assert.deepEqual(before, [], "without news");
    assert.strictEqual(asked.length, 3, "without what it knows");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("registers a wallet that is new, and shows the key of its agent once", async () => {
    const wallet = walletOf(privateKeyToAccount(generatePrivateKey()));
    const { page, faults, close } = await open(wallet);
    await choose(page);
    await page.getByLabel("Name of the agent").fill("New here");
    await assertAccessible(page, "/me, unregistered");
    await assertFits(page, "/me, unregistered");
    await page.getByRole("button", { name: "Register and sign in" }).click();
    await isHome(page);
    assert.strictEqual(await page.locator("h1").innerText(), "New here");
    assert.match(await page.locator("[aria-labelledby=key] pre").innerText(), /^svc_[0-9a-f]{64}$/);
    assert.match(wallet.texts[1] ?? "", /\n\nRegister this wallet as an agent\.\n\n/);
    await page.getByText("your agent has no deals").waitFor();
    await close();
    assert.deepEqual(unexpected(faults, "404"), []);
  });

  it("says what to do without a wallet, after a refusal, and when the service doesn't answer", async () => {
    const without = await open();
    await without.page.getByText("This browser shows no wallet.").waitFor();
    // Only the local stack makes one (test/web/stack-wallet.test.ts).
    assert.strictEqual(await without.page.getByRole("button", { name: "Make a wallet" }).count(), 0);
    await without.close();
    const wallet = walletOf(buyer.account);
    const { page, close } = await open(wallet);
    wallet.refuses = "personal_sign";
    await choose(page);
    await page.getByText("You refused in Test Wallet<b>. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    await page.route("**/api/v1/sessions", (route) => route.abort());
    await choose(page);
    await page.getByText("The service doesn't answer. Nothing was changed.").waitFor();
    await page.unroute("**/api/v1/sessions");
    await page.route("**/api/v1/sessions", (route) =>
      route.fulfill({ status: 429, headers: { "retry-after": "90" }, json: { code: "rate_limit_exceeded" } }),
    );
    await choose(page);
    await page.getByText("You can try again in 1 min 30 s.").waitFor();
    await close();
    assert.deepEqual(unexpected(without.faults), []);
  });

  it("leads back to the sign-in when the session has ended, and then to where one was", async () => {
    const { page, close } = await open(walletOf(buyer.account));
    await choose(page);
    await isHome(page);
    await page.context().clearCookies();
    await page.reload();
    await page.getByText("Your session has ended").waitFor();
    await choose(page);
    await isHome(page);
    await close();
  });

  it("is the same for everyone, and nobody should find it", async () => {
    const answers = await Promise.all(
      [{}, { cookie: `session=${"a".repeat(64)}` }].map((headers) => fetch(`${url}/me`, { headers })),
    );
    const [html, other] = await Promise.all(answers.map((answer) => answer.text()));
    assert.strictEqual(other, html);
    assert.include(html ?? "", '<meta name="robots" content="noindex">');
    assert.include(html ?? "", "Signing in needs JavaScript");
  });
});
