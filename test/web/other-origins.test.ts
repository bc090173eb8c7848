// What pages of other origins can do with the session of their visitor, in a real browser (decision 57).
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

import { assert } from "chai";
import type { Browser, BrowserContext, Page } from "playwright-core";

import { assertError, startTestApi } from "../fixtures/api.ts";
import type { TestAgent, TestApi } from "../fixtures/api.ts";
import { openBrowser } from "../fixtures/browser.ts";
import { CERTIFICATE, KEY } from "../fixtures/https-server.ts";
import { buildPages } from "../fixtures/page-bundle.ts";
import { sessionBody, SESSIONS } from "../fixtures/page-session.ts";

const USAGE = "/api/v1/auth/usage";
const MEMORY = "/api/v1/memory";
const TLS = { cert: CERTIFICATE, key: KEY };
/** Two names of one site, as the tests' certificate has them. The browser finds them on loopback. */
const [MARKET, NEIGHBOUR] = ["market.files.example", "neighbour.files.example"];

/** A request of a script on a page. */
interface Sent {
  method?: string;
  mode?: string;
  headers?: Record<string, string>;
  json?: object;
}

/** The service behind a door, and a browser that has signed in there. */
interface SignedIn {
  api: TestApi;
  agent: TestAgent;
  url: string;
  context: BrowserContext;
  page: Page;
  token: string;
}

