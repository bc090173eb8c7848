import {
  MongoBulkWriteError,
  MongoError,
  MongoErrorLabel,
  MongoExpiredSessionError,
  MongoNetworkError,
  MongoOperationTimeoutError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  WriteConcern,
} from "mongodb";
import type { IndexDescription } from "mongodb";
import mongoose from "mongoose";
import type { ClientSession, Connection } from "mongoose";

import type { Logger } from "../lib/logger.ts";

/** Thrown when the server at MONGODB_URI is unusable. The message says why and what to do. */
export class DatabaseUnusableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "DatabaseUnusableError";
  }
}

const SERVER_SELECTION_TIMEOUT_MS = 5_000;
const SOCKET_TIMEOUT_MS = 30_000;
const DEFAULT_DATABASE = "marketplace";

/**
 * Opens the connection and rejects a server without transactions. Related records, events and cursors are written in
 * one transaction, which requires a replica set or a sharded cluster.
 * @param databaseName overrides the name in the address
 * @throws DatabaseUnusableError
 */
export async function connectDatabase(uri: string, log: Logger, databaseName?: string): Promise<Connection> {
  const connection = mongoose.createConnection(uri, {
    dbName: databaseName ?? parseDatabaseName(uri),
    autoIndex: false,
    autoCreate: false,
    // Without a connection, a query fails immediately instead of waiting in the client's buffer.
    bufferCommands: false,
    serverSelectionTimeoutMS: SERVER_SELECTION_TIMEOUT_MS,
    socketTimeoutMS: SOCKET_TIMEOUT_MS,
    retryWrites: true,
    writeConcern: { w: "majority" },
    readConcern: { level: "majority" },
  });
  connection.on("error", (error: unknown) => {
    log.error({ err: error }, "database connection");
  });
  try {
    await connection.asPromise();
  } catch (error) {
    throw new DatabaseUnusableError("MONGODB_URI: no MongoDB answers there", { cause: error });
  }
  const hello = await connection.getClient().db("admin").command({ hello: 1 });
  const isReplicaSet = typeof hello.setName === "string";
  const isSharded = hello.msg === "isdbgrid";
  if (!isReplicaSet && !isSharded) {
    await connection.close();
    throw new DatabaseUnusableError(
      "MONGODB_URI: the MongoDB there is a standalone server and has no transactions; start it with --replSet and " +
        "rs.initiate(), or give the address of a replica set or a sharded cluster",
    );
  }
  return connection;
}

function parseDatabaseName(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]*)/.exec(uri)?.[1] ?? "";
  return path === "" ? DEFAULT_DATABASE : path;
}

/**
 * Creates the collections and the indexes that the models declare. Safe when several processes start at once. One command
 * for a collection: with Mongoose's `createIndexes`, which sends one for each index, a start took longer and cost the
 * server about a third more CPU time.
 */
export async function createIndexes(connection: Connection): Promise<void> {
  await Promise.all(
    Object.values(connection.models).map(async (model) => {
      const indexes = model.schema.indexes();
      if (indexes.length === 0) await model.createCollection();
      else
        await model.collection.createIndexes(
          indexes.map(([key, options]) => ({ ...options, key }) as IndexDescription),
        );
    }),
  );
}

/**
 * Runs work in one transaction. The driver repeats the work as a whole on a transient error, so it must only access the
 * database, and only with the given session.
 */
export async function withTransaction<T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  const session = await connection.startSession();
  try {
    return await session.withTransaction(() => work(session), {
      readConcern: { level: "snapshot" },
      writeConcern: new WriteConcern("majority"),
    });
  } finally {
    await session.endSession();
  }
}

const DUPLICATE_KEY = 11_000;

/** Whether a write violated a unique index, or the one on `field` if that is given. */
export function isDuplicateKey(error: unknown, field?: string): boolean {
  const { code, keyPattern } = error as { code?: unknown; keyPattern?: Record<string, unknown> };
  return code === DUPLICATE_KEY && (field === undefined || keyPattern?.[field] !== undefined);
}

/** Codes of errors from writing to a socket that the server has closed. The driver doesn't wrap them. */
const CLOSED_SOCKET_CODES: readonly unknown[] = [
  ...["EPIPE", "ECONNRESET", "ETIMEDOUT"],
  ...["ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"],
];

/** The driver turns every failure of a bulk write into this class. Without a code, the server hasn't answered. */
function isUnansweredBulkWrite(error: unknown): boolean {
  return error instanceof MongoBulkWriteError && error.code === undefined;
}

/**
 * Error codes of a temporary refusal: the server is overloaded, changes its role, stops, or has ended an operation that
 * took too long.
 */
const PASSING_CODES: ReadonlySet<unknown> = new Set([
  ...[6, 7, 89, 9001], // HostUnreachable, HostNotFound, NetworkTimeout, SocketException
  ...[91, 189, 10107, 11600, 11602, 13435, 13436], // shuts down, or isn't the primary
  ...[63, 133, 134, 150, 13388], // a shard or a member that isn't ready
  ...[64, 79, 100], // the write concern isn't satisfied
  ...[24, 46, 112, 365], // LockTimeout, LockBusy, WriteConflict, TemporarilyUnavailable
  ...[50, 202, 262, 11601], // MaxTimeMSExpired, NetworkInterfaceExceededTimeLimit, ExceededTimeLimit, Interrupted
  ...[225, 239, 246, 251, 290], // a transaction or its snapshot is too old
  ...[43, 237, 391, 462], // CursorNotFound, CursorKilled, ReauthenticationRequired, IngressRequestRateLimitExceeded
]);

/** Labels of errors after which a retry may succeed. */
const PASSING_LABELS = [
  MongoErrorLabel.RetryableWriteError,
  MongoErrorLabel.TransientTransactionError,
  MongoErrorLabel.UnknownTransactionCommitResult,
] as const;

/** Whether an error is a temporary refusal by the server or the driver. */
function isPassingRefusal(error: unknown): boolean {
  return (
    error instanceof MongoError &&
    (PASSING_CODES.has(error.code) || PASSING_LABELS.some((label) => error.hasErrorLabel(label)))
  );
}

/** Whether an error means that the database is unavailable and a retry may succeed. */
export function isDatabaseOutage(error: unknown): boolean {
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoTopologyClosedError ||
    error instanceof MongoOperationTimeoutError ||
    error instanceof MongoExpiredSessionError ||
    isPassingRefusal(error) ||
    isUnansweredBulkWrite(error) ||
    (error instanceof Error && "code" in error && CLOSED_SOCKET_CODES.includes(error.code))
  );
}
