import { once } from "node:events";
import { connect } from "node:net";

import { assert } from "chai";

import { ERROR_CATALOGUE } from "../../../api/http/errors.ts";
import type { ErrorCode } from "../../../api/http/errors.ts";
import { listen } from "../../../api/server.ts";
import type { RunningServer } from "../../../api/server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

/** Asserts that an answer has the form of every error, and the headers of every answer. */
function assertUnreadable(answer: string, status: number, code: string): void {
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  assert.ok(head.startsWith(`HTTP/1.1 ${status} `), answer);
  for (const name of ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "X-Request-Id"]) {
    assert.match(head, new RegExp(`^${name}: \\w+\r?$`, "m"));
  }
  assert.match(head, /^Content-Type: application\/json/m);
  assert.deepInclude(JSON.parse(body), { success: false, code, error: ERROR_CATALOGUE[code as ErrorCode].text });
}

const TIMEOUTS = { requestTimeout: 300, headersTimeout: 200, connectionsCheckingInterval: 50 };

describe("a request that never arrives whole", () => {
  let api: TestApi;
  let server: RunningServer;
  before(async () => {
    api = await startTestApi({ search: true });
    server = await listen(api.container, "127.0.0.1", 0, TIMEOUTS);
  });
  after(async () => {
    await server.stop();
    await api.close();
  });

  /** Sends the start of a request, and nothing more; returns what the server says before it closes the connection. */
  async function answerTo(start: string): Promise<string> {
    const socket = connect(server.port, "127.0.0.1");
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.write(start);
    await once(socket, "close");
    return Buffer.concat(received).toString();
  }

  it("[S8.2.17] [S8.2.18] [S8.2.19] is cut off with 408 request_timeout while its headers are missing", async () => {
    const answer = await answerTo("POST /api/v1/discover HTTP/1.1\r\nHost: a\r\n");
    assertUnreadable(answer, 408, "request_timeout");
  });

  it("is cut off while its body is missing, and other clients are served", async () => {
    const head =
      "POST /api/v1/discover HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    const cut = answerTo(`${head}{"query":`);
    const served = await fetch(`http://127.0.0.1:${server.port}/health`);
    assert.strictEqual(served.status, 200);
    assertUnreadable(await cut, 408, "request_timeout");
  });

  it("is cut off although it sends another byte of its body from time to time", async () => {
    const socket = connect(server.port, "127.0.0.1");
    const received: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => received.push(chunk));
    socket.on("error", () => undefined);
    socket.write(
      "POST /api/v1/discover HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n",
    );
    const drip = setInterval(() => socket.write(" "), 20);
    socket.once("data", () => {
      clearInterval(drip);
    });
    await new Promise((resolve) => socket.once("close", resolve));
    clearInterval(drip);
    assertUnreadable(Buffer.concat(received).toString(), 408, "request_timeout");
  });

  it("[D33] gets the body of every error for what isn't HTTP or has too many headers", async () => {
    const huge = `GET /health HTTP/1.1\r\nHost: a\r\nX-Padding: ${"x".repeat(20_000)}\r\n\r\n`;
    assertUnreadable(await answerTo(huge), 431, "headers_too_large");
    for (const nonsense of ["NONSENSE\r\n\r\n", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "GET /health HTTP/1.1\r\n\r\n"]) {
      assertUnreadable(await answerTo(nonsense), 400, "malformed_request");
    }
    const both =
      "POST /api/v1/discover HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assertUnreadable(await answerTo(both), 400, "malformed_request");
  });

  it("is served although it expects what the service doesn't know", async () => {
    const answer = await answerTo("GET /health HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nConnection: close\r\n\r\n");
    assert.match(answer, /^HTTP\/1\.1 200 /);
  });
});
