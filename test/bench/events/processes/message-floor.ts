// The floor of the messages: a bare Koa route that inserts what it gets.
import type { AddressInfo } from "node:net";

import Koa from "koa";
import { MongoClient } from "mongodb";
import rawBody from "raw-body";

import { answerTasks } from "../bench-process.ts";

answerTasks({
  async listen({ uri, databaseName }: { uri: string; databaseName: string }) {
    const client = await MongoClient.connect(uri);
    const messages = client.db(databaseName).collection("bench_floor");
    const app = new Koa();
    app.use(async (context) => {
      const message = JSON.parse(await rawBody(context.req, { encoding: "utf8" })) as object;
      await messages.insertOne({ ...message }, { writeConcern: { w: "majority" } });
      context.status = 201;
      context.body = message;
    });
    const server = app.listen(0, "127.0.0.1");
    await new Promise<void>((resolve) => server.once("listening", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
});
