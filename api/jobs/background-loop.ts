/**
 * Continuous work of a worker with shorter pauses than a job queue supports, such as following the chain or sending
 * from the outbox. Several workers may run the same loop; the loop ensures that nothing is done twice.
 */
export interface BackgroundLoop {
  /** `feature.verb`, for the log. */
  name: string;
  /** Returns soon after the signal aborts. It handles its own errors; an error that it throws ends the process. */
  run(signal: AbortSignal): Promise<void>;
}
