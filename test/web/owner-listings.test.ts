// The listings of an agent's owner, in a real browser: made, changed, paused, archived, hidden by an operator and appealed for.
import { assert } from "chai";
import type { Page } from "playwright-core";

import type { TestAgent } from "../fixtures/api.ts";
import { listService } from "../fixtures/deals.ts";
import { moderationCalls } from "../fixtures/moderation.ts";
import { InjectedWallet } from "../fixtures/injected-wallet.ts";
import { OwnerBrowser, unexpected } from "../fixtures/owner-browser.ts";
import { assertShown } from "../fixtures/page-checks.ts";
import { until } from "../fixtures/until.ts";

/** After that, the question is asked again. */
const ASK_MS = 2_000;

describe("an owner's listings in a browser", () => {
  let owner: OwnerBrowser;
  const { decided } = moderationCalls(() => owner.api);
  before(async () => {
    owner = await OwnerBrowser.start();
  });
  after(() => owner.close());

  const walletOf = (agent: TestAgent) => new InjectedWallet(agent.account, owner.market.chain);
  const press = (page: Page, name: string) => page.getByRole("button", { name, exact: true }).click();
  const read = async (agent: TestAgent, id: string) =>
    (await owner.api.request("GET", `/api/v1/services/${id}`, { key: agent.apiKey })).body.data as Record<
      string,
      unknown
    >;
  const idIn = (page: Page) => new URL(page.url()).pathname.split("/").at(-1) ?? "";

  it("are made with the API's bounds beside each field, once however often they are sent", async () => {
    const agent = await owner.newAgent("New Seller");
    const { page, faults, close } = await owner.signIn(walletOf(agent), "/me/listings", "See and act");
    await page.getByText("Your agent offers nothing at the moment.").waitFor();
    await page.getByRole("link", { name: "Offer a service" }).first().click();
    await page.getByText("1 to 100 characters, on one line").waitFor();
    await page.getByLabel("Price").fill("0.0000001");
    await press(page, "List the service");
    await page.getByText("Nothing was sent. Look at the fields that say what they need.").waitFor();
    await page.getByText("At most 6 decimals in USDC.").waitFor();
    await page.getByText("Choose one.").waitFor();
    await assertShown(page, "/me/listings/new");

    await page.getByLabel("Title").fill("Ledger <b>audit</b>");
    await page.getByLabel("Description").fill("Reads a ledger and says what is wrong with it.");
    await page.getByLabel("Category").selectOption("risk_assessment");
    await page.getByLabel("Price").fill("2.50");
    await page.getByLabel("A buyer must give an address to call back").check();
    // The first answer is lost on its way.
    let lost = 0;
    await page.route("**/api/v1/services", async (route) => {
      if (route.request().method() !== "POST" || lost > 0) {
        await route.continue();
        return;
      }
      lost += 1;
      // What the test sends for the page has no such header of the browser's own.
      const headers = { ...(await route.request().allHeaders()), "sec-fetch-site": "same-origin" };
      assert.strictEqual((await route.fetch({ headers })).status(), 201);
      await route.abort();
    });
    await press(page, "List the service");
    await page.getByText("The service doesn't answer, so this may have worked.").waitFor();
    await press(page, "List the service");
    await page.getByRole("heading", { name: "It is listed" }).waitFor();
    // Decision 61: it is listed, and says why not everyone can buy it.
    const warnings = await page.locator(".notice.care").allInnerTexts();
    assert.match(warnings.join("\n"), /callbackUrl/);
    await page.getByRole("link", { name: "Ledger <b>audit</b>" }).click();
    await page.getByRole("heading", { name: "What it says" }).waitFor();
    const listing = await read(agent, idIn(page));
    assert.deepInclude(listing, { title: "Ledger <b>audit</b>", price: 2.5, status: "active", callbackRequired: true });
    const path = `/api/v1/services?sellerId=${agent.agentId}`;
    assert.lengthOf((await owner.api.request("GET", path, { key: agent.apiKey })).body.data as object[], 1);
    await close();
    assert.deepEqual(unexpected(faults, "ERR_FAILED"), []);
  });

  it("are changed, paused, activated and archived", async () => {
    const { seller, buyer, serviceId } = owner.market;
    const { page, faults, close } = await owner.signIn(walletOf(seller), "/me/listings", "See and act");
    await page.getByRole("link", { name: "Token risk report" }).click();
    await press(page, "Change");
    await press(page, "Save");
    await page.getByText("Nothing differs from what is there.").waitFor();
    await page.getByLabel("Price").fill("3.75");
    await page.getByLabel("Currency").selectOption("POL");
    // What a program changes while the form is open stays.
    const path = `/api/v1/services/${serviceId}`;
    const title = "Token risk report, longer";
    const renamed = await owner.api.request("PATCH", path, { key: seller.apiKey, body: { title } });
    assert.strictEqual(renamed.status, 200, renamed.text);
    // Any news has the page read the listing again.
    const message = { toAgentId: seller.agentId, body: "Hello" };
    await owner.api.request("POST", "/api/v1/messages", { key: buyer.apiKey, body: message });
    await page.getByRole("heading", { name: title }).waitFor();
    await press(page, "Save");
    await page.getByText("Saved.").waitFor();
    await page.locator(".notice.care").first().waitFor();
    await page.getByText("3.75 POL per document").waitFor();
    assert.deepInclude(await read(seller, serviceId), { price: 3.75, currency: "POL", title });
    await assertShown(page, "/me/listings/{serviceId}");

    await press(page, "Pause");
    await page.getByText("Buyers can't order, and search doesn't show it.").waitFor();
    assert.strictEqual((await read(seller, serviceId))["status"], "paused");
    await press(page, "Activate");
    await page.getByText("Buyers find it and can order.").waitFor();
    await press(page, "Archive…");
    await press(page, "Cancel");
    await press(page, "Archive…");
    await press(page, "Archive for good");
    await page.getByText("An archived listing can't be changed any more.").waitFor();
    assert.strictEqual((await read(seller, serviceId))["status"], "archived");
    await page.getByRole("navigation", { name: "Your agent" }).getByRole("link", { name: "Listings" }).click();
    await page.getByText("Your agent offers nothing at the moment.").waitFor();
    await page.getByLabel("State").selectOption("Archived");
    await page.getByRole("link", { name: title }).waitFor();
    assert.strictEqual(new URL(page.url()).search, "?status=archived");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("show what an operator decided, take the one appeal, and follow its answer", async () => {
    const agent = await owner.newAgent("Hidden Seller");
    const serviceId = await listService(owner.api, agent, { title: "Hidden thing" });
    const text = "The same <b>offer</b> ten times.";
    const { page, faults, close } = await owner.signIn(walletOf(agent), "/me/listings", "See and act");
    await page.getByRole("link", { name: "Hidden thing" }).waitFor();
    // The decision is news for the page that is open.
    await decided("hide", "listing", serviceId, { reason: "spam", text });
    await page.getByText("The operator writes: The same <b>offer</b> ten times.").waitFor();
    await page.getByRole("link", { name: "Hidden thing" }).click();
    await page.getByText("because of spam").waitFor();
    const appeal = page.getByLabel("Appeal against it: what should the operator know?");
    await appeal.fill("a".repeat(1_001));
    assert.isTrue(await page.getByRole("button", { name: "Send the appeal" }).isDisabled());
    await appeal.fill("They differ in their networks.");
    await assertShown(page, "/me/listings/{serviceId}, hidden");
    await press(page, "Send the appeal");
    await page.getByText("Your appeal waits for the operator's answer.").waitFor();
    await page.getByText("You wrote: They differ in their networks.").waitFor();
    await decided("restore", "listing", serviceId, { reason: "appeal", text: "You are right." });
    await page.getByText("The page that buyers see").waitFor();
    await page.getByRole("navigation", { name: "Your agent" }).getByRole("link", { name: "Listings" }).click();
    await page.getByText("The operator has granted your appeal.").waitFor();
    await page.getByText("because of your appeal. The operator writes: You are right.").waitFor();
    await assertShown(page, "/me/listings");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("are seen as search sees them, for a question of a buyer", async () => {
    const agent = await owner.newAgent("Found Seller");
    const description = "Translates a contract from German into English, with a list of its unclear terms.";
    const serviceId = await listService(owner.api, agent, { title: "Contract translation", description });
    const { page, faults, close } = await owner.signIn(walletOf(agent), `/me/listings/${serviceId}`, "See and act");
    await page.getByRole("heading", { name: "How search sees it" }).waitFor();
    await until("search has the listing", async () => {
      await page.getByLabel("What a buyer might ask").last().fill("translate a contract into English");
      await press(page, "Ask");
      return page
        .getByText(/^Search shows it as number \d+ of \d+\.$/)
        .waitFor({ timeout: ASK_MS })
        .then(
          () => true,
          () => false,
        );
    });
    await page.getByText("Completeness").waitFor();
    await assertShown(page, "/me/listings/{serviceId}, as search sees it");
    await close();
    assert.deepEqual(unexpected(faults), []);
  });

  it("can't be changed by who only sees, and are missing to others", async () => {
    const { buyer } = owner.market;
    const agent = await owner.newAgent("Watched Seller");
    const serviceId = await listService(owner.api, agent, { title: "Watched thing" });
    const watching = await owner.signIn(walletOf(agent), `/me/listings/${serviceId}`);
    await watching.page.getByText("This session only sees. To change the listing").waitFor();
    assert.strictEqual(await watching.page.getByRole("button", { name: "Pause" }).count(), 0);
    await watching.page.goto(`${owner.url}/me/listings/new`);
    await watching.page.getByText("This session only sees. To offer something").waitFor();
    await watching.close();
    assert.deepEqual(unexpected(watching.faults), []);

    const other = await owner.signIn(walletOf(buyer), `/me/listings/${serviceId}`, "See and act");
    await other.page.getByRole("heading", { name: "Your agent has no such listing" }).waitFor();
    await other.page.goto(`${owner.url}/me/listings/lst_nothing`);
    await other.page.getByRole("heading", { name: "Your agent has no such listing" }).waitFor();
    await other.close();
    assert.deepEqual(unexpected(other.faults, "404"), []);
  });
});
