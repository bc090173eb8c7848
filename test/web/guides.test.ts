// The guides in the look of the web pages.
import { assert } from "chai";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";

import { startTestApi } from "../fixtures/api.ts";
import type { TestApi } from "../fixtures/api.ts";
import { openBrowser, openPage } from "../fixtures/browser.ts";
import { limitsWith } from "../fixtures/limits.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { assertShown, DESKTOP } from "../fixtures/page-checks.ts";

const PEOPLE = { accept: "text/html" };
const HOSTILE = `</h2><script>alert(1)</script>\u202e"x`;
const linksOf = (html: string) => [...html.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? "");

describe("the guides in a browser", () => {
  let api: TestApi;
  let browser: Browser;

  before(async () => {
    api = await startTestApi({ env: { webDir: await buildPages(), limits: limitsWith({ keyless: 10_000 }) } });
    browser = await openBrowser();
  });
  after(async () => {
    await browser.close();
    await api.close();
  });

  const read = async (path: string) => {
    const answer = await fetch(api.url + path, { headers: PEOPLE });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };

  const on = async (path: string, look: (page: Page) => Promise<void>, options: BrowserContextOptions = {}) => {
    const { page, faults, close } = await openPage(browser, api.url, { viewport: DESKTOP, ...options });
    try {
      await page.goto(api.url + path);
      await look(page);
    } finally {
      await close();
    }
    assert.deepEqual(faults, [], path);
  };

  for (const path of ["/guides", "/guides?q=deadline", "/guides/webhooks", "/guides/operations"]) {
    it(`show ${path} without a fault, accessibly and in every width`, async () => {
      for (const colorScheme of ["light", "dark"] as const) {
        await on(path, (page) => assertShown(page, path), { colorScheme });
      }
    });
  }

  it("have links that all lead on, to pages and to headings", async () => {
    const index = await read("/guides");
    const pages = new Map<string, string>([["/guides", index.text]]);
    const names = linksOf(index.text).filter((link) => link.startsWith("/guides/"));
    assert.isAbove(names.length, 50);
    for (const name of names) {
      const { status, text } = await read(name);
      assert.strictEqual(status, 200, name);
      pages.set(name, text);
    }
    const others = new Set<string>();
    for (const [page, text] of pages) {
      for (const link of linksOf(text).filter((one) => !/^https?:/.test(one))) {
        const [target = "", anchor] = link.split("#");
        const found = target === "" ? text : pages.get(target);
        if (found === undefined) others.add(target);
        else if (anchor !== undefined) assert.include(found, ` id="${anchor}"`, `${page} links to ${link}`);
      }
    }
    for (const path of others) assert.strictEqual((await read(path)).status, 200, path);
    assert.includeMembers([...others], ["/docs", "/openapi.json", "/guides/webhooks.md"]);
  });

  it("are searched without JavaScript, and a result leads to its heading", async () => {
    await on(
      "/guides/tour",
      async (page) => {
        assert.strictEqual(await page.locator("nav.contents [aria-current]").innerText(), "A tour with curl");
        await page.getByRole("searchbox").fill("webhooks registering");
        await page.keyboard.press("Enter");
        await page.waitForURL("**/guides?q=webhooks+registering");
        const first = page.locator(".found li a").first();
        assert.strictEqual(await first.innerText(), "Registering");
        await first.click();
        await page.waitForURL("**/guides/webhooks#registering");
        assert.strictEqual(await page.locator(":target").innerText(), "Registering");
      },
      { javaScriptEnabled: false },
    );
  });

  it("show what is looked for as text, and say when nothing has it", async () => {
    await on(`/guides?q=${encodeURIComponent(HOSTILE)}`, async (page) => {
      const text = await page.locator("main").innerText();
      assert.include(text, `</h2><script>alert(1)</script>"x`);
      assert.include(text, "No section has all of these words.");
      assert.strictEqual(await page.locator("script").count(), 0);
    });
  });

  it("say in the HTML what they are; a search is for nobody to find, and none of them is a script's", async () => {
    const { text, headers } = await read("/guides/webhooks?utm_source=mail");
    assert.include(text, "<title>Webhooks · Agent marketplace</title>");
    assert.include(text, `<link rel="canonical" href="https://market.test/guides/webhooks">`);
    assert.include(text, '<meta name="description" content="Events go out as signed HTTP POSTs with a JSON body.">');
    assert.notInclude(text, "<script");
    assert.include(headers.get("content-security-policy") ?? "", "require-trusted-types-for 'script'");
    const found = await read(`/guides?q=${"deadline ".repeat(100)}`);
    assert.deepEqual([found.status, found.text.includes('<meta name="robots" content="noindex">')], [200, true]);
    assert.strictEqual((await read("/guides/unknown")).status, 404);
    assert.include((await read("/guides/unknown")).text, "There is nothing at this address");
  });
});
