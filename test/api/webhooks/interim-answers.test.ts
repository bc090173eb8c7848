// Receivers that answer with 1xx before their final answer, as RFC 9110 (15.2) lets every server do.
import type { Socket } from "node:net";

import { assert } from "chai";

import { createWebhookSender } from "../../../api/features/webhooks/dispatches/sender.ts";
import { startReceiver } from "../../fixtures/receiver.ts";

const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n";
const DONE = "HTTP/1.1 204 No Content\r\n\r\n";
const TOO_LONG = "no answer within 16384 bytes";

/** Sends to a receiver that writes what it likes, and waits until the connection is closed. */
async function answeredWith(write: (socket: Socket) => void, timeoutMs = 30_000) {
  let closed: Promise<unknown> = Promise.resolve();
  const receiver = await startReceiver((_n, response) => {
    const { socket } = response;
    assert.ok(socket !== null);
    // A connection that the sender resets ends as well as one that it closes.
    socket.on("error", () => undefined);
    closed = new Promise((resolve) => socket.once("close", resolve));
    write(socket);
    return undefined;
  });
  try {
    const webhook = { url: receiver.url, eventId: "evt_1", bodyJson: "{}", secret: "whsec_of-the-test", timestamp: 0 };
    const result = await createWebhookSender({ allowedPrivateHosts: ["127.0.0.1"], timeoutMs }).send(webhook);
    await closed;
    return result;
  } finally {
    await receiver.close();
  }
}

/** Writes a text again and again, until the other side closes the connection. */
function flood(socket: Socket, text: string, pauseMs: number): void {
  const more = (): void => {
    if (socket.destroyed) return;
    socket.write(text);
    setTimeout(more, pauseMs);
  };
  more();
}

describe("a webhook's receiver that answers 1xx first", () => {
  it("[S6.38] acknowledges by the final answer", async () => {
    const interim = {
      "100": CONTINUE,
      "102": "HTTP/1.1 102 Processing\r\n\r\n",
      "103": HINTS,
      "an unknown one": "HTTP/1.1 199 Thinking\r\nX-Progress: 1\r\n\r\n",
      "several kinds": CONTINUE + HINTS + HINTS + CONTINUE,
      "600 of them": CONTINUE.repeat(600),
    };
    for (const [which, text] of Object.entries(interim)) {
      const result = await answeredWith((socket) => socket.write(text + DONE));
      assert.deepInclude(result, { outcome: "acknowledged", statusCode: 204, error: null }, which);
    }
    const refused = await answeredWith((socket) => socket.write(`${CONTINUE}HTTP/1.1 500 Oh\r\n\r\n`));
    assert.deepInclude(refused, { outcome: "refused", statusCode: 500 });
  });

  it("[S6.38] acknowledges in pieces that arrive one by one", async () => {
    const result = await answeredWith((socket) => {
      const pieces = Array.from(CONTINUE + HINTS + CONTINUE + DONE);
      socket.setNoDelay(true);
      const next = (): void => {
        const piece = pieces.shift();
        if (piece !== undefined) socket.write(piece, () => setImmediate(next));
      };
      next();
    });
    assert.deepInclude(result, { outcome: "acknowledged", statusCode: 204 });
  });

  it("is cut off after 16 KB of them, whatever they are made of", async () => {
    const atOnce = await answeredWith((socket) => socket.write(CONTINUE.repeat(700) + DONE));
    assert.deepInclude(atOnce, { outcome: "unreachable", statusCode: null, error: TOO_LONG });
    const endless = [CONTINUE.repeat(10), `HTTP/1.1 103 Early Hints\r\nLink: ${"x".repeat(4_000)}\r\n\r\n`, "\r\n\r\n"];
    for (const text of endless) {
      const result = await answeredWith((socket) => {
        flood(socket, text.repeat(10), 0);
      });
      assert.deepInclude(result, { outcome: "unreachable", statusCode: null, error: TOO_LONG }, text.slice(0, 20));
    }
    const large = await answeredWith((socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(17_000)}\r\n\r\n`));
    assert.deepInclude(large, { outcome: "unreachable", statusCode: null });
  });

  it("[S6.36] has no longer for its final answer because of them", async () => {
    const silent = await answeredWith((socket) => socket.write(CONTINUE), 300);
    assert.deepInclude(silent, { outcome: "unreachable", error: "no answer within 300 ms" });
    const dripping = await answeredWith((socket) => {
      flood(socket, CONTINUE, 10);
    }, 300);
    assert.deepInclude(dripping, { outcome: "unreachable", error: "no answer within 300 ms" });
  });

  it("is unreachable if nothing follows, or if it switches protocols", async () => {
    const ended = await answeredWith((socket) => socket.end(CONTINUE));
    assert.deepInclude(ended, { outcome: "unreachable", statusCode: null });
    for (const fields of ["", "Connection: upgrade\r\nUpgrade: websocket\r\n"]) {
      const switched = await answeredWith((socket) =>
        socket.write(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n${DONE}`),
      );
      assert.deepInclude(switched, { outcome: "unreachable", statusCode: null });
      assert.match(switched.error ?? "", /switches to a protocol/);
    }
  });
});
