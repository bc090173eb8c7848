import type { ApiMutant } from "./api-mutant.ts";

/** Faults in what a connection may cost. */
export const CONNECTION_FAULTS: ApiMutant[] = [
  {
    fault: "a connection has any number of requests in flight",
    file: "http/connection-guard.ts",
    from: "this.inFlight.size < this.#limits.inFlight &&",
    to: "",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "requests are begun however much of the answers is unread",
    file: "http/connection-guard.ts",
    from: "&& this.#unreadBytes() < this.#limits.unreadBytes",
    to: "",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "requests that are sent ahead need no turn",
    file: "http/connection-guard.ts",
    from: "if (connection.isIdle()) void begin",
    to: "if (connection.hasRoom()) void begin",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "all of what a connection sends is parsed at once",
    file: "http/connection-guard.ts",
    from: "const PIECE_BYTES = 1024;",
    to: "const PIECE_BYTES = 1024 * 1024;",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "a client that takes no answer keeps its connection",
    file: "http/connection-guard.ts",
    from: "if (now - connection.stalledAt >= limits.stallMs) {",
    to: "if (now - connection.stalledAt >= 0) {",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "an event stream is closed like any answer that isn't read",
    file: "http/connection-guard.ts",
    from: "if (socket.writableLength === 0 || connection.isStreaming()) return;",
    to: "if (socket.writableLength === 0) return;",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "an address has one connection more than its bound",
    file: "http/connection-guard.ts",
    from: "siblings.size >= most &&",
    to: "siblings.size > most &&",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "event streams count among the connections of an address",
    file: "http/connection-guard.ts",
    from: ".filter((sibling) => !sibling.isStreaming())",
    to: "",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "a connection that asked early has two turns in a row",
    file: "http/pipeline-turns.ts",
    from: "    this.#queue.delete(connection);\n    this.request",
    to: "    this.request",
    tests: ["http/connection-guard.test.ts"],
  },
  {
    fault: "the rest of a refused body stays on the connection",
    file: "http/middleware/drain-body.ts",
    from: "if (req.readableEnded || !hasBody(req)) return;",
    to: "if (limits.ms > 0) return;",
    tests: ["http/refused-bodies.test.ts"],
  },
  {
    fault: "a connection is reset while its client sends",
    file: "http/connection-guard.ts",
    from: "this.closeAfter(this.#limits.lingerMs)",
    to: "this.closeAfter(0)",
    tests: ["http/refused-bodies.test.ts"],
  },
];
