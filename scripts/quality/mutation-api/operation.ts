import type { ApiMutant } from "./api-mutant.ts";

const NETWORKS = "features/networks/routes.ts";
const KEPT = "lib/kept.ts";
const READINESS = "features/health/readiness.ts";
const HEALTH = "features/health/routes.ts";
const LOOP = "jobs/background-loop.ts";
const HEALTH_TESTS = ["health/health.test.ts"];
const READINESS_TESTS = ["health/readiness.test.ts"];
const NETWORK_TESTS = ["networks/networks.test.ts"];
const LOOP_TESTS = ["jobs/background-loop.test.ts"];

/** Faults in what operators see of the service, and in the loops that keep it going. */
export const OPERATION_FAULTS: ApiMutant[] = [
  {
    fault: "a subgraph counts as up to date while its chain is unavailable",
    file: NETWORKS,
    from: "areKnown ? Math.max(0, headBlock - indexedBlock) : null",
    to: "areKnown || indexedBlock !== null ? Math.max(0, Number(headBlock) - Number(indexedBlock)) : null",
    tests: HEALTH_TESTS,
  },
  {
    fault: "both networks show the testnet's subgraph",
    file: NETWORKS,
    from: "deps.publicSubgraphUrls[network]",
    to: 'deps.publicSubgraphUrls["base-sepolia"]',
    tests: NETWORK_TESTS,
  },
  {
    fault: "both networks show the mainnet's explorer",
    file: NETWORKS,
    from: "EXPLORERS[network]",
    to: "EXPLORERS.base",
    tests: NETWORK_TESTS,
  },
  {
    fault: "a process without its database is ready",
    file: HEALTH,
    from: "return database.ok && needed",
    to: "return Boolean(database) && needed",
    tests: ["db/connection.test.ts"],
  },
  {
    fault: "an outage of one network takes a process out of its load balancer",
    file: HEALTH,
    from: "needed.some((name)",
    to: "needed.every((name)",
    tests: HEALTH_TESTS,
  },
  {
    fault: "a subgraph that has stopped with an error works",
    file: READINESS,
    from: "if (hasIndexingErrors) throw",
    to: "if (hasIndexingErrors && number < 0) throw",
    tests: READINESS_TESTS,
  },
  {
    fault: "a search index that doesn't follow works",
    file: READINESS,
    from: "if (lagMs > MAX_SEARCH_LAG_MS) throw",
    to: "if (lagMs < 0) throw",
    tests: READINESS_TESTS,
  },
  {
    fault: "the state of the service is shared for longer than a second",
    file: KEPT,
    from: "this.#now() < entry.until",
    to: "this.#now() <= entry.until",
    tests: HEALTH_TESTS,
  },
  {
    fault: "a follower's lag is measured from the chain's head to itself",
    file: READINESS,
    from: "chains[network].block(block))",
    to: "chains[network].block(chain.headBlock))",
    tests: READINESS_TESTS,
  },
  {
    fault: "a loop that has recovered pauses as long as before at its next failure",
    file: LOOP,
    from: "log.info(recovered);\n          failures = 0;",
    to: "log.info(recovered);",
    tests: LOOP_TESTS,
  },
  {
    fault: "a loop begins with the second pause",
    file: LOOP,
    from: "pauseMs = pauseAfter(failures, retry);\n          failures += 1;",
    to: "failures += 1;\n          pauseMs = pauseAfter(failures, retry);",
    tests: LOOP_TESTS,
  },
  {
    fault: "a loop that stops keeps its lease",
    file: LOOP,
    from: "// Without the database the lease expires by itself.\n      await lease?.release().catch(() => undefined);",
    to: "void lease;",
    tests: LOOP_TESTS,
  },
  {
    fault: "a worker whose step fails keeps its lease",
    file: LOOP,
    from: "// Another worker may be able to.\n          await lease?.release().catch(() => undefined);",
    to: "void lease;",
    tests: [...LOOP_TESTS, "jobs/lease.test.ts"],
  },
  {
    fault: "a process that holds a lease never asks for it again",
    file: "jobs/lease.ts",
    from: "this.#renewAt = performance.now() + this.#ttlMs / 2;",
    to: "this.#renewAt = performance.now() + this.#ttlMs * 3_000;",
    tests: ["jobs/lease.test.ts"],
  },
  {
    fault: "a job that its worker hadn't begun at its end waits for its next time",
    file: "jobs/job-system.ts",
    from: "job.attrs.nextRunAt = new Date();",
    to: "",
    tests: ["jobs/jobs.test.ts"],
  },
];
