import { MongoError, MongoInvalidArgumentError } from "mongodb";
import mongoose from "mongoose";

import { isDatabaseOutage } from "../../db/connection.ts";
import { doubled } from "../../lib/retry.ts";
import type { QuarantineRecord } from "./model.ts";

/** Another process has moved the cursor, so this one's state is outdated. */
export class CursorMovedError extends Error {
  override readonly name = "CursorMovedError";
}

/** The subgraph returned a move that this version can't read. */
export class UnreadableMoveError extends Error {
  override readonly name = "UnreadableMoveError";
}

/** Server errors caused by a document rather than by the server's state: bad values, too large, duplicates. */
const DOCUMENT_ERROR_CODES: ReadonlySet<unknown> = new Set([2, 9, 14, 121, 10_334, 11_000, 17_280, 17_419]);

/** Due before everything else, regardless of the clocks of this machine and of the follower. */
export const AT_ONCE = new Date(0);

const RETRY = { minMs: 5_000, maxMs: 3_600_000 };
const MESSAGE_MAX_LENGTH = 2_000;
const STACK_MAX_LENGTH = 8_000;

/**
 * Whether applying a move failed because of the move itself, so that a retry would fail again. An unavailable database,
 * a lost connection or a faster process don't count as the move's fault.
 */
export function isPoison(error: unknown): boolean {
  if (error instanceof CursorMovedError || isDatabaseOutage(error)) return false;
  if (error instanceof MongoError) {
    if (error.hasErrorLabel("TransientTransactionError") || error.hasErrorLabel("UnknownTransactionCommitResult")) {
      return false;
    }
    return error instanceof MongoInvalidArgumentError || DOCUMENT_ERROR_CODES.has(error.code);
  }
  if (error instanceof mongoose.Error) {
    const { ValidationError, CastError, StrictModeError } = mongoose.Error;
    return error instanceof ValidationError || error instanceof CastError || error instanceof StrictModeError;
  }
  return error instanceof Error && error.name !== "AbortError";
}

/** When an escrow is tried again after this many failures. */
export function retryAfter(attempts: number, now: Date): Date {
  return new Date(now.getTime() + doubled(attempts - 1, RETRY));
}

/** The part of an error that is stored for the operator. */
export function storedError(error: unknown): QuarantineRecord["error"] {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  return {
    name,
    message: message.slice(0, MESSAGE_MAX_LENGTH),
    stack: stack?.slice(0, STACK_MAX_LENGTH) ?? null,
  };
}
