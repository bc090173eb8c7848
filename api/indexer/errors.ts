import type { Network } from "../config/constants.ts";

/** The subgraph of a network gave no answer after bounded retries. */
export class IndexerUnavailableError extends Error {
  override readonly name = "IndexerUnavailableError";
  readonly network: Network;

  constructor(network: Network, detail: string, cause?: unknown) {
    super(`The subgraph of ${network} cannot be read: ${detail}`, { cause });
    this.network = network;
  }
}

/** The subgraph has not reached the block that a reading needs within the time allowed (decision 41). */
export class IndexerBehindError extends Error {
  override readonly name = "IndexerBehindError";
  readonly network: Network;
  /** Last block that the subgraph has indexed; null when it did not say. */
  readonly indexedBlock: number | null;
  readonly neededBlock: number;

  constructor(network: Network, indexedBlock: number | null, neededBlock: number) {
    super(`The subgraph of ${network} is at block ${indexedBlock ?? "unknown"}, block ${neededBlock} is needed`);
    this.network = network;
    this.indexedBlock = indexedBlock;
    this.neededBlock = neededBlock;
  }
}
