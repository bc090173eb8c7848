/**
 * Work that goes on as long as the worker lives, with pauses shorter than a job queue keeps: following the chain, sending
 * what the outbox holds. Several workers may run the same loop; it sees to it that nothing is done twice.
 */
export interface BackgroundLoop {
  /** `feature.verb`, for the log. */
  name: string;
  /** Ends soon after the signal. Handles its own errors; what it throws ends the process. */
  run(signal: AbortSignal): Promise<void>;
}
