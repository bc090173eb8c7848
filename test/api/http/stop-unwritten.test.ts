// What a client gets that hasn't read its answer when the API is stopped.
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";

import { assert } from "chai";

import { listen } from "../../../api/server.ts";
import { startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { until } from "../../fixtures/until.ts";

const PATH = "/openapi.json";
const HEAD_END = "\r\n\r\n";
/** Their answers are far more than the buffers of a connection hold, so that one waits in the process. */
const REQUESTS = 40;

describe("an API that is stopped while a client hasn't read its answers", () => {
  let api: TestApi;
  before(async () => {
    api = await startTestApi({ oneProcess: "looks at this process's connections" });
  });
  after(() => api.close());

  it("cuts none of them, and closes the connection after the last one", async () => {
    const whole = Buffer.byteLength((await api.request("GET", PATH)).text);
    const running = await listen(api.container, "127.0.0.1", 0);
    const answers: ServerResponse[] = [];
    running.server.on("request", (_request, response) => answers.push(response));
    const client = connect(running.port, "127.0.0.1");
    await once(client, "connect");
    // Nothing takes its data yet, so it reads no more than a buffer.
    client.write(`GET ${PATH} HTTP/1.1\r\nHost: market${HEAD_END}`.repeat(REQUESTS));
    const waits = ({ writableEnded, writableFinished }: ServerResponse) => writableEnded && !writableFinished;
    await until("an answer waits to be written", () => Promise.resolve(answers.some(waits)));
    const stopped = running.stop();
    const chunks: Buffer[] = [];
    client.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(client, "close");
    await stopped;
    const received = Buffer.concat(chunks).toString("latin1").split("HTTP/1.1 200 OK\r\n").slice(1);
    assert.strictEqual(received.length, answers.length);
    for (const answer of received) {
      assert.strictEqual(answer.length - answer.indexOf(HEAD_END) - HEAD_END.length, whole);
    }
  });
});
