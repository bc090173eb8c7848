// The floor of the streams: a bare HTTP server that writes frames to open answers.
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { answerTasks } from "../bench-process.ts";

const byKey = new Map<string, ServerResponse[]>();

const server = createServer((request, response) => {
  const key = String(request.headers["x-api-key"]);
  byKey.set(key, [...(byKey.get(key) ?? []), response]);
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(": open\n\n");
});

answerTasks({
  async listen() {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  push({ keys, frame }: { keys: string[]; frame: string }) {
    for (const response of keys.flatMap((key) => byKey.get(key) ?? [])) response.write(frame);
  },
});
