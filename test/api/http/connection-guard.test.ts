// What connections may cost whose clients send too much ahead, don't read, or are too many.
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

import { assert } from "chai";

import { CONNECTION_LIMITS, guardConnections } from "../../../api/http/connection-guard.ts";
import type { ConnectionGuard, ConnectionLimits } from "../../../api/http/connection-guard.ts";
import { headOf, RawClient } from "../../fixtures/raw-client.ts";
import { until } from "../../fixtures/until.ts";

const KB = 1024;
const MB = 1024 * KB;
const GET = headOf("GET", "/");
const ENDLESS_MS = 600_000;

/** A server behind the guard whose answers a test gives. */
class GuardedServer {
  readonly server: Server = createServer();
  readonly guard: ConnectionGuard;
  readonly closed: string[] = [];
  /** Requests that were begun, and their answers. */
  readonly begun: [IncomingMessage, ServerResponse][] = [];
  readonly #clients: RawClient[] = [];

  /** @param answer answers a request; without one, requests stay open until `answerAll` */
  constructor(
    limits: Partial<ConnectionLimits>,
    answer: (response: ServerResponse, request: IncomingMessage) => Promise<void> = (response) =>
      once(response, "close").then(() => undefined),
    perAddress?: number,
  ) {
    this.guard = guardConnections(this.server, {
      handle: (request, response) => {
        this.begun.push([request, response]);
        return answer(response, request);
      },
      limits: { ...CONNECTION_LIMITS, ...limits },
      perAddress,
      metrics: { connectionClosed: (reason) => this.closed.push(reason) },
    });
    this.server.on("request", this.guard.take);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<this> {
    this.server.listen(0, "0.0.0.0");
    await once(this.server, "listening");
    return this;
  }

  async connect(options: Parameters<typeof RawClient.open>[1] = {}): Promise<RawClient> {
    const client = await RawClient.open(this.url, options);
    this.#clients.push(client);
    return client;
  }

  async close(): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

const end = (response: ServerResponse, body: string | Buffer = "ok") =>
  response.setHeader("Content-Length", body.length).end(body);
const answerAtOnce = (response: ServerResponse) => Promise.resolve(void end(response));
const openOf = ({ begun }: GuardedServer) => begun.filter(([, response]) => !response.writableEnded);

describe("the guard of connections", () => {
  let guarded: GuardedServer;
  afterEach(() => guarded.close());

  const start = async (...args: ConstructorParameters<typeof GuardedServer>) => {
    guarded = await new GuardedServer(...args).listen();
    return guarded;
  };
  /** The guard closes one connection, for this reason. */
  const closes = async (reason: string) => {
    await until("a connection is closed", () => Promise.resolve(guarded.closed.length > 0));
    assert.deepEqual(guarded.closed, [reason]);
  };
  /** Another client gets an answer, so whatever else was to happen at once has happened. */
  const isServed = async (path = "/other", options: Parameters<typeof RawClient.open>[1] = {}) => {
    const client = await guarded.connect(options);
    await client.send(headOf("GET", path));
    const arrived = () => guarded.begun.find(([{ url }, response]) => url === path && !response.writableEnded);
    await until("it is begun", () => Promise.resolve(arrived() !== undefined));
    const response = arrived()?.[1];
    if (response !== undefined) end(response);
    assert.strictEqual((await client.answer())?.status, 200);
    client.socket.destroy();
  };

  describe("for requests that a client sends ahead", () => {
    it("has at most 16 of a connection in flight, and answers all in their order", async () => {
      await start({ pipelined: 1_000, turnMs: ENDLESS_MS });
      const client = await guarded.connect();
      const count = 500;
      for (let n = 0; n < count; n += 1) await client.send(headOf("GET", `/${n}`));
      let most = 0;
      for (let n = 0; n < count; n += 1) {
        await until("the next is begun", () => Promise.resolve(guarded.begun.length > n));
        if (n === 0) await isServed();
        const open = openOf(guarded);
        most = Math.max(most, open.length);
        end(open[0]?.[1] as ServerResponse, open[0]?.[0].url);
        const answer = await client.answer();
        assert.deepEqual([answer?.status, answer?.body], [200, `/${n}`]);
        if (n === 0)
          guarded.begun.splice(0, guarded.begun.length, ...guarded.begun.filter(([{ url }]) => url !== "/other"));
      }
      assert.strictEqual(most, 16);
      assert.deepEqual(guarded.closed, []);
    });

    it("begins one of each connection, and of all further ones together a few", async () => {
      await start({ pipelined: 4, turnMs: ENDLESS_MS });
      const clients = await Promise.all(Array.from({ length: 100 }, () => guarded.connect()));
      await Promise.all(clients.map((client) => client.send(GET.repeat(50))));
      await until("each has one", () => Promise.resolve(guarded.begun.length >= 104));
      await isServed();
      assert.strictEqual(openOf(guarded).length, 104);
      for (const [, response] of openOf(guarded)) end(response);
      await until("their turns go on", () => Promise.resolve(openOf(guarded).length === 4));
      await isServed();
      assert.strictEqual(openOf(guarded).length, 4);
    });

    it("takes turns among the connections", async () => {
      await start({ pipelined: 1, turnMs: ENDLESS_MS });
      const [greedy, modest] = [await guarded.connect(), await guarded.connect()];
      await greedy.send(headOf("GET", "/greedy").repeat(50));
      await until("one has its turn", () => Promise.resolve(guarded.begun.length === 2));
      await modest.send(headOf("GET", "/modest").repeat(2));
      await until("the other waits for one", () => Promise.resolve(guarded.begun.length === 3));
      for (const [, response] of openOf(guarded)) end(response);
      await until("the next turn is taken", () => Promise.resolve(guarded.begun.length === 4));
      assert.deepEqual(
        guarded.begun.map(([{ url }]) => url),
        ["/greedy", "/greedy", "/modest", "/modest"],
      );
    });

    it("gives a turn on when its request takes long, so that slow ones don't block the rest", async () => {
      await start({ pipelined: 1 });
      const slow = await guarded.connect();
      await slow.send(GET.repeat(2));
      const other = await guarded.connect();
      await other.send(headOf("GET", "/other").repeat(2));
      await until("both others are begun", () =>
        Promise.resolve(guarded.begun.filter(([{ url }]) => url === "/other").length === 2),
      );
      assert.strictEqual(openOf(guarded).length, 4);
    });

    it("reads nothing more while requests wait", async () => {
      await start({});
      let arrived = 0;
      guarded.server.on("request", () => (arrived += 1));
      const client = await guarded.connect();
      const count = 10_000;
      const sent = client.send(GET.repeat(count));
      await until("some wait", () => Promise.resolve(arrived > 5));
      await isServed();
      // Those of one kilobyte, and the other client's.
      assert.isAtMost(arrived, 1 + KB / GET.length + 1);
      for (let n = 0; n < count; n += 1) {
        await until("the next is begun", () => Promise.resolve(openOf(guarded).length > 0));
        end(openOf(guarded)[0]?.[1] as ServerResponse);
        guarded.begun.splice(0, guarded.begun.length, ...openOf(guarded));
        assert.strictEqual((await client.answer())?.status, 200);
      }
      await sent;
      assert.deepEqual(guarded.closed, []);
    });

    it("reads bodies of requests that had to wait, and answers them", async () => {
      const echo = async (response: ServerResponse, request: IncomingMessage) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        end(response, Buffer.concat(chunks));
      };
      await start({ pipelined: 1, inFlight: 2 }, echo);
      const client = await guarded.connect();
      const bodies = Array.from({ length: 20 }, (_, n) => String(n).repeat(40 * KB));
      const sent = Promise.all(
        bodies.map((body) => client.send(headOf("POST", "/", { "Content-Length": String(body.length) }) + body)),
      );
      for (const body of bodies) assert.strictEqual((await client.answer())?.body, body);
      await sent;
    });
  });

  it("reads no more of a body than a buffer until its route takes it", async () => {
    await start({});
    const client = await guarded.connect();
    const body = Buffer.alloc(16 * MB, "a");
    const sent = client.send(
      Buffer.concat([Buffer.from(headOf("POST", "/", { "Content-Length": String(body.length) })), body]),
    );
    await until("it is begun", () => Promise.resolve(guarded.begun.length === 1));
    await isServed();
    const [request, response] = guarded.begun[0] ?? assert.fail();
    await isServed();
    assert.isAtMost(request.socket.bytesRead, MB);
    let read = 0;
    for await (const chunk of request) read += (chunk as Buffer).length;
    assert.strictEqual(read, body.length);
    await sent;
    end(response);
    assert.strictEqual((await client.answer())?.status, 200);
  });

  describe("for a client that doesn't read", () => {
    const ANSWER = Buffer.alloc(200 * KB, "a");

    it("begins nothing above 1 MB of unread answers, and closes the connection after a while without progress", async () => {
      const sockets: Socket[] = [];
      let most = 0;
      await start({ stallMs: 400 }, (response) => {
        end(response, ANSWER);
        const unread = guarded.begun.filter((pair) => !pair[1].writableFinished).length * ANSWER.length;
        most = Math.max(most, unread);
        return Promise.resolve();
      });
      guarded.server.on("connection", (socket: Socket) => sockets.push(socket));
      const client = await guarded.connect();
      await client.send(GET.repeat(300));
      await closes("stalled");
      assert.isAbove(most, 0);
      // The one that is begun below the bound, and one whose last byte the system has just taken.
      assert.isAtMost(most, MB + 2 * ANSWER.length);
      assert.isBelow(guarded.begun.length, 300);
      assert.isTrue(sockets.every(({ destroyed }) => destroyed));
    });

    it("leaves alone one that reads slowly, and one whose request takes long", async () => {
      const large = Buffer.alloc(24 * MB, "a");
      await start({ stallMs: 600 }, (response, { url }) =>
        url === "/large" || url === "/never"
          ? Promise.resolve(void end(response, large))
          : once(response, "close").then(() => undefined),
      );
      const [reader, waiter, hostile] = [await guarded.connect(), await guarded.connect(), await guarded.connect()];
      await waiter.send(GET);
      await reader.send(headOf("GET", "/large"));
      let read = 0;
      const isClosed = reader.closed.then(() => true);
      for await (const chunk of reader.socket) {
        if (read === 0) await hostile.send(headOf("GET", "/never"));
        const before = Math.floor(read / MB);
        read += (chunk as Buffer).length;
        if (Math.floor(read / MB) > before) await new Promise((resolve) => setTimeout(resolve, 60));
        if (read >= large.length) break;
      }
      assert.isAtLeast(read, large.length);
      await closes("stalled");
      assert.isFalse(waiter.socket.destroyed);
      for (const [, response] of openOf(guarded)) end(response);
      assert.strictEqual((await waiter.answer())?.status, 200);
      reader.socket.destroy();
      await isClosed;
    });

    it("leaves event streams to their own limit", async () => {
      await start({ stallMs: 400 }, (response, { url }) => {
        response.setHeader("Content-Type", url === "/stream" ? "text/event-stream; charset=utf-8" : "text/plain");
        response.write(Buffer.alloc(24 * MB, "a"));
        return Promise.resolve();
      });
      const [stream, plain] = [await guarded.connect(), await guarded.connect()];
      await stream.send(headOf("GET", "/stream"));
      await until("it streams", () => Promise.resolve(guarded.begun.length === 1));
      await plain.send(headOf("GET", "/plain"));
      const responseOf = (path: string) => guarded.begun.find(([{ url }]) => url === path)?.[1];
      await until("the other is closed", () => Promise.resolve(responseOf("/plain")?.closed === true));
      assert.isFalse(responseOf("/stream")?.closed);
      assert.deepEqual(guarded.closed, ["stalled"]);
    });
  });

  describe("for many connections of one address", () => {
    it("closes one more than the bound, until another closes, and serves other addresses", async () => {
      await start({}, answerAtOnce, 3);
      const open = [await guarded.connect(), await guarded.connect(), await guarded.connect()];
      const refused = await guarded.connect();
      await refused.closed;
      assert.deepEqual(guarded.closed, ["address"]);
      const neighbour = await guarded.connect({ localAddress: "127.0.0.2" });
      for (const client of [...open, neighbour]) {
        await client.send(GET);
        assert.strictEqual((await client.answer())?.status, 200);
      }
      open[0]?.socket.destroy();
      await until("its place is free", async () => {
        const next = await guarded.connect();
        await next.send(GET);
        return (await next.answer())?.status === 200;
      });
    });

    it("handles a few of their requests at once, and other addresses' beside them", async () => {
      await start({ atOnce: 2, turnMs: ENDLESS_MS }, undefined, 200);
      const clients = await Promise.all(Array.from({ length: 20 }, () => guarded.connect()));
      await Promise.all(clients.map((client) => client.send(GET.repeat(3))));
      const isNeighbourServed = async () => {
        await isServed("/neighbour", { localAddress: "127.0.0.2" });
        guarded.begun.splice(0, guarded.begun.length, ...guarded.begun.filter(([{ url }]) => url === "/"));
      };
      for (let begun = 2; begun < 60; begun += 1) {
        await until("two have their turns", () => Promise.resolve(guarded.begun.length >= begun));
        if (begun < 5) await isNeighbourServed();
        assert.strictEqual(openOf(guarded).length, 2);
        end(openOf(guarded)[0]?.[1] as ServerResponse);
      }
    });

    it("counts one that was closed before its answer until nothing is done for it any more", async () => {
      const { promise: handled, resolve: finish } = Promise.withResolvers<undefined>();
      await start({}, () => handled, 2);
      for (let n = 1; n <= 2; n += 1) {
        const client = await guarded.connect();
        await client.send(GET);
        await until("it is begun", () => Promise.resolve(guarded.begun.length === n));
        const { socket } = guarded.begun[n - 1]?.[0] ?? assert.fail();
        client.socket.destroy();
        await until("it is closed", () => Promise.resolve(socket.destroyed));
      }
      await (
        await guarded.connect()
      ).closed;
      assert.deepEqual(guarded.closed, ["address"]);
      finish(undefined);
      await handled;
      await guarded.connect();
      await isServed("/other", { localAddress: "127.0.0.2" });
      assert.deepEqual(guarded.closed, ["address"]);
    });

    it("doesn't count event streams", async () => {
      const stream = (response: ServerResponse, { url }: IncomingMessage) => {
        if (url === "/") end(response);
        else response.setHeader("Content-Type", "text/event-stream").write(": alive\n\n");
        return Promise.resolve();
      };
      await start({}, stream, 2);
      for (let n = 0; n < 5; n += 1) {
        const client = await guarded.connect();
        const arrived = once(client.socket, "data");
        await client.send(headOf("GET", "/stream"));
        await arrived;
      }
      for (let n = 0; n < 2; n += 1) {
        const client = await guarded.connect();
        await client.send(GET);
        assert.strictEqual((await client.answer())?.status, 200);
      }
      await (
        await guarded.connect()
      ).closed;
      assert.deepEqual(guarded.closed, ["address"]);
    });
  });
});
