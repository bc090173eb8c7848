import type { ApiMutant } from "./api-mutant.ts";

const TESTS = ["intents/intents.test.ts"];

/** Faults in what an agent does once for each of its intents. */
export const INTENT_FAULTS: ApiMutant[] = [
  {
    fault: "other arguments under an intent get the record of the first ones",
    file: "features/intents/intents.ts",
    from: "const found = earlier.differs.length === 0 ? await read(earlier.recordId) : null;",
    to: "const found = await read(earlier.recordId);",
    tests: TESTS,
  },
  {
    fault: "the intent of a listing is claimed before the listing's transaction",
    file: "features/listings/service.ts",
    from: "await intents.claim(intent, record._id, record.createdAt, session);",
    to: "await intents.claim(intent, record._id, record.createdAt, await connection.startSession());",
    tests: TESTS,
  },
  {
    fault: "the intent of a message is claimed before the message's transaction",
    file: "features/messages/sender.ts",
    from: "await this.#deps.intents.claim(intent, _id, createdAt, session);",
    to: "await this.#deps.intents.claim(intent, _id, createdAt, await this.#deps.connection.startSession());",
    tests: TESTS,
  },
];
