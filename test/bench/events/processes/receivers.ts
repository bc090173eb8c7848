// The receivers of `npm run bench:events`: HTTP servers that answer at once, refuse, hang or answer slowly.
import { createServer } from "node:http";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { answerTasks, now } from "../bench-process.ts";
import type { Behaviour, Receipt } from "../deliveries.ts";
import { markOf } from "../marks.ts";

const SLOW_MS = 3_000;

const receipts: Receipt[] = [];

function acknowledge(response: ServerResponse, receipt: Receipt): void {
  response.once("finish", () => {
    receipt.acknowledgedAt = now();
  });
  response.writeHead(200).end();
}

const respond: Record<Behaviour, (response: ServerResponse, receipt: Receipt) => void> = {
  healthy: acknowledge,
  refusing: (response) => response.writeHead(500).end("no"),
  hanging: () => undefined,
  slow: (response, receipt) => {
    setTimeout(() => {
      acknowledge(response, receipt);
    }, SLOW_MS);
  },
};

async function open(behaviour: Behaviour, receiver: number): Promise<number> {
  const server = createServer((request, response) => {
    const at = now();
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const receipt: Receipt = { receiver, mark: markOf(body) ?? -1, at, acknowledgedAt: null };
      receipts.push(receipt);
      respond[behaviour](response, receipt);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

answerTasks({
  open: (behaviours: Behaviour[]) => Promise.all(behaviours.map(open)),
  /** How many requests the receivers up to a number have had. */
  count: (receivers: number) => receipts.filter(({ receiver }) => receiver < receivers).length,
  /** Everything since the last time. */
  take: () => receipts.splice(0),
});
