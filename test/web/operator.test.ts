// The operator's page in a real browser: the key, reports, decisions, appeals, quarantine and levels.
import { assert } from "chai";
import type { Browser, Page } from "playwright-core";

import { ADMIN_KEY } from "../../scripts/testing/admin-key.ts";
import { startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { openBrowser, openPage } from "../fixtures/browser.ts";
import type { WatchedPage } from "../fixtures/browser.ts";
import { checkOut, listService, openMarket } from "../fixtures/deals.ts";
import { AS_ADMIN } from "../fixtures/environment.ts";
import { heldRuling } from "../fixtures/held-ruling.ts";
import { moderationCalls } from "../fixtures/moderation.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { assertAccessible, assertShown, DESKTOP, isAlive } from "../fixtures/page-checks.ts";
import { quarantinedEscrow } from "../fixtures/quarantine.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";

const HOSTILE = `<img src=x onerror="alert(1)"> [click](javascript:alert(1)) \u202eover`;
const SHOWN = `<img src=x onerror="alert(1)"> [click](javascript:alert(1)) over`;
const BROWSER = { accept: "text/html,*/*;q=0.8" };
const IDLE_MS = 31 * 60_000;
// Run inside of the browser, whose types the tests don't have.
const STORED = "JSON.stringify([localStorage.length, sessionStorage.length, document.cookie])";
const SCRIPT = /<script type="module" src="([^"]+)">/;

