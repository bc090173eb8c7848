import { MongoNetworkError, MongoServerSelectionError, MongoTopologyClosedError, WriteConcern } from "mongodb";
import mongoose from "mongoose";
import type { ClientSession, Connection } from "mongoose";

import type { Logger } from "../lib/logger.ts";

/** Thrown when the server behind MONGODB_URI cannot be used. The message says why and what to do. */
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
 * Opens the connection and refuses a server without transactions: the records, events and cursors that belong together
 * are written in one transaction, which only a replica set or a sharded cluster has.
 * @param databaseName overrides the name in the address
 * @throws DatabaseUnusableError
 */
export async function connectDatabase(uri: string, log: Logger, databaseName?: string): Promise<Connection> {
  const connection = mongoose.createConnection(uri, {
    dbName: databaseName ?? databaseNameOf(uri),
    autoIndex: false,
    autoCreate: false,
    // Without a connection a query fails at once instead of waiting in a queue of the client.
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

function databaseNameOf(uri: string): string {
  const path = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]*)/.exec(uri)?.[1] ?? "";
  return path === "" ? DEFAULT_DATABASE : path;
}

/** Creates the collections and the indexes that the models declare. Safe when several processes start at once. */
export async function createIndexes(connection: Connection): Promise<void> {
  await Promise.all(
    Object.values(connection.models).map(async (model) => {
      await model.createCollection();
      await model.createIndexes();
    }),
  );
}

/**
 * Runs work in one transaction, repeated as a whole when the server asks for it: the work must do nothing but database
 * writes with the session it is given.
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

/** Says whether a write failed because of a unique index, and of which one when `field` is given. */
export function isDuplicateKey(error: unknown, field?: string): boolean {
  const { code, keyPattern } = error as { code?: unknown; keyPattern?: Record<string, unknown> };
  return code === DUPLICATE_KEY && (field === undefined || keyPattern?.[field] !== undefined);
}

/** What writing to a socket throws that the server has just closed: the driver passes it on as it is. */
const CLOSED_SOCKET_CODES: readonly unknown[] = [
  ...["EPIPE", "ECONNRESET", "ETIMEDOUT"],
  ...["ERR_STREAM_DESTROYED", "ERR_STREAM_WRITE_AFTER_END"],
];

/** Says whether an error means that no database answers at the moment, so that a try again later makes sense. */
export function isDatabaseOutage(error: unknown): boolean {
  return (
    error instanceof MongoNetworkError ||
    error instanceof MongoServerSelectionError ||
    error instanceof MongoTopologyClosedError ||
    (error instanceof Error && "code" in error && CLOSED_SOCKET_CODES.includes(error.code))
  );
}
