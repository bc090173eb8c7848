// The clients of `npm run bench:events`: open streams, and note when each event arrives. They parse no more than that takes.
import { once } from "node:events";
import { request } from "node:http";
import type { IncomingMessage } from "node:http";

import { answerTasks, now } from "../bench-process.ts";
import { markOf } from "../marks.ts";
import type { StreamReport, StreamsToOpen } from "../streams.ts";

const OPENED_AT_ONCE = 16;

const reports: StreamReport[] = [];
let arrived = 0;

function read(response: IncomingMessage, report: StreamReport): void {
  let pending = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    const at = now();
    const frames = (pending + chunk).split("\n\n");
    pending = frames.pop() ?? "";
    for (const frame of frames) {
      const mark = markOf(frame);
      if (mark === undefined) continue;
      report.marks.push(mark);
      report.times.push(at);
      arrived += 1;
    }
  });
  response.on("error", () => undefined);
  response.on("close", () => {
    report.isOpen = false;
  });
}

async function openStream(url: string, key: string, report: StreamReport): Promise<void> {
  const outgoing = request(`${url}/api/v1/events/stream`, { agent: false, headers: { "x-api-key": key } });
  outgoing.end();
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`A stream was answered ${String(response.statusCode)}`);
  outgoing.on("error", () => undefined);
  read(response, report);
}

answerTasks({
  async open({ url, keys, perKey }: StreamsToOpen) {
    const wanted = keys.flatMap((key) => Array.from({ length: perKey }, () => key));
    const queue = wanted.map((key): [string, StreamReport] => [key, { key, marks: [], times: [], isOpen: true }]);
    reports.push(...queue.map(([, report]) => report));
    const lane = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) await openStream(url, ...next);
    };
    await Promise.all(Array.from({ length: OPENED_AT_ONCE }, lane));
  },
  /** How many events have arrived. */
  count: () => arrived,
  /** What has arrived in each stream since the last time. */
  take() {
    arrived = 0;
    return reports.map((report): StreamReport => ({
      ...report,
      marks: report.marks.splice(0),
      times: report.times.splice(0),
    }));
  },
});