describe("the operator's page in a browser", () => {
  let api: TestApi;
  let webDir: string;
  let browser: Browser;
  let seller: TestAgent;
  let reporter: TestAgent;

  before(async () => {
    webDir = await buildPages();
    api = await startTestApi({ env: { webDir, adminApiKey: ADMIN_KEY } });
    [seller, reporter] = [await api.registerAgent(), await api.registerAgent()];
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await api.close();
  });

  const { decided, decisionsAbout } = moderationCalls(() => api);

  /** Opens the page without a key. @param prepare runs before it is loaded */
  const open = async (prepare: (page: Page) => Promise<void> = () => Promise.resolve()): Promise<WatchedPage> => {
    const watched = await openPage(browser, api.url, { viewport: DESKTOP });
    await prepare(watched.page);
    await watched.page.goto(`${api.url}/operator`);
    await isAlive(watched.page);
    return watched;
  };
  const give = async (page: Page, key: string) => {
    await page.getByLabel("Admin key").fill(key);
    await page.keyboard.press("Enter");
  };
  const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor();
  const asksForKey = (page: Page) => page.getByLabel("Admin key").waitFor();
  const go = async (page: Page, name: string) => {
    await page.getByRole("navigation", { name: "Operator" }).getByRole("link", { name, exact: true }).click();
    await heading(page, name);
  };
  /** Opens a view with the key. */
  const enter = async (view: string): Promise<WatchedPage> => {
    const watched = await open();
    await give(watched.page, ADMIN_KEY);
    await heading(watched.page, "Overview");
    await go(watched.page, view);
    return watched;
  };
  const read = async (path: string) => {
    const answer = await api.request("GET", path, AS_ADMIN);
    assert.strictEqual(answer.status, 200, answer.text);
    return answer.body.data;
  };
  const isOnMarket = async (serviceId: string) => {
    const { status } = await fetch(`${api.url}/api/v1/market/listings/${serviceId}`);
    assert.include([200, 404], status);
    return status === 200;
  };

  it("takes no other key, and says so", async () => {
    const { page, faults, close } = await open();
    await assertShown(page, "/operator, without a key");
    await give(page, "not-the-key");
    await page.getByText("That isn't the admin key of this service").waitFor();
    assert.strictEqual(await page.getByLabel("Admin key").inputValue(), "");
    await give(page, `${ADMIN_KEY.slice(0, 9)} ${ADMIN_KEY.slice(9)}`);
    await page.getByText("A key has visible ASCII characters alone").waitFor();
    await page.route("**/api/v1/admin/**", (route) => route.abort());
    await give(page, ADMIN_KEY);
    await page.getByText("The service doesn't answer, so the key can't be checked.").waitFor();
    await assertAccessible(page, "/operator, with a problem");
    await close();
    const expected = /status of 401|api\/v1\/admin|net::ERR_FAILED/;
    assert.deepEqual(
      faults.filter((fault) => !expected.test(fault)),
      [],
    );
  });

  it("shows every view with the key, at every width, and keeps the key in no storage", async () => {
    const { page, faults, close } = await open();
    await give(page, ADMIN_KEY);
    await heading(page, "Overview");
    await page.getByRole("heading", { name: "Base Sepolia" }).waitFor();
    await assertShown(page, "/operator");
    for (const view of ["Quarantine", "Reports", "Appeals", "Decisions", "KYA levels", "Rulings"]) {
      await go(page, view);
      await until("the view has read", async () => (await page.getByText("Reading…").count()) === 0);
      await assertShown(page, `/operator, ${view}`);
    }
    assert.strictEqual(await page.evaluate<string>(STORED), '[0,0,""]');
    assert.deepEqual(await page.context().cookies(), []);
    assert.notInclude(await page.content(), ADMIN_KEY);
    assert.notInclude(page.url(), ADMIN_KEY);
    await close();
    assert.deepEqual(faults, []);
  });

  it("forgets the key on a reload, on the way back from another page, when asked to, and after 30 idle minutes", async () => {
    const { page, close } = await open(async (opened) => opened.clock.install());
    const giveAgain = async () => {
      await give(page, ADMIN_KEY);
      await heading(page, "Overview");
    };
    await giveAgain();
    await page.reload();
    await asksForKey(page);
    await giveAgain();
    await page.getByRole("link", { name: "Status", exact: true }).click();
    await heading(page, "Status");
    await page.goBack();
    await asksForKey(page);
    await giveAgain();
    await page.getByRole("button", { name: "Forget the key" }).click();
    await page.getByText("The key is forgotten.").waitFor();
    await giveAgain();
    await page.clock.fastForward(IDLE_MS);
    await page.getByText("wasn't used for 30 minutes").waitFor();
    await asksForKey(page);
    await close();
  });

  it("closes a report with a note, and shows strangers' words as text", async () => {
    const serviceId = await listService(api, seller);
    const body = { subject: { type: "listing", id: serviceId }, reason: "spam", text: SHOWN };
    const filed = await api.request("POST", "/api/v1/reports", { key: reporter.apiKey, body });
    assert.strictEqual(filed.status, 201, filed.text);
    const { page, faults, close } = await enter("Reports");
    const report = page.locator("li").filter({ hasText: "Spam: a listing" });
    assert.include(await report.innerText(), SHOWN);
    assert.strictEqual(await report.locator("img").count(), 0);
    await report.getByLabel("Note, for operators alone").fill("The offers differ.");
    await report.getByRole("button", { name: "Close: nothing wrong" }).click();
    await page.getByText("No report waits for you.").waitFor();
    const [closed] = await read(`/api/v1/admin/moderation/reports?subjectId=${serviceId}`);
    assert.include(closed, { state: "dismissed", note: "The offers differ." });
    await page.getByRole("button", { name: "Closed", exact: true }).click();
    await page.getByText("The offers differ.").waitFor();
    await close();
    assert.deepEqual(faults, []);
  });

  it("hides a listing, which leaves the market, and restores it", async () => {
    const serviceId = await listService(api, seller);
    assert.isTrue(await isOnMarket(serviceId));
    const { page, faults, close } = await enter("Decisions");
    const form = page.getByRole("form", { name: "Decide" });
    await form.getByLabel("Its id").fill(serviceId);
    await form.getByLabel("Reason").selectOption("infringement");
    await form.getByLabel("Text, which the agent reads").fill("The texts are another's.");
    await form.getByRole("button", { name: "Hide a listing" }).click();
    await form.getByText("Hidden. The listing has left the market.").waitFor();
    await until("the listing has left the market", async () => !(await isOnMarket(serviceId)));
    const audit = page.getByRole("region", { name: "The audit of decisions, newest first" });
    const decision = audit.locator("li").filter({ hasText: "Infringement: The texts are another's." });
    await decision.getByRole("link", { name: "Restore it" }).click();
    const restore = form.getByRole("button", { name: "Restore a listing or an agent" });
    // Until then, the form of the other decision is still there.
    await restore.waitFor();
    assert.strictEqual(await form.getByLabel("Its id").inputValue(), serviceId);
    await form.getByLabel("Text, which the agent reads").fill("They are its own.");
    await restore.click();
    await form.getByText("Restored. It is as it was before the decision.").waitFor();
    await until("the listing is back", () => isOnMarket(serviceId));
    await assertShown(page, "/operator, with decisions");
    assert.deepEqual(
      (await decisionsAbout(serviceId)).map(({ action }) => action),
      ["restore", "hide"],
    );
    await form.getByLabel("Its id").fill("lst_unknown");
    await restore.click();
    await form.getByText("The service has no such record.").waitFor();
    await close();
    assert.deepEqual(
      faults.filter((fault) => !fault.includes("status of 404")),
      [],
    );
  });

  it("rejects an appeal with a text, and grants another by restoring", async () => {
    const appealed = async () => {
      const serviceId = await listService(api, seller);
      const { id: decisionId } = await decided("hide", "listing", serviceId);
      const body = { decisionId, text: `Of ${serviceId}: ${SHOWN}` };
      const lodged = await api.request("POST", "/api/v1/appeals", { key: seller.apiKey, body });
      assert.strictEqual(lodged.status, 201, lodged.text);
      return serviceId;
    };
    const [wrong, right] = [await appealed(), await appealed()];
    const { page, faults, close } = await enter("Appeals");
    for (const [serviceId, button] of [
      [wrong, "Reject"],
      [right, "Restore"],
    ] as const) {
      const appeal = page.locator("li").filter({ hasText: `Of ${serviceId}` });
      await appeal.getByLabel("Answer, which the agent reads").fill(`To ${button} it.`);
      await appeal.getByRole("button", { name: button }).click();
      await appeal.waitFor({ state: "detached" });
    }
    await page.getByText("No appeal waits for you.").waitFor();
    const states = (await read("/api/v1/admin/moderation/appeals?state=closed")) as {
      state: string;
      answer: string;
      decision: { subject: { id: string } };
    }[];
    const stateOf = (serviceId: string) => {
      const found = states.find(({ decision }) => decision.subject.id === serviceId);
      return [found?.state, found?.answer];
    };
    assert.deepEqual(stateOf(wrong), ["rejected", "To Reject it."]);
    assert.deepEqual(stateOf(right), ["granted", "To Restore it."]);
    await until("the listing is back", () => isOnMarket(right));
    await close();
    assert.deepEqual(faults, []);
  });

  it("has a quarantined escrow retried, and shows its error", async () => {
    const { id } = await quarantinedEscrow(api, HOSTILE);
    const { page, faults, close } = await enter("Quarantine");
    const escrow = page.locator("li").filter({ hasText: "SyntaxError" });
    assert.include(await escrow.innerText(), SHOWN);
    await escrow.getByText("1 hidden character removed").waitFor();
    await escrow.getByRole("button", { name: "Retry now" }).click();
    await escrow.getByText("A worker retries it now.").waitFor();
    const listed = (await read("/api/v1/admin/quarantine")) as { id: string; retryAt: string | null }[];
    assert.strictEqual(listed.find((one) => one.id === id)?.retryAt, null);
    await page.getByRole("button", { name: "Read again" }).click();
    await escrow.getByText("as soon as a worker gets to it").waitFor();
    await close();
    assert.deepEqual(faults, []);
  });

  it("marks a dispute whose ruling is overdue, says what holds it, and fills the form of an admin's ruling", async () => {
    const bought = await checkOut(await openMarket(api, await openChain("base-sepolia")));
    const { disputeId } = await heldRuling(api, bought, HOSTILE);
    const { page, faults, close } = await open();
    await give(page, ADMIN_KEY);
    await page.getByRole("link", { name: "1 ruling is held on Base Sepolia: no_ether" }).click();
    await heading(page, "Rulings");
    const dispute = page.locator("li").filter({ has: page.getByText("Overdue", { exact: true }) });
    const text = await dispute.innerText();
    for (const part of ["for the buyer is held", "The wallet can't pay for gas. Send it ether.", SHOWN]) {
      assert.include(text, part);
    }
    await dispute.getByRole("button", { name: "Read both sides" }).click();
    await dispute.getByText("Nothing was delivered.").waitFor();
    const said = await dispute.locator("dd").allInnerTexts();
    assert.lengthOf(
      said.filter((one) => one.includes(SHOWN)),
      2,
    );
    assert.strictEqual(await dispute.getByText("The seller", { exact: true }).count(), 1);
    assert.strictEqual(await dispute.locator("img").count(), 0);
    await dispute.getByRole("button", { name: "Rule it" }).click();
    const form = page.getByRole("form", { name: "Rule as admin" });
    await until("the form has the dispute", async () => {
      return (await form.getByLabel("Id of the dispute").inputValue()) === disputeId;
    });
    await assertShown(page, "/operator, with a held ruling");
    await page.getByRole("link", { name: "Base", exact: true }).click();
    await page.getByText("No dispute is open on Base.").waitFor();
    assert.strictEqual(await form.getByLabel("Id of the dispute").inputValue(), "");
    await close();
    assert.deepEqual(faults, []);
  });

  it("sets a KYA level with what was verified, and refuses to rule what isn't there", async () => {
    const { page, faults, close } = await enter("KYA levels");
    await page.getByLabel("Id of the agent").fill(seller.agentId);
    await page.getByLabel("What was verified").selectOption("identity");
    await page.getByLabel("Reason, for the record").fill("Met its owner.");
    await page.getByRole("button", { name: "Set the level" }).click();
    await page.getByText(`${seller.agentId} has level 3.`).waitFor();
    const { body } = await api.request("GET", `/api/v1/agents/${seller.agentId}`, { key: seller.apiKey });
    assert.strictEqual(body.data.kyaLevel, 3);
    await go(page, "Rulings");
    const form = page.getByRole("form", { name: "Rule as admin" });
    await form.getByLabel("Id of the dispute").fill("dsp_0123456789abcdef0123456789abcdef");
    await form.getByLabel("Outcome").selectOption("Split");
    await form.getByLabel("The buyer's share, in percent").fill("30");
    await form.getByLabel("Rationale, which both parties read").fill("A part of it was usable.");
    await form.getByLabel("I have read both sides.").check();
    await form.getByRole("button", { name: "Rule the dispute" }).click();
    await form.getByText("The service has no such record.").waitFor();
    await close();
    assert.deepEqual(
      faults.filter((fault) => !fault.includes("status of 404")),
      [],
    );
  });

  it("is the same for everyone, is found by nobody, and has a script that no other page loads", async () => {
    const [page, market, owner] = await Promise.all(
      ["/operator", "/", "/me"].map(async (path) => (await fetch(api.url + path, { headers: BROWSER })).text()),
    );
    assert.include(page ?? "", '<meta name="robots" content="noindex">');
    assert.include(page ?? "", "This page needs JavaScript");
    const script = SCRIPT.exec(page ?? "")?.[1] ?? "";
    assert.match(script, /^\/assets\/.+\.js$/);
    for (const other of [market, owner]) {
      assert.notInclude(other ?? "", script);
      assert.notInclude(other ?? "", "/operator");
    }
  });

  it("doesn't exist on a service without an admin key", async () => {
    const without = await startTestApi({ env: { webDir } });
    const answer = await fetch(`${without.url}/operator`, { headers: BROWSER });
    assert.deepEqual([answer.status, answer.headers.get("content-type")], [404, "text/html; charset=utf-8"]);
    assert.notMatch(await answer.text(), /operator|<script type="module"/i);
    const head = await fetch(`${without.url}/operator`, { method: "HEAD" });
    assert.strictEqual(head.status, 404);
    const posted = await fetch(`${without.url}/operator`, { method: "POST" });
    assert.strictEqual(posted.status, 404, "as every unknown address");
    await without.close();
  });
});
