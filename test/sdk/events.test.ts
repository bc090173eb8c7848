import type { ServerResponse } from "node:http";

import { assert } from "chai";

import { ApiError, collect, Marketplace } from "../../sdk/src/index.ts";
import type { EventStreamOptions, LoggedEvent } from "../../sdk/src/index.ts";
import { rejectionOf } from "../fixtures/rejection.ts";
import { startScriptedServer } from "../fixtures/scripted-server.ts";
import type { ScriptedAnswer, ScriptedServer } from "../fixtures/scripted-server.ts";

const QUICK = { baseDelayMs: 1, maxDelayMs: 2 };
const STREAM = "/api/v1/events/stream";

const frame = (id: string) =>
  `id: ${id}\nevent: escrow.funded\ndata: ${JSON.stringify({ id, event: "escrow.funded", transactionId: "txn_ü", payload: {} })}\n\n`;
const begin = (response: ServerResponse, position: string) =>
  response.writeHead(200, { "content-type": "text/event-stream", "x-event-stream-position": position });
/** A stream that begins after `position`, sends events and then ends, breaks off or stays open. */
const streaming =
  (position: string, ids: readonly string[], then: "end" | "break" | "stay"): ScriptedAnswer =>
  (response) => {
    begin(response, position).write(`retry: 1000\nid: ${position}\n\n${ids.map(frame).join("")}`, () => {
      if (then === "end") response.end();
      // Not before the client has what was written.
      if (then === "break") setTimeout(() => response.destroy(), 50);
    });
  };
const refused: ScriptedAnswer = {
  status: 401,
  body: { success: false, error: "Invalid API key", code: "invalid_api_key" },
};

describe("the client's event stream", () => {
  let server: ScriptedServer | undefined;
  afterEach(() => server?.close());

  async function streamOf(
    answers: readonly ScriptedAnswer[],
    options: EventStreamOptions = {},
  ): Promise<AsyncGenerator<LoggedEvent, void, undefined>> {
    server = await startScriptedServer(...answers);
    return new Marketplace({ url: server.url }).agent({ apiKey: "svc_x" }).events.stream({ ...QUICK, ...options });
  }
  const idsOf = (events: readonly LoggedEvent[]) => events.map(({ id }) => id);
  const positions = () => server?.seen.map(({ headers }) => headers["last-event-id"]);

  it("continues after the last event when its connection ends or breaks off", async () => {
    const events = await streamOf([
      streaming("start", ["evt_1", "evt_2"], "end"),
      streaming("evt_2", ["evt_3"], "break"),
      { status: 503 },
      streaming("evt_3", ["evt_4"], "stay"),
    ]);
    assert.deepEqual(idsOf(await collect(events, 4)), ["evt_1", "evt_2", "evt_3", "evt_4"]);
    assert.deepEqual(positions(), [undefined, "evt_2", "evt_3", "evt_3"]);
    assert.ok(server?.seen.every(({ path, headers }) => path === STREAM && headers["x-api-key"] === "svc_x"));
  });

  it("continues where it began if it has had no event yet", async () => {
    const events = await streamOf([streaming("evt_7", [], "end"), streaming("evt_7", ["evt_8"], "stay")]);
    assert.deepEqual(idsOf(await collect(events, 1)), ["evt_8"]);
    assert.deepEqual(positions(), [undefined, "evt_7"]);
  });

  it("begins after a given event, with the given filters", async () => {
    const filter = { after: "evt_1", type: "escrow.funded", transactionId: "txn_1" } as const;
    await collect(await streamOf([streaming("evt_1", ["evt_2"], "stay")], filter), 1);
    assert.strictEqual(server?.seen[0]?.path, `${STREAM}?type=escrow.funded&transactionId=txn_1`);
    assert.deepEqual(positions(), ["evt_1"]);
  });

  it("puts frames together that arrive in pieces, even within a character", async () => {
    const whole = Buffer.from(frame("evt_1"));
    const events = await streamOf([
      (response) => {
        begin(response, "start");
        let at = 0;
        const next = (): void => {
          if (at < whole.length) response.write(whole.subarray(at, (at += 1)), next);
        };
        next();
      },
    ]);
    assert.deepEqual(
      (await collect(events, 1)).map(({ transactionId }) => transactionId),
      ["txn_ü"],
    );
  });

  it("gives up a connection that is silent for too long", async () => {
    const answers = [streaming("start", ["evt_1"], "stay"), streaming("evt_1", ["evt_2"], "stay")];
    const events = await streamOf(answers, { silenceMs: 100 });
    assert.deepEqual(idsOf(await collect(events, 2)), ["evt_1", "evt_2"]);
  });

  it("throws the 401 that ends it, and other errors that a retry can't mend", async () => {
    const events = await streamOf([streaming("start", ["evt_1"], "end"), refused]);
    const seen: string[] = [];
    const error = await rejectionOf(
      (async () => {
        for await (const { id } of events) seen.push(id);
      })(),
      ApiError,
    );
    assert.strictEqual(error.code, "invalid_api_key");
    assert.deepEqual(seen, ["evt_1"]);
  });

  it("closes its connection when the caller leaves the loop, and throws the reason of an aborted signal", async () => {
    const closed = Promise.withResolvers<undefined>();
    const answer: ScriptedAnswer = (response) => {
      response.on("close", () => {
        closed.resolve(undefined);
      });
      (streaming("start", ["evt_1"], "stay") as (response: ServerResponse) => void)(response);
    };
    await collect(await streamOf([answer]), 1);
    await closed.promise;
    await server?.close();

    const ending = new AbortController();
    const events = await streamOf([streaming("start", ["evt_1"], "stay")], { signal: ending.signal });
    await events.next();
    const waiting = events.next();
    ending.abort(new RangeError("enough"));
    await rejectionOf(waiting, RangeError);
  });
});
