// The web pages in a real browser, over an API with listings.
import { gzipSync } from "node:zlib";

import { assert } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { listingBody, startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { openBrowser, openPage } from "../fixtures/browser.ts";
import type { WatchedPage } from "../fixtures/browser.ts";
import { act, deliverDeal, fundedDeal, openMarket } from "../fixtures/deals.ts";
import type { CheckoutData, Market } from "../fixtures/deals.ts";
import { limitsWith } from "../fixtures/limits.ts";
import { randomMarket, storeMarket } from "../fixtures/market.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { assertShown, DESKTOP, isAlive } from "../fixtures/page-checks.ts";
import { seededRandom } from "../fixtures/random.ts";
import { openChain } from "../fixtures/stack.ts";
import { until } from "../fixtures/until.ts";

/** Where the focus is; empty if it can't be seen. */
const FOCUSED = `(({ activeElement: active }) =>
  getComputedStyle(active).outlineStyle === "none" ? "" : (active.getAttribute("href") ?? active.getAttribute("name") ?? active.textContent))(document)`;
const SCRIPT_BYTES = 60_000;
const PICTURE_BYTES = 60_000;
/** Everything that a stranger may write into a listing to get out of its text. */
const HOSTILE = {
  title: `<script>alert(1)</script>${"W".repeat(75)}`,
  description:
    `</script><script>alert(2)</script> <img src=x onerror=alert(3)> javascript:alert(4) ` +
    `https://elsewhere.test/ zero\u200bwidth ${"x".repeat(1_500)}`,
};

/** An answer with its body as bytes. */
async function fetchBytes(url: string) {
  const answer = await fetch(url);
  return { status: answer.status, headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
}

/** Stores disputes that have ended, as the follower does. */
async function storeDisputes(api: TestApi): Promise<void> {
  const settledAt = Math.floor(Date.now() / 1_000);
  const ends = [
    { outcome: "SellerPaid", buyerPercent: 0, resolutionMethod: "ruling", resolvedBy: "system" },
    { outcome: "Split", buyerPercent: 30, resolutionMethod: "agreement", resolvedBy: null },
  ];
  const records = Array.from({ length: 60 }, (_, n) => ({
    _id: `txn_${String(n).padStart(32, "0")}`,
    escrowId: `0x${n.toString(16).padStart(64, "0")}`,
    unsolicited: false,
    network: "base",
    status: "resolved",
    escrow: {
      ...ends[n % 2],
      settledAt: settledAt - n,
      disputedAt: settledAt - 7_200 - n,
      valueUsd: "2500000",
      rationaleHash: `0x${"ab".repeat(32)}`,
    },
  }));
  await api.container.features.transactions.models.transactions.collection.insertMany(records as never[]);
}

describe("the web pages in a browser", () => {
  let api: TestApi;
  let browser: Browser;
  let seller: TestAgent;
  let listing: string;
  let hostile: string;
  let market: Market;
  let deal: CheckoutData;

  before(async () => {
    const webDir = await buildPages();
    // All of them ask from one address.
    api = await startTestApi({ env: { webDir, limits: limitsWith({ keyless: 10_000 }) } });
    seller = await api.registerAgent({ agentName: "Ledger Lines" });
    const list = async (fields: Record<string, unknown>): Promise<string> => {
      const answer = await api.request("POST", "/api/v1/services", { key: seller.apiKey, body: listingBody(fields) });
      assert.strictEqual(answer.status, 201, answer.text);
      return answer.body.data.id as string;
    };
    listing = await list({ title: "Token risk report" });
    hostile = await list(HOSTILE);
    const block = await api.container.chains["base-sepolia"].head();
    await storeMarket(api, "base-sepolia", randomMarket(seededRandom(), block.timestamp, 300), block.number);
    await api.container.features.analytics.market["base-sepolia"].step();
    market = await openMarket(api, await openChain("base-sepolia"));
    for (let ended = 0; ended < 2; ended += 1) {
      const { transactionId } = await fundedDeal(market);
      await deliverDeal(market, transactionId);
      await act(api, market.chain, market.buyer, transactionId, "accept");
    }
    deal = await fundedDeal(market);
    await storeDisputes(api);
    await api.container.features.market.statusRecorder.step();
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await api.close();
  });

  /** Opens a path, and closes the page afterwards. Nothing may have gone wrong on it. */
  const on = async (
    path: string,
    look: (page: Page, watched: WatchedPage) => Promise<void>,
    options: BrowserContextOptions = {},
  ): Promise<void> => {
    const watched = await openPage(browser, api.url, { viewport: DESKTOP, ...options });
    try {
      await watched.page.goto(api.url + path);
      if (options.javaScriptEnabled !== false) await isAlive(watched.page);
      await look(watched.page, watched);
    } finally {
      await watched.close();
    }
    assert.deepEqual(watched.faults, [], path);
  };

  const paths = (): Record<string, string> => ({
    market: "/",
    listing: `/listings/${listing}`,
    hostile: `/listings/${hostile}`,
    agent: agentPath(),
    deal: dealPath(),
    disputes: "/disputes?network=base",
    status: "/status",
  });
  const dealPath = () => `/deals/${deal.paymentInstructions.escrowId}`;

  const agentPath = () => `/agents/${market.seller.walletAddress}`;

  for (const name of ["market", "listing", "hostile", "agent", "deal", "disputes", "status"]) {
    for (const colorScheme of ["light", "dark"] as const) {
      it(`show the ${name} page without a fault, accessibly and in every width, ${colorScheme}`, async () => {
        const path = paths()[name] ?? "";
        await on(path, (page) => assertShown(page, path), { colorScheme });
      });
    }
  }

  it("lead from the market to a listing by the keyboard alone", async () => {
    await on("/", async (page) => {
      const links = await page.locator("a[href], button, input").count();
      const reached = new Set<string>();
      for (let pressed = 0; pressed < links; pressed += 1) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate<string>(FOCUSED);
        reached.add(at);
        if (at === `/listings/${listing}`) break;
      }
      assert.include([...reached], `/listings/${listing}`);
      assert.notInclude([...reached], "", "the focus can't be seen");
      await page.keyboard.press("Enter");
      await page.waitForURL(`**/listings/${listing}`);
      assert.match(await page.title(), /^Token risk report · /);
    });
  });

  it("show a hostile listing as text", async () => {
    for (const path of ["/", `/listings/${hostile}`]) {
      await on(path, async (page) => {
        const text = await page.locator("main").innerText();
        assert.include(text, "<script>alert(1)</script>");
        assert.include(text, "1 hidden character removed".slice(0, path === "/" ? 0 : undefined));
        const written = await page.locator("main script, main img[src='x'], main a[href^='https://elsewhere']").count();
        assert.strictEqual(written, 0);
        const own = path === "/" ? 2 : 3;
        assert.strictEqual(await page.locator("script").count(), own, "the page's own");
      });
    }
  });

  it("can be read without JavaScript", async () => {
    await on(
      "/",
      async (page) => {
        assert.include(await page.locator("#newest + *").innerText(), "Token risk report");
        assert.match(await page.getByLabel("Base Sepolia").innerText(), /Volume\s+\$\d/);
        await page.getByRole("link", { name: "30 days" }).click();
        await page.waitForURL("**/?window=30d");
        assert.strictEqual(
          await page.locator("[aria-label='Window of the figures'] [aria-current]").innerText(),
          "30 days",
        );
      },
      { javaScriptEnabled: false },
    );
  });

  it("switch the window without being loaded again, and go back", async () => {
    await on("/", async (page) => {
      await page.evaluate(() => {
        (globalThis as unknown as { kept: boolean }).kept = true;
      });
      const current = page.locator("[aria-label='Window of the figures'] [aria-current]");
      await page.getByRole("link", { name: "24 hours" }).click();
      await current.filter({ hasText: "24 hours" }).waitFor();
      assert.match(page.url(), /\/\?window=24h$/);
      await page.goBack();
      await current.filter({ hasText: "7 days" }).waitFor();
      assert.isTrue(await page.evaluate(() => (globalThis as unknown as { kept: boolean }).kept));
    });
  });

  it("say since when they are old once the service doesn't answer, and go on when it does", async () => {
    const { page, close } = await openPage(browser, api.url);
    await page.clock.install();
    await page.goto(api.url);
    await isAlive(page);
    const notice = page.getByText("The service doesn't answer. What you see is from");
    await page.route("**/api/v1/market/**", (route) => route.abort());
    await page.clock.fastForward(31_000);
    await notice.waitFor();
    assert.include(await page.locator("#newest + *").innerText(), "Token risk report");
    await page.unroute("**/api/v1/market/**");
    await page.clock.fastForward(31_000);
    await notice.waitFor({ state: "detached" });
    await close();
  });

  it("show a deal's money, its moves and what can happen next, and follow it to its end", async () => {
    await until("the deal is indexed", async () => (await fetch(api.url + dealPath())).status === 200);
    const { page, faults, close } = await openPage(browser, api.url);
    await page.clock.install();
    await page.goto(api.url + dealPath());
    await isAlive(page);
    assert.match(await page.locator("h1").innerText(), /^2\.5 USDC\s+Funded$/);
    const next = page.locator("#next + *");
    assert.match(await next.innerText(), /by the seller · submitDelivery[\s\S]*until[\s\S]* left/);
    assert.include(await page.locator("#moves + *").innerText(), "The buyer paid the deposit into escrow");
    await act(api, market.chain, market.seller, deal.transactionId, "refund");
    await until("the page shows the end", async () => {
      const answered = page.waitForResponse("**/api/v1/market/deals/**");
      // A jump: a clock that runs on would also end the request, whose time is limited.
      await page.clock.fastForward(31_000);
      await answered;
      return (await next.innerText()) === "Nothing: the deal has ended.";
    });
    assert.match(await page.locator("h1").innerText(), /Refunded$/);
    assert.match(await page.title(), /^Deal 0x[0-9a-f]{4}….*: Refunded · /);
    await close();
    assert.deepEqual(faults, []);
  });

  it("show an agent's score, deals and listings, without JavaScript, and lead to its deals and back", async () => {
    await until("the releases are indexed", async () =>
      (await (await fetch(api.url + agentPath())).text()).includes("Deals settled</dt><dd>2</dd>"),
    );
    await on(
      dealPath(),
      async (page) => {
        await page.getByLabel("Parties and terms").getByRole("link").last().click();
        await page.waitForURL(`**${agentPath().toLowerCase()}`);
        const card = page.getByLabel("Base Sepolia", { exact: true });
        assert.match(await card.innerText(), /Score\s+2\s[\s\S]*2 paid, \d declined[\s\S]*0 won, 0 lost/);
        assert.strictEqual(await card.getByRole("img").getAttribute("aria-label"), "Score from 1 to 2");
        assert.match(await page.getByLabel("Base", { exact: true }).innerText(), /No deal yet: its score is 0\./);
        assert.strictEqual(await page.locator("#offers + * tbody tr").count(), 1);
        assert.strictEqual(await page.locator("#changes + * tbody tr").count(), 2);
        await page.locator("#changes + * a").first().click();
        await page.waitForURL(/\/deals\/0x[0-9a-f]{64}\?network=base-sepolia$/);
      },
      { javaScriptEnabled: false },
    );
  });

  it("show how disputes ended, page by page, without JavaScript", async () => {
    await on(
      "/disputes?network=base",
      async (page) => {
        const rows = page.locator("#ended").locator("xpath=../..").locator("tbody tr");
        assert.match(
          await page.getByLabel("How they ended").innerText(),
          /Ended\s+60\s+For the buyer\s+0%\s+For the seller\s+50%/,
        );
        assert.match(
          await rows.first().innerText(),
          /for the seller\s+by a ruling[\s\S]*\$2\.50[\s\S]*Not kept[\s\S]*after 2 h/,
        );
        assert.match(await rows.nth(1).innerText(), /30 % to the buyer, 70 % to the seller[\s\S]*none: not a ruling/);
        const first = await rows.count();
        await page.getByRole("link", { name: "Older disputes" }).click();
        await page.waitForURL("**/disputes?network=base&cursor=*");
        assert.strictEqual(first + (await rows.count()), 60);
      },
      { javaScriptEnabled: false },
    );
  });

  it("say in the HTML what they are, for crawlers and for links that are shared", async () => {
    const html = await (await fetch(`${api.url}/listings/${listing}`)).text();
    assert.match(html, /<title>Token risk report · Agent marketplace<\/title>/);
    assert.include(html, `<link rel="canonical" href="https://market.test/listings/${listing}">`);
    assert.match(html, /<meta name="description" content="2\.5 USDC per request on Base Sepolia\. Matches incoming/);
    const [, facts = ""] = /<script type="application\/ld\+json">(.*)<\/script>/.exec(html) ?? [];
    const { name, offers, url, ...others } = JSON.parse(facts) as Record<string, unknown>;
    assert.deepEqual([name, url], ["Token risk report", `https://market.test/listings/${listing}`]);
    assert.deepEqual(offers, { "@type": "Offer", price: "2.5", priceCurrency: "USDC", url });
    assert.strictEqual(others["@type"], "Service");
    const first = await fetch(api.url);
    assert.strictEqual(first.headers.get("link"), '</.well-known/api-catalog>; rel="api-catalog"');
    assert.include(await first.text(), '<link rel="alternate" type="application/atom+xml" title="New listings"');
    const market = await (await fetch(`${api.url}/?window=24h&utm_source=mail`)).text();
    assert.include(market, `<link rel="canonical" href="https://market.test/?window=24h">`);
  });

  it("name a picture for shared links, which is a small PNG of 1,200 by 630", async () => {
    for (const path of ["/", `/listings/${listing}`, "/search"]) {
      const html = await (await fetch(api.url + path)).text();
      assert.include(html, '<meta name="twitter:card" content="summary_large_image">');
      const [, address = ""] =
        /<meta property="og:image" content="https:\/\/market\.test(\/assets\/[\w.-]+)">/.exec(html) ?? [];
      const { status, headers, body } = await fetchBytes(api.url + address);
      assert.deepEqual([status, headers.get("content-type")], [200, "image/png"], path);
      assert.include(headers.get("cache-control") ?? "", "immutable");
      assert.strictEqual(body.subarray(1, 4).toString(), "PNG");
      const { width, height } = { width: body.readUInt32BE(16), height: body.readUInt32BE(20) };
      assert.deepEqual([width, height], [1_200, 630]);
      assert.include(html, `<meta property="og:image:width" content="${width}">`);
      assert.isAtMost(body.length, PICTURE_BYTES);
    }
  });

  it("are 404 for what isn't there, as a page that leads on", async () => {
    for (const path of [
      "/nothing-here",
      "/listings/lst_none",
      "/listings/%3Cscript%3E",
      `/deals/0x${"0".repeat(64)}`,
      "/deals/0x1",
      `/agents/0x${"0".repeat(40)}`,
      "/agents/0x1",
    ]) {
      const answer = await fetch(api.url + path, { headers: { accept: "text/html" } });
      assert.strictEqual(answer.status, 404, path);
      const html = await answer.text();
      assert.include(html, "There is nothing at this address");
      assert.include(html, '<meta name="robots" content="noindex">');
    }
  });

  it("load at most 60 kB of script", async () => {
    const html = await (await fetch(api.url)).text();
    const scripts = [...html.matchAll(/<script[^>]* src="([^"]+)"/g)].map(([, src]) => src ?? "");
    assert.isNotEmpty(scripts);
    const files = await Promise.all(scripts.map(async (src) => (await fetch(api.url + src)).arrayBuffer()));
    const bytes = files.reduce((sum, file) => sum + gzipSync(Buffer.from(file)).length, 0);
    assert.isAtMost(bytes, SCRIPT_BYTES);
  });
});
