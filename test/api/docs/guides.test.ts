import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { assert } from "chai";

import { Guides } from "../../../api/features/docs/guides.ts";
import { describeForModels } from "../../../api/features/docs/llms-text.ts";
import { assertError, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";

const linksOf = (html: string) => [...html.matchAll(/href="([^"]+)"/g)].map(([, link]) => link ?? "");
const idsOf = (html: string) => new Set([...html.matchAll(/<h\d id="([^"]+)"/g)].map(([, id]) => id));

const markdownLinksOf = (text: string) => [...text.matchAll(/\]\(([^)\s]*)\)/g)].map(([, link]) => link ?? "");
/** Longer than most. */
const LONG_URL = `https://${"m".repeat(40)}.example.org`;

describe("the guides", () => {
  describe("as served while no web pages are built", () => {
    let api: TestApi;
    before(async () => {
      api = await startTestApi({ env: { webDir: "none" } });
    });
    after(() => api.close());

    it("lists every page for callers", async () => {
      const { status, text } = await api.request("GET", "/guides");
      assert.strictEqual(status, 200);
      const names = linksOf(text).flatMap((link) =>
        link.startsWith("/guides/") ? [link.slice("/guides/".length)] : [],
      );
      const inFolder = (folder: string, prefix: string) =>
        readdirSync(`docs/${folder}`).map((file) => `${prefix}${file.replace(/\.md$/, "")}`);
      const expected = [
        ...["first-agent", "tour", "operations"],
        ...inFolder("api", ""),
        ...inFolder("operations", "operations-").filter((name) => name !== "operations-README"),
      ];
      assert.sameMembers(names, expected);
    });

    it("renders each page with its title, and every link between them leads to a page and a heading", async () => {
      const { text: index } = await api.request("GET", "/guides");
      const links = linksOf(index);
      assert.isAbove(links.length, 30);
      const pages = new Map<string, string>();
      for (const link of links) {
        const { status, text, headers } = await api.request("GET", link);
        assert.strictEqual(status, 200, link);
        assert.match(headers.get("content-type") ?? "", /^text\/html/, link);
        pages.set(link, text);
      }
      let followed = 0;
      for (const [page, text] of pages) {
        if (page === "/docs") continue;
        assert.include(text, "<h1 id=", page);
        for (const link of linksOf(text)) {
          if (/^https?:/.test(link)) continue;
          const [target = "", anchor] = link.split("#");
          const found = target === "" ? text : (pages.get(target) ?? (await api.request("GET", target)).text);
          if (target !== "" && target !== "/guides") assert.ok(pages.has(target), `${page} links to ${link}`);
          if (anchor !== undefined) assert.ok(idsOf(found).has(anchor), `${page} links to ${link}`);
          followed += 1;
        }
      }
      assert.isAbove(followed, 100);
    });

    it("are Markdown under the same address with .md, whose links lead to Markdown", async () => {
      const names = linksOf((await api.request("GET", "/guides")).text).filter((link) => link.startsWith("/guides/"));
      assert.isAbove(names.length, 50);
      const known = new Set(names.map((name) => `${name}.md`));
      for (const name of names) {
        const { status, text, headers } = await api.request("GET", `${name}.md`);
        assert.strictEqual(status, 200, name);
        assert.strictEqual(headers.get("content-type"), "text/markdown; charset=utf-8");
        assert.match(text.trimStart(), /^# /, name);
        assert.notInclude(text, "<!--", name);
        for (const link of markdownLinksOf(text)) {
          if (!/^(https?:|#)/.test(link)) assert.include(known, link.split("#")[0], `${name} links to ${link}`);
        }
      }
    });

    it("are listed for language models in /llms.txt with the ways in, in at most 8 kB", async () => {
      const { status, text, headers } = await api.request("GET", "/llms.txt");
      assert.strictEqual(status, 200);
      assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8");
      assert.match(text, /^# Agent marketplace\n\n> .+/);
      for (const way of [
        "/mcp`",
        "/downloads/cli.tgz`",
        "/downloads/sdk.tgz viem`",
        "/openapi.json)",
        "/api/v1/discover ",
      ]) {
        assert.include(text, `${PUBLIC_URL}${way}`);
      }
      const links = markdownLinksOf(text).map((link) => link.replace(PUBLIC_URL, ""));
      for (const link of links) assert.strictEqual((await api.request("GET", link)).status, 200, link);
      const guides = linksOf((await api.request("GET", "/guides")).text).filter((link) => link.startsWith("/guides/"));
      assert.sameMembers(
        links.filter((link) => link.startsWith("/guides/")),
        guides.map((guide) => `${guide}.md`),
      );
      const longest = describeForModels({ publicUrl: LONG_URL, guides: new Guides({ root: "docs" }).list() });
      assert.isAtMost(Buffer.byteLength(longest), 8_000);
    });

    it("are 304 to programs that have the text, and compressed for those that take it", async () => {
      for (const path of ["/llms.txt", "/guides/webhooks.md"]) {
        const first = await api.request("GET", path);
        const etag = first.headers.get("etag") ?? "";
        assert.match(etag, /^W\/"[0-9a-f]{32}"$/);
        assert.strictEqual(first.headers.get("cache-control"), "public, max-age=300");
        const again = await api.request("GET", path, { headers: { "if-none-match": etag } });
        assert.deepEqual([again.status, again.text, again.headers.get("etag")], [304, "", etag], path);
        const small = await api.request("GET", path, { headers: { "accept-encoding": "br" } });
        assert.deepEqual([small.headers.get("content-encoding"), small.text], ["br", first.text], path);
        const { limit, remaining } = { limit: "x-ratelimit-limit", remaining: "x-ratelimit-remaining" };
        assert.strictEqual(again.headers.get(remaining), again.headers.get(limit), "it is outside of every window");
      }
    });

    it("loads nothing, runs no script and allows only its own style", async () => {
      const { headers, text } = await api.request("GET", "/guides/webhooks");
      const policy = headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'; style-src 'sha256-[\w+/]+='; base-uri 'none'; form-action 'none'; /);
      assert.notInclude(policy, "unsafe");
      assert.notMatch(text, /<(script|link|img|iframe)\b/);
    });

    it("is a 404 not_found for every other name, whatever path it spells", async () => {
      for (const name of [
        "unknown",
        "README",
        "webhooks.txt",
        "unknown.md",
        "webhooks.MD",
        "webhooks.md.md",
        "..%2Ftour.md",
        "WEBHOOKS",
        "..%2Fpackage.json",
        "api%2Fwebhooks",
        "constructor",
      ]) {
        assertError(await api.request("GET", `/guides/${name}`), 404, "not_found");
      }
    });

    it("is linked from the API's description", async () => {
      const { body } = await api.request("GET", "/openapi.json");
      assert.strictEqual((await api.request("GET", body.externalDocs.url as string)).status, 200);
    });
  });

  it("are all in the image, whose folder of documentation has what the Dockerfile copies", () => {
    const copied = /^COPY (docs\/.+)$/gm;
    const names = [...readFileSync("Dockerfile", "utf8").matchAll(copied)].flatMap(([, line = ""]) =>
      line.split(" ").slice(0, -1),
    );
    const ignored = readFileSync(".dockerignore", "utf8").split("\n");
    assert.includeMembers(
      ignored,
      names.map((name) => `!${name}`),
    );
    const image = mkdtempSync(join(tmpdir(), "image-"));
    try {
      for (const name of names) cpSync(name, join(image, name), { recursive: true });
      const inImage = new Guides({ root: join(image, "docs") }).list();
      assert.deepEqual(inImage, new Guides({ root: "docs" }).list());
    } finally {
      rmSync(image, { recursive: true, force: true });
    }
  });

  describe("from pages with markup", () => {
    let root: string;
    before(() => {
      root = mkdtempSync(join(tmpdir(), "guides-"));
      for (const folder of ["api", "operations", "inside"]) mkdirSync(join(root, folder));
      writeFileSync(join(root, "first-agent.md"), "# First\n");
      writeFileSync(join(root, "tour.md"), "# Tour\n");
      writeFileSync(join(root, "inside", "secret.md"), "# Secret\n");
    });
    after(() => {
      rmSync(root, { recursive: true, force: true });
    });
    const render = (text: string) => {
      writeFileSync(join(root, "api", "page.md"), text);
      return new Guides({ root }).read("page")?.html ?? "";
    };

    it("escapes HTML, and makes no link that runs a script", () => {
      const html = render(
        "# T\n\n<script>alert(1)</script> <b>x</b>\n\n[a](javascript:alert(1)) [b](data:text/html,x)\n",
      );
      assert.include(html, "&lt;script&gt;alert(1)&lt;/script&gt; &lt;b&gt;x&lt;/b&gt;");
      assert.notInclude(html, "href");
    });

    it("keeps the text of a link to a page that isn't served", () => {
      const html = render(
        "# T\n\nSee [the secret](../inside/secret.md), [above](../../README.md) and [the tour](../tour.md#tour).\n",
      );
      assert.include(html, 'See the secret, above and <a href="/guides/tour#tour">the tour</a>.');
    });

    it("leads from Markdown to Markdown, and changes no code", async () => {
      const code = "```md\n[in a block](../tour.md)\n```\n\nand `[in a span](../tour.md)`";
      const text = `# T\n\n[\`one\`](../tour.md#a), [two](../inside/secret.md), [three](https://x.test/a)\n\n${code}.\n`;
      render(text);
      const found = await new Guides({ root }).readMarkdown("page");
      const expected = text.replace("../tour.md#a", "/guides/tour.md#a").replace("[two](../inside/secret.md)", "two");
      assert.strictEqual(found?.text.toString(), expected);
    });

    it("shows no comments", () => {
      assert.include(render("# T\n\nIt costs <!-- gas:x -->12<!-- /gas -->.\n"), "It costs 12.");
    });

    it("reads each page once", () => {
      const guides = new Guides({ root });
      const first = guides.read("page")?.html;
      writeFileSync(join(root, "api", "page.md"), "# Another\n");
      assert.strictEqual(guides.read("page")?.html, first);
      assert.strictEqual(new Guides({ root }).read("page")?.title, "Another");
    });
  });
});
