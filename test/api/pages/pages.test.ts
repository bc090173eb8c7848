// How web pages are served. What is on them is tested in test/web.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { limitsWith } from "../../fixtures/limits.ts";
import { writePlainBundle } from "../../fixtures/page-bundle.ts";
import { until } from "../../fixtures/until.ts";

/** As Chromium asks for a page. */
const BROWSER = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8" };
const KEYLESS = 12;

describe("web pages", () => {
  let dir: string;
  let api: TestApi;
  let now = Date.now();
  let client = 0;

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), "pages-"));
    api = await startTestApi({
      // Each client has an address of its own.
      env: { webDir: dir, limits: limitsWith({ keyless: KEYLESS }), trustedProxies: 1 },
      clock: { now: () => new Date(now) },
      oneProcess: "moves its clock and counts what it renders",
    });
  });
  after(async () => {
    await api.close();
    rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(() => {
    // Nothing is kept any more, and nobody has asked.
    now += 11_000;
    client += 1;
  });

  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(api.url + path, { headers: { "x-forwarded-for": `203.0.113.${client}`, ...headers } });
  const shown = async (path: string, headers: Record<string, string> = BROWSER) =>
    (await (await ask(path, headers)).json()) as Record<string, any>;

  /** Another bundle is noticed within a second. Each look is by a new client, and nothing is kept for it. */
  const untilShown = (version: number) =>
    until(`pages of bundle ${version}`, async () => {
      now += 11_000;
      client += 1;
      return (await shown("/listings/lst_9")).version === version;
    });

  describe("before their bundle is built", () => {
    it("are 503 with the command that builds it, and nothing else changes", async () => {
      const more = ["/me/keys", "/me/webhooks", "/me/listings", "/me/listings/new", "/me/listings/lst_1", "/me/hire"];
      const owners = ["/me", "/me/deals", "/me/deals/txn_1", ...more];
      for (const path of ["/", "/search?q=x", "/status", "/listings/lst_1", "/agents/0x01", "/deals/0x01", ...owners]) {
        const answer = await api.request("GET", path, { headers: BROWSER });
        assertError(answer, 503, "pages_not_built");
        assert.deepEqual(answer.body.details, { command: "npm run build:web" });
      }
      assertError(await api.request("GET", "/assets/client-1.js"), 404, "not_found");
      assertError(await api.request("GET", "/nothing-here", { headers: BROWSER }), 404, "not_found");
    });

    it("are 503 while it is being written", async () => {
      mkdirSync(join(dir, "server"), { recursive: true });
      assertError(await api.request("GET", "/"), 503, "pages_not_built");
    });
  });

  describe("with a bundle", () => {
    before(async () => {
      writePlainBundle(dir);
      await untilShown(1);
    });

    it("are rendered from the API's own answers", async () => {
      const page = await shown("/");
      assert.deepEqual(page.statuses, { health: 200, networks: 200 });
      assert.strictEqual(page.networks.data.length, 2);
      const files = { script: "/assets/client-1.js", styles: ["/assets/client-1.css"] };
      assert.deepEqual(page.site, {
        publicUrl: "https://market.test",
        version: page.site.version,
        isLocalStack: false,
        assets: { ...files, owner: files, operator: files },
      });
    });

    it("say that nothing written into them runs, and that nobody may frame them", async () => {
      const { headers } = await ask("/", BROWSER);
      const policy = headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; /);
      for (const rule of ["frame-ancestors 'none'", "require-trusted-types-for 'script'", "base-uri 'none'"]) {
        assert.include(policy.split("; "), rule);
      }
      assert.notInclude(policy, "unsafe");
      const others = ["content-type", "cache-control", "x-content-type-options", "vary", "set-cookie"];
      assert.deepEqual(
        others.map((name) => headers.get(name)),
        ["text/html; charset=utf-8", "public, max-age=10", "nosniff", "Accept-Encoding", null],
      );
    });

    it("are kept for ten seconds, whoever asks and with whatever cookie", async () => {
      const first = await shown("/listings/lst_1");
      now += 9_999;
      const again = await shown("/listings/lst_1", { ...BROWSER, cookie: "session=other", "x-api-key": "svc_none" });
      assert.deepEqual(again, first);
      now += 2;
      assert.strictEqual((await shown("/listings/lst_1")).rendered, Number(first.rendered) + 1);
    });

    it("are rendered once for many who ask at the same time", async () => {
      const all = await Promise.all(Array.from({ length: 20 }, () => shown("/deals/0x02")));
      assert.strictEqual(new Set(all.map(({ rendered }) => rendered as number)).size, 1);
    });

    it("are 304 for a client that has them", async () => {
      const etag = (await ask("/", BROWSER)).headers.get("etag") ?? "";
      const answer = await ask("/", { ...BROWSER, "if-none-match": etag });
      assert.deepEqual([answer.status, await answer.text()], [304, ""]);
    });

    it("take any query, because links are passed on with what trackers add", async () => {
      assert.strictEqual((await ask("/?utm_source=mail&window=9&window=8", BROWSER)).status, 200);
    });

    it("count one keyless call of the client for a new page, and none for a kept one", async () => {
      for (let made = 0; made < KEYLESS; made += 1) {
        assert.strictEqual((await ask(`/listings/count-${made}`, BROWSER)).status, 200, `page ${made}`);
        assert.strictEqual((await ask(`/listings/count-0`, BROWSER)).status, 200);
      }
      assert.strictEqual((await ask("/listings/one-more", BROWSER)).status, 429);
      assert.strictEqual((await ask("/listings/count-0", BROWSER)).status, 200, "a kept page");
      const unknown = await ask("/nothing-here", BROWSER);
      assert.match(await unknown.text(), /^problem 429 \d+$/);
      client += 1;
      assert.strictEqual((await ask("/listings/one-more", BROWSER)).status, 200, "another client's refusal");
    });

    it("hand out their files for ever, compressed as they were built", async () => {
      const plain = await ask("/assets/client-1.js", { "accept-encoding": "identity" });
      assert.deepEqual(
        ["content-type", "cache-control", "content-encoding"].map((name) => plain.headers.get(name)),
        ["text/javascript; charset=utf-8", "public, max-age=31536000, immutable", null],
      );
      assert.strictEqual(await plain.text(), "script;");
      const head = await fetch(`${api.url}/assets/client-1.js`, {
        method: "HEAD",
        headers: { "accept-encoding": "br, gzip" },
      });
      assert.deepEqual([head.headers.get("content-encoding"), head.headers.get("content-length")], ["br", "6"]);
    });

    it("hand out no other file of the folder", async () => {
      for (const file of [
        "notes.txt",
        "client-1.js.br",
        "..%2fmanifest.json",
        "%2e%2e%2f%2e%2e%2fserver%2fserver.js",
        "x",
      ]) {
        assertError(await api.request("GET", `/assets/${file}`), 404, "not_found");
      }
    });

    it("show an unknown address to a browser as a page, and to programs as data", async () => {
      // This service has no admin key, and so no operator's page.
      for (const path of ["/nothing-here", "/agents", "/listings/no-page", "/operator"]) {
        const answer = await ask(path, BROWSER);
        assert.deepEqual([answer.status, await answer.text()], [404, "problem 404 undefined"], path);
        assert.match(answer.headers.get("content-type") ?? "", /^text\/html/);
        assert.match(answer.headers.get("content-security-policy") ?? "", /script-src 'self'/);
      }
      assert.strictEqual((await ask("/nothing-here", BROWSER)).headers.get("vary"), "Accept, Accept-Encoding");
      for (const accept of ["*/*", "application/json", "application/json, text/html;q=0.5"]) {
        assertError(await api.request("GET", "/nothing-here", { headers: { accept } }), 404, "not_found");
      }
      for (const path of ["/api/v1/none", "/v1/none", "/.well-known/none"]) {
        assertError(await api.request("GET", path, { headers: BROWSER }), 404, "not_found");
      }
      assertError(await api.request("POST", "/nothing-here", { headers: BROWSER }), 404, "not_found");
    });

    it("keep no page of what is missing or unavailable for longer than it is so", async () => {
      assert.strictEqual((await ask("/status", BROWSER)).status, 404);
      assert.strictEqual((await ask("/status", BROWSER)).headers.get("cache-control"), "no-cache");
    });

    it("take the bundle that has taken the place of another", async () => {
      assert.strictEqual((await shown("/listings/lst_9")).version, 1);
      writePlainBundle(dir, 22);
      await untilShown(22);
    });
  });
});
