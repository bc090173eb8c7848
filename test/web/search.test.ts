// The search page in a real browser.
import { assert } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { listingBody, startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { openBrowser, openPage } from "../fixtures/browser.ts";
import { limitsWith } from "../fixtures/limits.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { assertAccessible, assertFits, DESKTOP, isAlive } from "../fixtures/page-checks.ts";
import { until } from "../fixtures/until.ts";

const DISCOVER = "**/api/v1/discover";
/** More than the time for which the keys must rest. */
const RESTED_MS = 401;
const HOSTILE = `<script>alert(1)</script>${"W".repeat(60)} contract`;
/** Searches of an address in a minute. */
const SEARCHES = 4;

describe("the search page in a browser", () => {
  let api: TestApi;
  let browser: Browser;
  let client = 0;

  before(async () => {
    const limits = limitsWith({ keyless: 10_000, discover: SEARCHES });
    api = await startTestApi({ env: { webDir: await buildPages(), limits, trustedProxies: 1 } });
    const { apiKey } = await api.registerAgent({ agentName: "Ledger Lines" });
    for (const fields of [
      { title: "Contract risk report", category: "risk_assessment", price: 2 },
      { title: "Contract translation", category: "documentation", price: 8, network: "base" },
      { title: HOSTILE, category: "other", price: 9 },
    ]) {
      const answer = await api.request("POST", "/api/v1/services", { key: apiKey, body: listingBody(fields) });
      assert.strictEqual(answer.status, 201, answer.text);
    }
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await api.close();
  });

  /** Opens a path from an address of its own, with a clock that only the test moves. */
  const on = async (
    path: string,
    look: (page: Page, asked: string[]) => Promise<void>,
    { faults: allowed = [], ...options }: BrowserContextOptions & { faults?: RegExp[] } = {},
  ): Promise<void> => {
    client += 1;
    const extraHTTPHeaders = { "x-forwarded-for": `203.0.113.${client}` };
    const { page, faults, close } = await openPage(browser, api.url, {
      viewport: DESKTOP,
      extraHTTPHeaders,
      ...options,
    });
    const asked: string[] = [];
    page.on("request", (request) => {
      if (request.url().endsWith("/discover")) asked.push(request.postDataJSON().query as string);
    });
    try {
      if (options.javaScriptEnabled !== false) await page.clock.install();
      await page.goto(api.url + path);
      if (options.javaScriptEnabled !== false) await isAlive(page);
      await look(page, asked);
    } finally {
      await close();
    }
    assert.deepEqual(
      faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault))),
      [],
      path,
    );
  };
  const titles = (page: Page) => page.locator(".results .what > a").allInnerTexts();
  const shows = (page: Page, ...expected: string[]) =>
    until("the results are there", async () => (await titles(page)).join() === expected.join());
  const box = (page: Page) => page.getByLabel("What do you need?");

  for (const colorScheme of ["light", "dark"] as const) {
    it(`is without a fault, accessible and fits every width, ${colorScheme}`, async () => {
      for (const path of ["/search", "/search?q=contract"]) {
        await on(
          path,
          async (page) => {
            await page.locator("details").evaluateAll((all) => {
              for (const one of all) (one as unknown as { open: boolean }).open = true;
            });
            await assertAccessible(page, path);
            await assertFits(page, path);
          },
          { colorScheme },
        );
      }
    });
  }

  it("shows a shared address whole, with its filters, also without JavaScript", async () => {
    const path = "/search?q=contract&network=base&category=documentation&maxPrice=9&minScore=";
    await on(
      path,
      async (page) => {
        assert.deepEqual(await titles(page), ["Contract translation"]);
        const fields = [
          box(page),
          ...["Network", "Category", "Price up to, in USD"].map((name) => page.getByLabel(name)),
        ];
        const values = await Promise.all(fields.map((field) => field.inputValue()));
        assert.deepEqual(values, ["contract", "base", "documentation", "9"]);
        await page.getByLabel("Network").selectOption("Any");
        await page.getByLabel("Category").selectOption("Any");
        await page.getByRole("button", { name: "Search" }).click();
        await page.waitForURL((url) => url.searchParams.get("network") === "");
        assert.sameMembers(await titles(page), ["Contract translation", "Contract risk report", HOSTILE]);
      },
      { javaScriptEnabled: false },
    );
  });

  it("searches once the keys rest, from three characters on, and the address follows", async () => {
    await on("/search", async (page, asked) => {
      await box(page).pressSequentially("co");
      await page.clock.fastForward(RESTED_MS);
      await page.getByText("Type at least three characters.").waitFor();
      await box(page).pressSequentially("ntract risk");
      await page.clock.fastForward(RESTED_MS);
      await page.locator(".results").waitFor();
      assert.deepEqual(asked, ["contract risk"]);
      assert.strictEqual((await titles(page))[0], "Contract risk report");
      await page.getByLabel("Network").selectOption("Base");
      await page.clock.fastForward(RESTED_MS);
      await shows(page, "Contract translation");
      assert.strictEqual(page.url(), `${api.url}/search?q=contract+risk&network=base`);
      assert.match(await page.title(), /^contract risk · Search · /);
      await page.reload();
      await isAlive(page);
      await shows(page, "Contract translation");
      assert.strictEqual(await page.getByLabel("Network").inputValue(), "base");
      assert.include(await page.locator(".results").innerText(), "Why here");
    });
  });

  it("has one request in flight: the latest", async () => {
    await on(
      "/search",
      async (page, asked) => {
        let release = (): void => undefined;
        const held = new Promise<void>((resolve) => (release = resolve));
        await page.route(DISCOVER, async (route) => {
          if (route.request().postDataJSON().query === "contract") await held;
          await route.continue().catch(() => undefined);
        });
        await box(page).fill("contract");
        const first = page.waitForRequest(DISCOVER);
        const aborted = page.waitForEvent("requestfailed");
        await page.clock.fastForward(RESTED_MS);
        await first;
        await box(page).fill("contract translation");
        await aborted;
        await page.clock.fastForward(RESTED_MS);
        await page.locator(".results").waitFor();
        release();
        assert.deepEqual(asked, ["contract", "contract translation"]);
        assert.strictEqual((await titles(page))[0], "Contract translation");
      },
      { faults: [/^failed: .*discover net::ERR_ABORTED$/] },
    );
  });

  it("says at its limit when it goes on, and goes on then", async () => {
    await on(
      "/search?q=contract",
      async (page, asked) => {
        await page.route(
          DISCOVER,
          (route) => route.fulfill({ status: 429, headers: { "Retry-After": "12" }, json: {} }),
          { times: 1 },
        );
        await box(page).fill("contract translation");
        await page.clock.fastForward(RESTED_MS);
        await page.getByText(/searched more often .* It goes on in 1[12] s, by itself\./).waitFor();
        assert.isNotEmpty(await titles(page), "what was found before stays");
        await page.clock.fastForward(12_000);
        await page.getByText(/searched more often/).waitFor({ state: "detached" });
        assert.deepEqual(asked, ["contract translation", "contract translation"]);
        assert.strictEqual((await titles(page))[0], "Contract translation");
      },
      { faults: [/status of 429/] },
    );
  });

  it("counts a new page as a search of the client, and says at its limit when it goes on", async () => {
    client += 1;
    const ask = (path: string) =>
      fetch(api.url + path, { headers: { accept: "text/html", "x-forwarded-for": `203.0.113.${client}` } });
    for (let made = 0; made < SEARCHES; made += 1) assert.strictEqual((await ask(`/search?q=word${made}`)).status, 200);
    const refused = await ask("/search?q=word-more");
    assert.strictEqual(refused.status, 429);
    assert.match(
      await refused.text(),
      /searched more often than this service answers\. Reload the page in (\d+ s|1 min)\./,
    );
    assert.strictEqual((await ask("/search?q=word0")).status, 200, "a kept page");
    assert.strictEqual((await ask("/search")).status, 200, "nothing is searched");
    assert.strictEqual((await ask("/?window=30d")).status, 200, "other pages");
  });

  it("leads on from what can't be found, and shows a stranger's text as text", async () => {
    await on("/search?q=xyzzyqua&maxPrice=1", async (page) => {
      const without = page.getByRole("link", { name: "search without filters" });
      assert.strictEqual(await without.getAttribute("href"), "/search?q=xyzzyqua");
    });
    await on("/search?q=%3Cscript%3E+contract", async (page) => {
      assert.include(await titles(page), HOSTILE);
      assert.strictEqual(await page.locator("main script").count(), 0);
    });
    const html = await (await fetch(`${api.url}/search?q=contract`)).text();
    assert.include(html, '<meta name="robots" content="noindex">');
    assert.notInclude(html, "endpointUrl");
  });
});
