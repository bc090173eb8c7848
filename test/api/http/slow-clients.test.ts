import { once } from "node:events";
import { connect } from "node:net";

import { assert } from "chai";

import { listen } from "../../../api/server.ts";
import type { RunningServer } from "../../../api/server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";

const TIMEOUTS = { requestTimeout: 300, headersTimeout: 200, connectionsCheckingInterval: 50 };

describe("a client that doesn't finish its request", () => {
  let api: TestApi;
  let server: RunningServer;
  before(async () => {
    api = await startTestApi();
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

  it("is cut off with 408 while its headers are missing", async () => {
    assert.match(await answerTo("POST /api/v1/discover HTTP/1.1\r\nHost: a\r\n"), /^HTTP\/1\.1 408 /);
  });

  it("is cut off while its body is missing, and other clients are served", async () => {
    const head =
      "POST /api/v1/discover HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n";
    const cut = answerTo(`${head}{"query":`);
    const served = await fetch(`http://127.0.0.1:${server.port}/health`);
    assert.strictEqual(served.status, 200);
    assert.notMatch(await cut, /^HTTP\/1\.1 (2|5)/);
  });
});
