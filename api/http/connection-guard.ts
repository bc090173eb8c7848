import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

import { clientOf } from "../lib/client-address.ts";
import type { Metrics } from "../lib/metrics.ts";
import { Turns } from "./turns.ts";

/** Resource limits of a connection. docs/api/connections.md has the table. */
export interface ConnectionLimits {
  /** Requests of a connection that are being handled, or whose answers wait for the client. */
  inFlight: number;
  /** Bytes of answers that a client hasn't read, beyond what the system's buffers hold. Above, nothing more is begun. */
  unreadBytes: number;
  /** Requests of one client address that are handled at once. Further ones wait, so that other addresses don't. */
  atOnce: number;
  /** Where addresses aren't told apart: those of all connections that were sent ahead, behind an unanswered one. */
  pipelined: number;
  /** After this, further ones are begun although these are still being handled: what takes long waits for others, in milliseconds. */
  turnMs: number;
  /** When a connection is closed whose client takes none of its answers, in milliseconds; at most half as long again. */
  stallMs: number;
  /** How long a client may take to read the last answer and to close, in milliseconds. */
  lingerMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  inFlight: 16,
  unreadBytes: 1024 * 1024,
  atOnce: 2,
  pipelined: 4,
  turnMs: 100,
  stallMs: 10_000,
  lingerMs: 5_000,
};

/** Handles a request; resolves once its answer is on the way. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Dependencies of the guard. */
export interface GuardOptions {
  handle: RequestHandler;
  limits: ConnectionLimits;
  /** Connections of one client address; undefined for any number. Open event streams have a limit of their own. */
  perAddress: number | undefined;
  metrics: Pick<Metrics, "connectionClosed">;
}

/** Stands between a server and the application, so that no connection takes more than its share. */
export interface ConnectionGuard {
  /** Passes a request on, now or when it is its turn. */
  take: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Whether what took too long to arrive is behind requests that aren't answered yet, so that it may not have been read. The connection
   * ends then with their answers.
   */
  isLateBehindOthers(error: NodeJS.ErrnoException, socket: Socket): boolean;
  /** Closes each connection with its last answer. Resolves once none waits for an answer, nor for the rest of one. */
  closeWhenAnswered(): Promise<undefined>;
}

const TIMED_OUT = "ERR_HTTP_REQUEST_TIMEOUT";
const EVENT_STREAM = "text/event-stream";
/** How much is parsed at once, in bytes. This bounds how many requests are parsed before their turn. */
const PIECE_BYTES = 1024;
/** The same within a body. */
const BODY_PIECE_BYTES = 4 * 1024;

/** Node has paused the parser, and must not be given anything then. */
type WithPause = Socket & { _paused?: boolean };

/** One connection: its requests in their order, and whether its client keeps up. */
class GuardedConnection {
  readonly socket: WithPause;
  /** Of its client. The socket forgets it when it is closed. */
  readonly address: string;
  readonly #limits: ConnectionLimits;
  readonly #parse: (piece: Buffer) => void;
  /** Read, and not parsed. */
  #unparsed: Buffer = Buffer.alloc(0);
  #isParsing = false;
  /** Whether the socket is paused here, and not by Node. */
  #hasPaused = false;
  /** Begun, and not yet sent to the end. */
  readonly inFlight = new Set<ServerResponse>();
  /** Requests whose handlers haven't ended. They may outlive the connection. */
  handled = 0;
  /** Parsed, and not begun. */
  readonly waiting: [IncomingMessage, ServerResponse][] = [];
  /** The latest request. A server that stops closes the connection after its answer. */
  last: ServerResponse | undefined;
  /** Whether the connection ends with the requests that have been read. */
  isEnding = false;
  /** Whether nothing that arrives is answered any more. */
  isClosing = false;
  /** When the client was last found to take nothing, on the scale of `performance.now()`. */
  stalledAt = -Infinity;

