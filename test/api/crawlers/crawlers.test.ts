// What crawlers, feed readers and directories look for.
import { assert } from "chai";

import { routes } from "../../../api/app.ts";
import { describeFeed } from "../../../api/features/crawlers/feed.ts";
import { assertError, listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestAgent, TestApi } from "../../fixtures/api.ts";
import { PUBLIC_URL } from "../../fixtures/environment.ts";
import { childrenOf, parseXml } from "../../fixtures/xml.ts";
import type { XmlElement } from "../../fixtures/xml.ts";

const SECRET_URL = "https://jobs.example.org/hidden-endpoint";
const HOSTILE = `<script>alert(1)</script> ]]> &amp; "quoted" it's\r\na \u200bb \u{1f468}\u200d\u{1f4bb}`;
const ATOM = "{http://www.w3.org/2005/Atom}";
const SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}";

const textOf = (element: XmlElement | undefined, name: string) =>
  element === undefined ? undefined : childrenOf(element, name)[0]?.text;
const linkOf = (element: XmlElement, rel: string) =>
  childrenOf(element, "link").find(({ attributes }) => attributes["rel"] === rel)?.attributes["href"];
const locationsOf = (list: XmlElement) => list.children.map((item) => textOf(item, "loc") ?? "");

describe("what crawlers find", () => {
  let api: TestApi;
  let seller: TestAgent;
  const ids: string[] = [];
  const list = async (fields: object) => {
    const body = { ...listingBody(), ...fields };
    const { body: created } = await api.request("POST", "/api/v1/services", { key: seller.apiKey, body });
    return created.data.id as string;
  };

  before(async () => {
    api = await startTestApi({ timings: { feedMaxAgeMs: 0, sitemapMaxAgeMs: 0 } });
    seller = await api.registerAgent();
    ids.push(await list({ title: "Tables & <forms>", description: HOSTILE, endpointUrl: SECRET_URL }));
    ids.push(await list({ network: "base", currency: "ETH", deliveryType: "async", price: 0.25, priceUnit: "flat" }));
    const archived = await list({ title: "Gone" });
    await api.request("DELETE", `/api/v1/services/${archived}`, { key: seller.apiKey });
  });
  after(() => api.close());

  describe("the feed", () => {
    let feed: XmlElement;
    let entries: XmlElement[];
    before(async () => {
      const { status, headers, text } = await api.request("GET", "/feed.atom");
      assert.deepEqual([status, headers.get("content-type")], [200, "application/atom+xml; charset=utf-8"]);
      feed = await parseXml(text);
      entries = childrenOf(feed, "entry");
    });

    it("has the active listings, the newest first, each with its page", () => {
      assert.deepEqual(
        entries.map((entry) => linkOf(entry, "alternate")),
        ids.toReversed().map((id) => `${PUBLIC_URL}/listings/${id}`),
      );
      assert.deepEqual(
        entries.map((entry) => textOf(entry, "summary")),
        ["0.25 ETH flat, on base", "2.5 USDC per request, on base-sepolia"],
      );
    });

    it("has what RFC 4287 requires: ids, titles, times with a zone, authors and a link to itself", () => {
      assert.strictEqual(feed.name, `${ATOM}feed`);
      assert.strictEqual(linkOf(feed, "self"), `${PUBLIC_URL}/feed.atom`);
      const all = [feed, ...entries];
      for (const element of all) {
        for (const name of ["id", "title", "updated"]) assert.lengthOf(childrenOf(element, name), 1, name);
        assert.ok(URL.canParse(textOf(element, "id") ?? ""));
        assert.match(textOf(element, "updated") ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.ok(textOf(childrenOf(element, "author")[0], "name"));
      }
      assert.strictEqual(new Set(all.map((element) => textOf(element, "id"))).size, all.length);
      const times = entries.map((entry) => textOf(entry, "updated") ?? "").sort();
      assert.strictEqual(textOf(feed, "updated"), times.at(-1));
    });

    it("shows what sellers wrote as text, with a mark where hidden characters were, and nothing of where jobs go", async () => {
      const entry = entries[1];
      assert.ok(entry);
      assert.strictEqual(textOf(entry, "title"), "Tables & <forms>");
      const shown = HOSTILE.replace("\r\n", "\n").replace("\u200b", "\ufffd");
      assert.strictEqual(textOf(entry, "content"), shown);
      const content = childrenOf(entry, "content")[0];
      assert.deepEqual([content?.attributes["type"], content?.children], ["text", []]);
      const { text } = await api.request("GET", "/feed.atom");
      assert.notInclude(text, "hidden-endpoint");
    });

    it("is well-formed without listings, and always the same", async () => {
      const root = await parseXml(describeFeed(PUBLIC_URL, []));
      assert.deepEqual(childrenOf(root, "entry"), []);
      assert.strictEqual(textOf(root, "updated"), "1970-01-01T00:00:00.000Z");
    });
  });

  describe("the site map", () => {
    it("is an index of pages, which lead to every fixed page and to the active listings", async () => {
      const { headers, text } = await api.request("GET", "/sitemap.xml");
      assert.strictEqual(headers.get("content-type"), "application/xml; charset=utf-8");
      const index = await parseXml(text);
      assert.strictEqual(index.name, `${SITEMAP}sitemapindex`);
      const pages = locationsOf(index);
      assert.deepEqual(pages, [
        `${PUBLIC_URL}/sitemap-site.xml`,
        `${PUBLIC_URL}/sitemap-listings-1.xml`,
        `${PUBLIC_URL}/sitemap-sellers-1.xml`,
      ]);
      const read = async (page: string) => parseXml((await api.request("GET", page.replace(PUBLIC_URL, ""))).text);
      const fixed = await read(`${PUBLIC_URL}/sitemap-site.xml`);
      const [listings, sellers] = [await read(pages[1] ?? ""), await read(pages[2] ?? "")];
      for (const list of [fixed, listings, sellers]) {
        assert.strictEqual(list.name, `${SITEMAP}urlset`);
        assert.ok(list.children.every(({ name, children }) => name === `${SITEMAP}url` && children.length === 1));
      }
      assert.deepEqual(
        locationsOf(listings),
        ids.toReversed().map((id) => `${PUBLIC_URL}/listings/${id}`),
      );
      // Two listings are active, both of one seller.
      assert.deepEqual(locationsOf(sellers), [`${PUBLIC_URL}/agents/${seller.walletAddress.toLowerCase()}`]);
      const paths = locationsOf(fixed).map((url) => url.slice(PUBLIC_URL.length));
      assert.includeMembers(paths, [
        "/",
        "/disputes",
        "/status",
        "/docs",
        "/guides",
        "/guides/tour",
        "/guides/operations-accept",
      ]);
      for (const path of paths.filter((one) => /^\/(docs|guides)/.test(one))) {
        assert.strictEqual((await api.request("GET", path)).status, 200, path);
      }
    });

    it("is 404 for a page that its index doesn't name", async () => {
      const names = [
        "listings-0",
        "sellers-0",
        "sellers-2",
        "listings-2",
        "listings-01",
        "listings-100",
        "listings-",
        "listings-1e0",
        "site.xml",
      ];
      for (const name of [...names, "SITE", "__proto__", "..%2Fsite"]) {
        assertError(await api.request("GET", `/sitemap-${name}.xml`), 404, "not_found");
      }
    });
  });

  it("robots.txt lets crawlers read pages, keeps them from the API, and names the site map", async () => {
    const { headers, text } = await api.request("GET", "/robots.txt");
    assert.strictEqual(headers.get("content-type"), "text/plain; charset=utf-8");
    // The grammar of RFC 9309: groups of user agents and rules, and other records anywhere.
    const lines = text.split("\n").filter((line) => line !== "");
    for (const line of lines)
      assert.match(line, /^(User-agent: \*|(Allow|Disallow): \/[\w/.-]*|Sitemap: https:\/\/\S+)$/);
    assert.strictEqual(lines[0], "User-agent: *");
    assert.include(lines, `Sitemap: ${PUBLIC_URL}/sitemap.xml`);
    const rules = lines.flatMap((line) => /^(Allow|Disallow): (.+)$/.exec(line)?.slice(1, 3) ?? []);
    /** The longest rule decides. */
    const isAllowed = (path: string) => {
      const matching = rules.filter((_, at) => at % 2 === 1 && path.startsWith(rules[at] ?? ""));
      const longest = matching.toSorted((left, right) => right.length - left.length)[0];
      return longest === undefined || rules[rules.indexOf(longest) - 1] === "Allow";
    };
    const open = [
      "/",
      "/listings/lst_1",
      "/guides/tour",
      "/guides/tour.md",
      "/llms.txt",
      "/feed.atom",
      "/openapi.json",
    ];
    for (const path of [...open, "/api/v1/market/figures"]) assert.isTrue(isAllowed(path), path);
    for (const path of ["/api/v1/services", "/v1/discover", "/mcp", "/search?q=x"])
      assert.isFalse(isAllowed(path), path);
  });

  describe("the API catalogue", () => {
    const PATH = "/.well-known/api-catalog";

    it("is a link set of RFC 9264 with the profile of RFC 9727, whose links lead to what they say", async () => {
      const { headers, text } = await api.request("GET", PATH);
      assert.strictEqual(
        headers.get("content-type"),
        'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
      );
      const { linkset } = JSON.parse(text) as { linkset: Record<string, string | { href: string; type?: string }[]>[] };
      const [catalogue, ...apis] = linkset;
      assert.deepEqual(catalogue, {
        anchor: PUBLIC_URL + PATH,
        item: apis.map(({ anchor }) => ({ href: anchor as string })),
      });
      for (const { anchor, ...relations } of apis) {
        assert.ok(URL.canParse(anchor as string));
        assert.includeMembers(Object.keys(relations), ["service-doc", "status"]);
        for (const link of Object.values(relations).flatMap((links) => links as { href: string; type: string }[])) {
          const answer = await api.request("GET", link.href.replace(PUBLIC_URL, ""));
          assert.strictEqual(answer.status, 200, link.href);
          assert.match(answer.headers.get("content-type") ?? "", new RegExp(`^${link.type}\\b`), link.href);
        }
      }
      assert.ok(apis[0]?.["service-desc"], "the HTTP API has a description for programs");
    });

    it("answers HEAD with a link to itself", async () => {
      const answer = await fetch(api.url + PATH, { method: "HEAD" });
      assert.deepEqual([answer.status, await answer.text()], [200, ""]);
      assert.strictEqual(answer.headers.get("link"), `<${PATH}>; rel="api-catalog"`);
    });
  });

  it("is 304 to those who have it, compressed for those who take it, and counts towards no window", async () => {
    const documents = ["/robots.txt", "/.well-known/api-catalog", "/feed.atom", "/sitemap.xml", "/sitemap-site.xml"];
    for (const path of documents) {
      const first = await api.request("GET", path);
      assert.match(first.headers.get("cache-control") ?? "", /^public, max-age=\d+$/, path);
      const headers = { "if-none-match": first.headers.get("etag") ?? "" };
      const again = await api.request("GET", path, { headers });
      assert.deepEqual([again.status, again.text], [304, ""], path);
      const small = await api.request("GET", path, { headers: { "accept-encoding": "gzip" } });
      assert.deepEqual([small.headers.get("content-encoding"), small.text], ["gzip", first.text], path);
      assert.strictEqual(again.headers.get("x-ratelimit-remaining"), again.headers.get("x-ratelimit-limit"), path);
      assertError(await api.request("GET", `${path}?page=2`), 400, "validation_error");
    }
  });

  it("stands in no description, and is open to everyone", () => {
    const found = routes.filter(({ audience }) => audience === "crawlers");
    assert.isAbove(found.length, 5);
    for (const { auth, limitClass, method, readsOnly } of found) {
      assert.deepEqual([auth, limitClass, method, readsOnly], ["none", "unlimited", "GET", true]);
    }
  });
});
