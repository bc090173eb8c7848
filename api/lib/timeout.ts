// Not p-timeout: it rejects on timeout without aborting the operation.
/** Thrown when an operation exceeds its timeout. */
export class DeadlineExceededError extends Error {
  override readonly name = "DeadlineExceededError";
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number) {
    super(`${what} didn't answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Runs an operation with a timeout in milliseconds. On timeout its signal aborts, so that the operation can release its
 * sockets.
 * @throws DeadlineExceededError on timeout
 */
export async function withTimeout<T>(
  what: string,
  timeoutMs: number,
  operation: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      const error = new DeadlineExceededError(what, timeoutMs);
      controller.abort(error);
      reject(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([operation(controller.signal), timeout]);
  } finally {
    clearTimeout(timer);
  }
}
