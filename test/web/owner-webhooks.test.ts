// The webhooks of an agent's owner, in a real browser: what they got, and what sends it again.
import { assert } from "chai";
import type { Page } from "playwright-core";

import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";
import { startReceiver } from "../fixtures/receiver.ts";
import type { TestReceiver } from "../fixtures/receiver.ts";
import { until } from "../fixtures/until.ts";

const HOSTILE = "<script>alert(1)</script> out of \u202eorder";
const WORKING = "/hook/works";
const BROKEN = "/hook/broken";

describe("an owner's webhooks in a browser", () => {
  let owner: OwnerBrowser;
  let receiver: TestReceiver;
  let works: string;
  let broken: string;
  let isBroken = true;

  before(async () => {
    receiver = await startReceiver((_n, response, { path }) => {
      if (path !== BROKEN || !isBroken) return 204;
      response.writeHead(500).end(HOSTILE);
      return undefined;
    });
    owner = await OwnerBrowser.start();
    works = await register(WORKING);
    broken = await register(BROKEN);
    await send("Hello");
    await until("both deliveries are decided", async () => {
      const statuses = (await deliveries()).map(({ status }) => status);
      return statuses.length === 2 && !statuses.includes("pending");
    });
  });
  after(async () => {
    await owner.close();
    await receiver.close();
  });

  async function register(path: string): Promise<string> {
    const body = { url: new URL(path, receiver.url).href, events: ["message.received"] };
    const { api, seller } = owner.market;
    const { status, body: answer, text } = await api.request("POST", "/api/v1/webhooks", { key: seller.apiKey, body });
    assert.strictEqual(status, 201, text);
    return answer.data.webhookId as string;
  }
  async function send(text: string): Promise<void> {
    const { api, seller, buyer } = owner.market;
    const body = { toAgentId: seller.agentId, body: text };
    assert.strictEqual((await api.request("POST", "/api/v1/messages", { key: buyer.apiKey, body })).status, 201);
  }
  /** What the seller's addresses got, after all that is due was sent. */
  async function deliveries() {
    const { api, seller } = owner.market;
    await owner.api.container.features.webhooks.dispatcher.drain();
    const { body } = await api.request("GET", "/api/v1/webhooks/deliveries?limit=100", { key: seller.apiKey });
    return body.data as { id: string; webhookId: string; status: string }[];
  }
  const walletOfSeller = () => new InjectedWallet(owner.market.seller.account, owner.market.chain);
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const sent = (page: Page) => page.locator("section[aria-labelledby=sent] .next > li");
  const listed = (page: Page, count: number) =>
    until(`${count} deliveries are listed`, async () => (await sent(page).count()) === count);

  it("are shown with every attempt, what an address answered as text, and no buttons to who only sees", async () => {
    const { page, faults, close } = await owner.signIn(walletOfSeller(), "/me");
    await page.getByRole("navigation", { name: "Your agent" }).getByRole("link", { name: "Webhooks" }).click();
    await page.getByText("This session only sees.").waitFor();
    const registered = page.locator("section[aria-labelledby=registered] .next > li");
    await registered.filter({ hasText: works }).getByText("Works", { exact: true }).waitFor();
    await registered.filter({ hasText: broken }).getByText("It has failed since").waitFor();
    await listed(page, 2);
    await page.getByLabel("State").selectOption("Failed");
    await listed(page, 1);
    const failed = sent(page).first();
    await failed.getByText(/attempts: answered 500 after/).click();
    const text = await failed.innerText();
    assert.include(text, "<script>alert(1)</script> out of order");
    assert.include(text, "1 hidden character removed");
    assert.strictEqual(await page.getByRole("button", { name: "Send" }).count(), 0);
    await assertShown(page, "/me/webhooks");
    await page.getByLabel("Webhook").selectOption(works);
    await page.getByText("Nothing that was sent passes these filters.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("get a test, what they missed, and a delivery again, and the page says what came of it", async () => {
    const { page, faults, close } = await owner.signIn(walletOfSeller(), "/me/webhooks", "See and act");
    await press(page, `Send a test event to ${works}`);
    await until("the test has arrived", async () => {
      await deliveries();
      return receiver.received.some(({ path, body }) => path === WORKING && body?.event === "webhook.ping");
    });
    await page.getByText(/^Acknowledged: acknowledged with 204 after \d+ ms\.$/).waitFor();
    await listed(page, 3);

    isBroken = false;
    await press(page, `Send what it missed to ${broken}`);
    await page.getByText("1 event will be sent again.").waitFor();
    const acknowledged = async () =>
      (await deliveries()).filter(({ webhookId, status }) => webhookId === broken && status === "acknowledged").length;
    await until("what was missed has arrived", async () => (await acknowledged()) === 1);
    const failed = (await deliveries()).find(({ status }) => status === "failed");
    assert.ok(failed !== undefined);
    await press(page, `Send again ${failed.id}`);
    await until("it has arrived again", async () => (await acknowledged()) === 2);
    await sent(page)
      .filter({ hasText: failed.id })
      .getByText(/^Acknowledged: acknowledged with 204/)
      .waitFor();
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("have a secret that only the wallet's signature shows, rotates and activates", async () => {
    const { api, seller } = owner.market;
    const secret = async () => {
      const { body } = await api.request("GET", "/api/v1/webhooks/secret", { key: seller.apiKey });
      return body.data as { secret: string; next: { secret: string } | null };
    };
    const first = await secret();
    const wallet = walletOfSeller();
    const { page, faults, close } = await owner.signIn(wallet, "/me/webhooks");
    await press(page, "Show the secret");
    await page.getByText("Webhook secret: show it.").waitFor();
    assert.notInclude(await page.content(), first.secret);
    await press(page, "Sign with Test Wallet");
    await page.getByText(first.secret).waitFor();
    await press(page, "Make the next secret");
    wallet.refuses = "personal_sign";
    await press(page, "Sign with Test Wallet");
    await page.getByText("You refused in Test Wallet. Nothing was signed.").waitFor();
    wallet.refuses = undefined;
    assert.deepEqual(await secret(), first);
    await press(page, "Try again");
    await press(page, "Sign with Test Wallet");
    await page.getByRole("button", { name: "Activate the next secret" }).waitFor();
    const { next } = await secret();
    assert.ok(next !== null);
    await page.getByText(next.secret).waitFor();
    await assertShown(page, "/me/webhooks, rotating the secret");
    await press(page, "Activate the next secret");
    await press(page, "Sign with Test Wallet");
    await until("the next secret signs", async () => (await secret()).secret === next.secret);
    await page.getByRole("button", { name: "Activate the next secret" }).waitFor({ state: "detached" });
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("say so when they are removed meanwhile, and teach who has none", async () => {
    const { api, seller, chain } = owner.market;
    const gone = await register("/hook/gone");
    const { page, faults, close } = await owner.signIn(walletOfSeller(), "/me/webhooks", "See and act");
    await page.getByText(gone).first().waitFor();
    const path = `/api/v1/webhooks/${gone}`;
    assert.strictEqual((await api.request("DELETE", path, { key: seller.apiKey })).status, 200);
    await press(page, `Send a test event to ${gone}`);
    await page.getByText("It isn't there any more.").waitFor();
    await close();
    assert.deepEqual(unexpected(faults, "404"), []);

    const stranger = await owner.newAgent("Stranger");
    const other = await owner.signIn(new InjectedWallet(stranger.account, chain), "/me/webhooks");
    await other.page.getByText("agent-marketplace webhooks add").waitFor();
    await other.page.getByText("Nothing was sent. What happens to your agent's deals").waitFor();
    await other.close();
    assert.deepEqual(unexpected(other.faults), []);
  });
});
