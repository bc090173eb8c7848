// docs/api/connections.md: what each kind of hostile socket costs, at the real server with shorter times.
import { promisify } from "node:util";
import type { Socket } from "node:net";

import { assert } from "chai";

import { listen } from "../../../api/server.ts";
import type { RunningServer } from "../../../api/server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { headOf, RawClient } from "../../fixtures/raw-client.ts";
import { until } from "../../fixtures/until.ts";

const MB = 1024 * 1024;
const ALLOWED = 40;
const TRIED = 60;
const AHEAD = 100;
const LARGE = headOf("GET", "/openapi.json");
const BODY_HEAD = { "Content-Type": "application/json", "Content-Length": "100" };
const BOUNDS = { keepAliveTimeout: 300, connectionsCheckingInterval: 50, stallMs: 500, lingerMs: 300 };
/** For those that never end a request. The honest client has to be faster. */
const SHORT = { requestTimeout: 3_000, headersTimeout: 2_000 };

/** What a hostile client sends, and how many of its requests the application sees at most. */
interface Kind {
  name: string;
  sends: string;
  isHalfClosed?: boolean;
  /** Whether its request never ends. */
  isUnfinished?: boolean;
  mostRequests: number;
}

const KINDS: readonly Kind[] = [
  { name: "says nothing", sends: "", isUnfinished: true, mostRequests: 0 },
  { name: "never ends its headers", sends: "GET /health HTTP/1.1\r\nHost: a\r\n", isUnfinished: true, mostRequests: 0 },
  {
    name: "never ends its body",
    sends: `${headOf("POST", "/api/v1/discover", BODY_HEAD)}{`,
    isUnfinished: true,
    mostRequests: 1,
  },
  { name: "doesn't read an answer, nor asks again", sends: LARGE, mostRequests: 1 },
  { name: "sends requests ahead and reads no answer", sends: LARGE.repeat(AHEAD), mostRequests: AHEAD },
  { name: "closes its half within a request", sends: "GET /health HTTP/1.1\r\n", isHalfClosed: true, mostRequests: 0 },
  { name: "closes its half behind a request", sends: headOf("GET", "/health"), isHalfClosed: true, mostRequests: 1 },
  {
    name: "closes its half behind many requests and reads no answer",
    sends: LARGE.repeat(AHEAD),
    isHalfClosed: true,
    mostRequests: AHEAD,
  },
];

describe("sixty connections of one address, of which forty are allowed, whose client", () => {
  let api: TestApi;
  before(async () => {
    const env = { connectionsPerAddress: ALLOWED };
    api = await startTestApi({ oneProcess: "looks at this process's connections", env });
  });
  after(() => api.close());

  /** A server of its own, and what was counted there. */
  async function startCounted(isUnfinished: boolean): Promise<{
    running: RunningServer;
    counted: { sockets: Set<Socket>; requests: number };
  }> {
    const running = await listen(api.container, "127.0.0.1", 0, { ...BOUNDS, ...(isUnfinished ? SHORT : {}) });
    const counted = { sockets: new Set<Socket>(), requests: 0 };
    running.server.on("connection", (socket: Socket) => counted.sockets.add(socket));
    running.server.on("request", ({ socket }) => {
      if (socket.remoteAddress !== "127.0.0.2") counted.requests += 1;
    });
    return { running, counted };
  }

  for (const { name, sends, isHalfClosed = false, isUnfinished = false, mostRequests } of KINDS) {
    it(`${name}, cost bounded memory, are all closed, and keep nobody else from an answer`, async () => {
      const { running, counted } = await startCounted(isUnfinished);
      const url = `http://127.0.0.1:${running.port}`;
      const connectionsOf = promisify(running.server.getConnections.bind(running.server));
      const clients: RawClient[] = [];
      for (let n = 0; n < TRIED; n += 1) clients.push(await RawClient.open(url, { allowHalfOpen: true }));
      await until("the others are refused", async () => (await connectionsOf()) <= ALLOWED);
      for (const { socket } of clients) {
        if (sends !== "" && !socket.destroyed) socket.write(sends);
        if (isHalfClosed) socket.end();
      }

      const honest = await RawClient.open(url, { localAddress: "127.0.0.2" });
      for (const path of ["/health", "/ready", "/api/v1/categories"]) {
        await honest.send(headOf("GET", path));
        assert.strictEqual((await honest.answer())?.status, 200, path);
        const unread = [...counted.sockets].reduce((sum, { writableLength }) => sum + writableLength, 0);
        assert.isAtMost(unread, ALLOWED * 2 * MB);
      }
      honest.socket.destroy();

      await until("all are closed", async () => (await connectionsOf()) === 0);
      assert.isAtMost(counted.requests, ALLOWED * mostRequests);
      for (const { socket } of clients) socket.destroy();
      await running.stop();
    });
  }
});
