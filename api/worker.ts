import { loadEnv } from "./config/env.ts";
import { createContainer } from "./container.ts";
import { createLogger } from "./lib/logger.ts";
import { runProcess } from "./lib/process.ts";

const env = loadEnv();
const log = createLogger({ level: env.logLevel, name: "worker" });

await runProcess(log, async () => {
  const container = await createContainer({ env, log });
  await container.jobs.start(container.jobDefinitions, container.shutdown);
  const loops = Promise.all(container.loops.map((loop) => loop.run(container.shutdown)));
  log.info({ jobs: container.jobDefinitions.map(({ name }) => name) }, "worker runs");
  return async () => {
    container.beginShutdown();
    await Promise.all([container.jobs.stop(), loops]);
    await container.close();
  };
});