  constructor(socket: Socket, limits: ConnectionLimits) {
    this.socket = socket;
    this.address = addressOf(socket);
    this.#limits = limits;
    // Node parses 64 KB at once, which may be thousands of requests. It gets them in pieces instead.
    const [parse] = socket.listeners("data");
    socket.removeAllListeners("data");
    this.#parse = (piece) => {
      parse?.call(socket, piece);
    };
    socket.on("data", (chunk: Buffer) => {
      this.#unparsed = this.#unparsed.length === 0 ? chunk : Buffer.concat([this.#unparsed, chunk]);
      this.goOn();
    });
    socket.on("resume", () => {
      this.goOn();
    });
  }

  isIdle(): boolean {
    return this.inFlight.size === 0 && this.waiting.length === 0;
  }

  /** Whether nothing of what has been read waits for an answer. */
  isAnswered(): boolean {
    return this.isIdle() && this.#unparsed.length === 0;
  }

  /** Whether it is closed, and nothing is being done for it any more. */
  isGone(): boolean {
    return this.socket.destroyed && this.handled === 0;
  }

  /** Whether the client's events are being streamed. */
  isStreaming(): boolean {
    const [first] = this.inFlight;
    return first?.headersSent === true && String(first.getHeader("Content-Type")).startsWith(EVENT_STREAM);
  }

  /** Whether another request may be begun. */
  hasRoom(): boolean {
    return this.inFlight.size < this.#limits.inFlight && this.#unreadBytes() < this.#limits.unreadBytes;
  }

  /** Parses on, unless requests wait already, and reads on once everything is parsed. */
  goOn(): void {
    if (this.#isParsing) return;
    this.#isParsing = true;
    if (this.#hasPaused && !this.#isHeld()) {
      this.#hasPaused = false;
      this.socket.resume();
    }
    // Node pauses the socket while a body waits for its reader, and resumes it then.
    while (this.#unparsed.length > 0 && !this.#isHeld() && !this.socket.isPaused()) {
      const bytes = this.last?.req.complete === false ? BODY_PIECE_BYTES : PIECE_BYTES;
      const piece = this.#unparsed.subarray(0, bytes);
      this.#unparsed = this.#unparsed.subarray(bytes);
      this.#parse(piece);
    }
    this.#isParsing = false;
    if (this.isEnding && this.#unparsed.length === 0 && this.last?.headersSent === false) {
      this.last.setHeader("Connection", "close");
    }
    if ((this.#unparsed.length > 0 || this.#isHeld()) && !this.socket.isPaused()) {
      this.#hasPaused = true;
      this.socket.pause();
    }
  }

  /**
   * Ends the connection, and reads on for a while: closing a socket with unread input resets the connection, and the
   * client may then lose an answer that it hasn't read yet (RFC 9112, 9.6).
   */
  linger(): void {
    if (this.isClosing) return;
    this.forget();
    if (this.socket.writable) this.socket.end();
    this.last?.req.resume();
    this.goOn();
    this.closeAfter(this.#limits.lingerMs);
  }

  /** Answers nothing more. */
  forget(): void {
    this.isClosing = true;
    this.waiting.length = 0;
  }

  /** Closes the connection after this time, in milliseconds, unless it is closed before. */
  closeAfter(ms: number): void {
    const timer = setTimeout(() => this.socket.destroy(), ms);
    this.socket.once("close", () => {
      clearTimeout(timer);
    });
  }

  #isHeld(): boolean {
    if (this.socket._paused === true || this.socket.destroyed) return true;
    return !this.isClosing && (this.waiting.length > 0 || !this.hasRoom());
  }

  #unreadBytes(): number {
    let bytes = this.socket.writableLength;
    for (const response of this.inFlight) if (response.socket === null) bytes += response.writableLength;
    return bytes;
  }
}

/** A client address's connections to this process. */
interface AddressEntry {
  /** Open, or closed while a request is still being handled: leaving before the answer frees no place. */
  connections: Set<GuardedConnection>;
  turns: Turns<GuardedConnection>;
}

/** The connections of each client address. */
class AddressBook {
  readonly #entries = new Map<string, AddressEntry>();
  readonly #newTurns: () => Turns<GuardedConnection>;

  constructor(newTurns: () => Turns<GuardedConnection>) {
    this.#newTurns = newTurns;
  }

  add(connection: GuardedConnection): void {
    this.#entryOf(connection).connections.add(connection);
  }

  remove(connection: GuardedConnection): void {
    const { connections } = this.#entryOf(connection);
    connections.delete(connection);
    if (connections.size === 0) this.#entries.delete(connection.address);
  }

  turnsOf(connection: GuardedConnection): Turns<GuardedConnection> {
    return this.#entryOf(connection).turns;
  }

  /** Whether a socket's address has that many connections already. */
  isFull(socket: Socket, most: number): boolean {
    const connections = this.#entries.get(addressOf(socket))?.connections ?? new Set();
    // Streams are only looked for where they may matter.
    return connections.size >= most && [...connections].filter((one) => !one.isStreaming()).length >= most;
  }

  #entryOf({ address }: GuardedConnection): AddressEntry {
    const known = this.#entries.get(address);
    if (known !== undefined) return known;
    const entry: AddressEntry = { connections: new Set(), turns: this.#newTurns() };
    this.#entries.set(address, entry);
    return entry;
  }
}

function addressOf(socket: Socket): string {
  return clientOf(socket.remoteAddress ?? "");
}

