/** Thrown when an operation did not end in its time. */
export class DeadlineExceededError extends Error {
  override readonly name = "DeadlineExceededError";
  readonly timeoutMs: number;

  constructor(what: string, timeoutMs: number) {
    super(`${what} did not answer within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Runs an operation that must end within `timeoutMs` milliseconds. The signal given to it is aborted when the time is
 * over, so that the operation can let go of its sockets.
 * @throws DeadlineExceededError when the time is over first
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
