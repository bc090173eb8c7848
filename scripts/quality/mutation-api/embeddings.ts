import type { ApiMutant } from "./api-mutant.ts";

const SERVER = "search/embedding/embedding-server.ts";
const CLIENT = "lib/openai.ts";
const ENCODER = "search/embedding/server-encoder.ts";
const BUDGET = "search/embedding/token-budget.ts";
const JOB = "features/discovery/embed-pending.ts";
const REQUEST_TESTS = ["search/embedding/requests.test.ts"];
const PROCESS_TESTS = ["search/embedding/processes.test.ts"];
const PENDING_TESTS = ["search/embedding/pending.test.ts"];

/** Faults in what an embedding server is sent, what is taken from it, and what it may cost. */
export const EMBEDDING_FAULTS: ApiMutant[] = [
  {
    fault: "a vector belongs to the text at its place in the answer, not at its index",
    file: SERVER,
    from: "data.map(({ index, embedding }) => [index, embedding])",
    to: "data.map(({ embedding }, index) => [index, embedding])",
    tests: REQUEST_TESTS,
  },
  {
    fault: "vectors of other dimensions are taken",
    file: SERVER,
    from: "if (numbers.length !== dimensions) {",
    to: "if (numbers.length === 0) {",
    tests: REQUEST_TESTS,
  },
  {
    fault: "a redirect is followed, with the texts",
    file: CLIENT,
    from: 'fetchOptions: { redirect: "error" }',
    to: "fetchOptions: {}",
    tests: REQUEST_TESTS,
  },
  {
    fault: "a text that the server refuses is sent again at once",
    file: ENCODER,
    from: "await this.#cache.store(refused.map(({ item: { hash } }) => ({ hash, vector: null, expiresAt })));",
    to: "void expiresAt;",
    tests: REQUEST_TESTS,
  },
  {
    fault: "a failure doesn't keep the process from sending",
    file: ENCODER,
    from: "this.#outage.begin(error);",
    to: "",
    tests: REQUEST_TESTS,
  },
  {
    fault: "an agent's private text is answered from another agent's vector",
    file: ENCODER,
    from: "JSON.stringify([this.model, as, owner ?? null, clean])",
    to: "JSON.stringify([this.model, as, null, clean])",
    tests: PROCESS_TESTS,
  },
  {
    fault: "a query's vector is kept for as long as a listing's",
    file: ENCODER,
    from: "KEPT_MS = { query: HOUR_MS,",
    to: "KEPT_MS = { query: 30 * 24 * HOUR_MS,",
    tests: PROCESS_TESTS,
  },
  {
    fault: "a request that got no answer costs nothing",
    file: ENCODER,
    from: "if (error instanceof EmbeddingServerError && !error.mayCost) await reservation.settle(0);",
    to: "await reservation.settle(0);",
    tests: PROCESS_TESTS,
  },
  {
    fault: "the day's tokens have no bound",
    file: BUDGET,
    from: "tokens: { $lte: limit - tokens } };",
    to: "tokens: { $gte: 0 } };",
    tests: PROCESS_TESTS,
  },
  {
    fault: "archived listings are embedded",
    file: JOB,
    from: 'status: { $in: ["active", "paused"] }',
    to: "status: { $exists: true }",
    tests: PENDING_TESTS,
  },
  {
    fault: "a listing that changes meanwhile gets the vector of its old text",
    file: JOB,
    from: "filter: { _id, revision },",
    to: "filter: { _id },",
    tests: PENDING_TESTS,
  },
  {
    fault: "new listings wait for those that another model has embedded",
    file: JOB,
    from: 'texts === "new" ? null : { $nin: [null, encoder.model] }',
    to: "{ $ne: encoder.model }",
    tests: PENDING_TESTS,
  },
  {
    fault: "a query waits for the texts of the background",
    file: "search/embedding/encoder-worker.ts",
    from: "queues.first.shift() ?? queues.background.shift()",
    to: "queues.background.shift() ?? queues.first.shift()",
    tests: ["search/encoder.test.ts"],
  },
];