/** Closes connections that were kept for a request that hasn't come, and those whose clients take no answer. */
function closeIdleAndStalled(
  server: Server,
  connections: ReadonlyMap<Socket, GuardedConnection>,
  { limits, metrics }: Pick<GuardOptions, "limits" | "metrics">,
): void {
  // Half of the time, so that a client that takes some bytes between two looks isn't closed.
  server.timeout = limits.stallMs / 2;
  server.on("timeout", (socket: Socket) => {
    const connection = connections.get(socket);
    if (connection === undefined || socket.timeout !== server.timeout) {
      // It was kept for a further request, and none has come.
      socket.destroy();
      return;
    }
    socket.setTimeout(server.timeout);
    // Nothing waits for the client, or it reads its events, whose own limit counts. The other timeouts see to the rest.
    if (socket.writableLength === 0 || connection.isStreaming()) return;
    const now = performance.now();
    if (now - connection.stalledAt >= limits.stallMs) {
      connection.stalledAt = now;
      return;
    }
    metrics.connectionClosed("stalled");
    socket.destroy();
  });
}

/** Guards the connections of a server. Call it before the server listens. */
export function guardConnections(server: Server, options: GuardOptions): ConnectionGuard {
  const { handle, limits, perAddress, metrics } = options;
  const connections = new Map<Socket, GuardedConnection>();
  const newTurns = (count: number) =>
    new Turns<GuardedConnection>(count, limits.turnMs, (connection) => beginNext(connection));
  const addresses = new AddressBook(() => newTurns(limits.atOnce));
  const sharedTurns = newTurns(limits.pipelined);
  const turnsOf = (connection: GuardedConnection) =>
    perAddress === undefined ? sharedTurns : addresses.turnsOf(connection);
  let isStopping = false;
  const { promise: allAnswered, resolve: endWaiting } = Promise.withResolvers<undefined>();
  const isAnyAwaited = () => [...connections.values()].some((connection) => !connection.isAnswered());

  async function begin(connection: GuardedConnection, request: IncomingMessage, response: ServerResponse) {
    connection.inFlight.add(response);
    connection.handled += 1;
    response.once("close", () => {
      connection.inFlight.delete(response);
      goOn(connection);
      if (!connection.isEnding || !connection.isAnswered()) return;
      // The head of an answer that was on its way already said that the connection stays.
      connection.socket.destroySoon();
      if (isStopping && !isAnyAwaited()) endWaiting(undefined);
    });
    // Koa handles every error itself; its promise never rejects.
    await handle(request, response);
    connection.handled -= 1;
    if (connection.isGone()) addresses.remove(connection);
  }

  /** Begins the next waiting request, unless the connection has no room. */
  function beginNext(connection: GuardedConnection): Promise<void> | undefined {
    if (connection.isClosing || !connection.hasRoom()) return undefined;
    const next = connection.waiting.shift();
    return next && begin(connection, ...next);
  }

  function goOn(connection: GuardedConnection): void {
    if (connection.waiting.length > 0) turnsOf(connection).request(connection);
    connection.goOn();
  }

  server.on("connection", (socket) => {
    if (perAddress !== undefined && addresses.isFull(socket, perAddress)) {
      metrics.connectionClosed("address");
      socket.destroy();
      return;
    }
    const connection = new GuardedConnection(socket, limits);
    connections.set(socket, connection);
    addresses.add(connection);
    // Node calls this once the last answer is sent, and would close at once.
    socket.destroySoon = () => {
      connection.linger();
    };
    socket.on("drain", () => {
      goOn(connection);
    });
    socket.once("close", () => {
      connection.forget();
      connections.delete(socket);
      if (connection.isGone()) addresses.remove(connection);
      if (isStopping && !isAnyAwaited()) endWaiting(undefined);
    });
  });

  closeIdleAndStalled(server, connections, options);
  return {
    take(request, response) {
      const connection = connections.get(request.socket);
      if (connection === undefined || connection.isClosing) {
        request.resume();
        return;
      }
      connection.last = response;
      connection.isEnding ||= isStopping;
      if (perAddress === undefined && connection.isIdle()) void begin(connection, request, response);
      else connection.waiting.push([request, response]);
      goOn(connection);
    },
    isLateBehindOthers(error, socket) {
      const connection = connections.get(socket);
      if (error.code !== TIMED_OUT || connection === undefined || connection.isIdle()) return false;
      if (connection.waiting.length === 0 && connection.last?.req.complete === false) return false;
      connection.isEnding = true;
      connection.goOn();
      connection.closeAfter(server.requestTimeout);
      return true;
    },
    closeWhenAnswered() {
      isStopping = true;
      if (!isAnyAwaited()) endWaiting(undefined);
      for (const connection of connections.values()) {
        connection.isEnding = true;
        connection.goOn();
      }
      return allAnswered;
    },
  };
}