describe("a page's session and other origins", () => {
  let browser: Browser;
  const closing: (() => unknown)[] = [];
  before(async () => {
    browser = await openBrowser(["--host-resolver-rules=MAP *.files.example 127.0.0.1"]);
  });
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });
  after(() => browser.close());

  it("on loopback: another port gets the cookie, and can neither read nor act with it", async () => {
    const signedIn = await signIn(createServer, (port) => `http://127.0.0.1:${port}`);
    const { api, agent, url, page, context, token } = signedIn;
    assert.deepInclude((await context.cookies())[0], { name: "session", secure: false, httpOnly: true });
    const own = await ask(page, USAGE, { headers: { "x-session-token": token } });
    assert.strictEqual(own.status, 200, own.text);

    const neighbour = await startNeighbour(createHttpServer, (port) => `http://127.0.0.1:${port}`);
    const other = await context.newPage();
    await other.goto(neighbour.url);
    const [stolen = ""] = neighbour.cookies;
    assert.match(stolen, /^session=[0-9a-f]{64}$/, "cookies ignore ports");
    await assertShutOut(signedIn, other);
    // Its server lies about where the request comes from, and still has no token.
    const lies = { cookie: stolen, "sec-fetch-site": "same-origin", origin: url };
    assertError(await api.request("GET", USAGE, { headers: lies }), 403, "session_token_invalid");
    const note = { body: { key: "note", value: 1 }, headers: lies };
    assertError(await api.request("POST", MEMORY, note), 403, "session_token_invalid");
    assertError(await api.request("GET", `${MEMORY}/note`, { key: agent.apiKey }), 404, "not_found");
  });

  it("behind a proxy with TLS: the cookie is __Host-session, which no neighbour gets or sets", async () => {
    const signedIn = await signIn(
      (pipe) => createTlsServer(TLS, pipe),
      (port) => `https://${MARKET}:${port}`,
    );
    const { agent, api, page, context, token } = signedIn;
    const held = {
      name: "__Host-session",
      domain: MARKET,
      path: "/",
      secure: true,
      httpOnly: true,
      sameSite: "Strict" as const,
    };
    const cookies = await context.cookies();
    assert.deepEqual(
      cookies.map((cookie) => ({ ...cookie, value: "", expires: 0 })),
      [{ ...held, value: "", expires: 0 }],
    );
    assert.strictEqual(await page.evaluate("document.cookie"), "");
    assert.strictEqual((await ask(page, USAGE)).status, 200);
    const note = { method: "POST", json: { key: "note", value: 1 } };
    assert.strictEqual((await ask(page, MEMORY, note)).status, 403);
    assert.strictEqual((await ask(page, MEMORY, { ...note, headers: { "x-session-token": token } })).status, 201);

    const neighbour = await startNeighbour(
      (answer) => createHttpsServer(TLS, answer),
      (port) => `https://${NEIGHBOUR}:${port}`,
    );
    const other = await context.newPage();
    await other.goto(neighbour.url);
    assert.deepEqual(
      neighbour.cookies.filter((sent) => sent !== undefined),
      [],
    );
    const afterVisit = await context.cookies(signedIn.url);
    assert.deepEqual(
      afterVisit.filter(({ name }) => name === "__Host-session").map(({ value }) => value),
      cookies.map(({ value }) => value),
      "the neighbour's cookie of this name was refused",
    );
    await assertShutOut(signedIn, other);
    assert.strictEqual((await ask(page, USAGE)).status, 200);
    const entries = await api.request("GET", MEMORY, { key: agent.apiKey });
    assert.lengthOf(entries.body.data, 1, entries.text);
  });

  /** Asserts that a page of another origin learns nothing and changes nothing. */
  async function assertShutOut({ api, agent, url }: SignedIn, other: Page): Promise<void> {
    const usedBefore = await api.request("GET", MEMORY, { key: agent.apiKey });
    const json = { key: "stolen", value: 1 };
    const refused: Sent[] = [
      {},
      { headers: { "x-session-token": "0".repeat(64) } },
      { method: "POST", json },
      { method: "DELETE" },
      { mode: "no-cors" },
      { mode: "no-cors", method: "POST", json },
    ];
    for (const sent of refused) {
      for (const path of [USAGE, MEMORY, `${SESSIONS}/current`]) {
        const { status, text } = await ask(other, url + path, sent);
        assert.deepEqual([status, text], [0, ""], `${JSON.stringify(sent)} ${path}`);
      }
    }
    // A form of the other page leads its visitor there, and has no effect.
    await other.evaluate(`{
      const form = Object.assign(document.createElement("form"), { method: "post", enctype: "text/plain", action: ${JSON.stringify(url + MEMORY)} });
      document.body.append(form);
      form.submit();
    }`);
    await other.waitForURL(url + MEMORY);
    assert.match(
      await other.locator("body").innerText(),
      /session_other_origin|invalid_api_key|unsupported_media_type/,
    );
    const usedAfter = await api.request("GET", MEMORY, { key: agent.apiKey });
    assert.deepEqual(usedAfter.body.data, usedBefore.body.data);
  }

  /** Sends a request from a page. Without an answer that it may read, the status is 0. */
  function ask(page: Page, to: string, { method = "GET", mode, headers = {}, json }: Sent = {}) {
    const type = json === undefined ? {} : { "Content-Type": mode === "no-cors" ? "text/plain" : "application/json" };
    const init = { method, mode, credentials: "include", headers: { ...headers, ...type }, body: JSON.stringify(json) };
    return page.evaluate<{ status: number; text: string }>(`(async () => {
      try {
        const answer = await fetch(${JSON.stringify(to)}, ${JSON.stringify(init)});
        return { status: answer.status, text: await answer.text() };
      } catch {
        return { status: 0, text: "" };
      }
    })()`);
  }

  /** Starts the service behind a door of its own, and signs an agent in there, in a new context of the browser. */
  async function signIn(
    makeDoor: (pipe: (socket: Socket) => void) => Server,
    urlOf: (port: number) => string,
  ): Promise<SignedIn> {
    let inside = 0;
    const door = makeDoor((socket) => {
      const inner = connect(inside, "127.0.0.1");
      socket.pipe(inner).pipe(socket);
      socket.on("error", () => inner.destroy());
      inner.on("error", () => socket.destroy());
    });
    const url = urlOf(await listen(door));
    const api = await startTestApi({ env: { webDir: await buildPages(), publicUrl: url } });
    closing.push(() => api.close());
    inside = Number(new URL(api.ownUrl).port);
    const fields = { domain: new URL(url).host, uri: url };
    const agent = await api.registerAgent({ message: fields });
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    closing.push(() => context.close());
    const page = await context.newPage();
    await page.goto(url);
    const opened = await ask(page, SESSIONS, { method: "POST", json: await sessionBody(agent, { fields }) });
    assert.strictEqual(opened.status, 201, opened.text);
    return { api, agent, url, context, page, token: JSON.parse(opened.text).data.token as string };
  }

  /** A page of another origin of the same site, and the cookies that its server is sent. */
  async function startNeighbour(makeServer: (answer: RequestListener) => Server, urlOf: (port: number) => string) {
    const cookies: (string | undefined)[] = [];
    const server = makeServer((request, response) => {
      cookies.push(request.headers.cookie);
      response.writeHead(200, {
        "Content-Type": "text/html",
        "Set-Cookie": "__Host-session=mine; Domain=files.example; Path=/; Secure",
      });
      response.end("<!doctype html><title>Neighbour</title><body>");
    });
    return { url: urlOf(await listen(server)), cookies };
  }

  async function listen(server: Server): Promise<number> {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    closing.push(() => server.close());
    return (server.address() as AddressInfo).port;
  }
});
