import type { ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

import { assert } from "chai";
import { MongoClient } from "mongodb";

import { findFreePorts } from "../../../scripts/local/ports.ts";
import { readStack } from "../../fixtures/api.ts";
import { startServer } from "../../fixtures/processes.ts";
import { routeTo } from "../../fixtures/stall.ts";
import type { StallingRoute } from "../../fixtures/stall.ts";
import { until } from "../../fixtures/until.ts";

const CLIENTS = 200;

describe("an API that is stopped while hundreds of requests wait", () => {
  const databaseName = `test_stop_${randomBytes(6).toString("hex")}`;
  const sockets: Socket[] = [];
  let server: ChildProcess | undefined;
  let route: StallingRoute;
  let port: number;

  before(async () => {
    route = await routeTo(Number(new URL((await readStack()).mongodbUri).port));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    server?.kill("SIGKILL");
    await route.close();
    const client = await MongoClient.connect((await readStack()).mongodbUri);
    await client.db(databaseName).dropDatabase();
    await client.close();
  });

  /** Sends the start of a request and nothing more. */
  async function begin(text: string): Promise<void> {
    const socket = connect(port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(text);
  }

  it("stops cleanly even if clients never finish and the database has stopped answering", async () => {
    port = await findFreePorts(1);
    server = await startServer(`mongodb://127.0.0.1:${route.port}/${databaseName}?directConnection=true`, port);
    await until("it listens", () =>
      fetch(`http://127.0.0.1:${port}/health`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    const exit = once(server, "exit");
    route.stall();
    for (let n = 0; n < CLIENTS; n += 2) {
      await begin(
        "POST /api/v1/auth/register HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
      );
      await begin(`GET /api/v1/agents/agt_${n}/public-key HTTP/1.1\r\nHost: a\r\n\r\n`);
    }
    server.kill("SIGTERM");
    assert.deepEqual(await exit, [0, null], "nothing had to force it");
  });
});
