import { loadEnv } from "./config/env.ts";
import { createContainer } from "./container.ts";
import { listenForScrapes } from "./http/metrics-server.ts";
import { createLogger } from "./lib/logger.ts";
import { runProcess, stopInOrder } from "./lib/process.ts";
import { takeNoArguments } from "./commands/usage.ts";

const HELP = `usage: npm run worker -- [--help]

Follows the chains, sends webhooks and runs jobs until SIGINT or SIGTERM. Environment variables configure it
(docs/operating/configuration.md); several workers may share one database. The API is a process of its own: npm run api.
  --help   this text`;
takeNoArguments(HELP);

const env = loadEnv();
const log = createLogger({ level: env.logLevel, name: "worker" });

/** How long jobs and loops may take to end. */
const BACKGROUND_LIMIT_MS = 6_000;
const METRICS_LIMIT_MS = 500;
/** How long the connections may take to close. */
const CLOSE_LIMIT_MS = 2_000;

/** Nobody waits for what a worker embeds as for a search: the encoder's thread leaves the processors to the other processes. */
const ENCODER_NICENESS = 10;

await runProcess(log, async () => {
  const container = await createContainer({ env, log, encoderNiceness: ENCODER_NICENESS });
  await container.jobs.start(container.jobDefinitions, container.shutdown);
  const loops = Promise.all(container.loops.map((loop) => loop.run(container.shutdown)));
  const scrapes =
    env.metricsPort === undefined
      ? undefined
      : await listenForScrapes(container.metrics, { host: env.host, port: env.metricsPort, log });
  // At every level: whatever has started the worker waits for this line.
  const always = log.child({}, { level: "info" });
  always.info({ jobs: container.jobDefinitions.map(({ name }) => name) }, "worker runs");
  return async () => {
    container.beginShutdown();
    await stopInOrder(log, [
      {
        name: "background work",
        limitMs: BACKGROUND_LIMIT_MS,
        stop: () => Promise.all([container.jobs.stop(), loops]),
      },
      { name: "metrics", limitMs: METRICS_LIMIT_MS, stop: async () => scrapes?.stop() },
      { name: "connections", limitMs: CLOSE_LIMIT_MS, stop: () => container.close() },
    ]);
  };
});
