import type { Network } from "../config/constants.ts";

/** A network's subgraph didn't answer within the bounded retries. */
export class IndexerUnavailableError extends Error {
  override readonly name = "IndexerUnavailableError";
  readonly network: Network;

  constructor(network: Network, detail: string, cause?: unknown) {
    super(`The subgraph of ${network} is unavailable: ${detail}`, { cause });
    this.network = network;
  }
}

/** The subgraph didn't reach the block that a read needs in time. */
export class IndexerBehindError extends Error {
  override readonly name = "IndexerBehindError";
  readonly network: Network;
  /** Last block that the subgraph has indexed; null if unknown. */
  readonly indexedBlock: number | null;
  readonly neededBlock: number;

  constructor(network: Network, indexedBlock: number | null, neededBlock: number) {
    super(`The subgraph of ${network} is at block ${indexedBlock ?? "unknown"}, but block ${neededBlock} is needed`);
    this.network = network;
    this.indexedBlock = indexedBlock;
    this.neededBlock = neededBlock;
  }
}
