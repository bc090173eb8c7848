import type { Network } from "../config/constants.ts";

/** The JSON-RPC server of a network could not be reached, or had no answer, after bounded retries. */
export class ChainUnavailableError extends Error {
  override readonly name = "ChainUnavailableError";
  readonly network: Network;

  constructor(network: Network, cause: unknown) {
    super(`The JSON-RPC server of ${network} cannot be reached`, { cause });
    this.network = network;
  }
}

/** The JSON-RPC server answers for another chain than the network's. */
export class WrongChainError extends Error {
  override readonly name = "WrongChainError";
  readonly network: Network;

  constructor(network: Network, expected: number, actual: number) {
    super(`The JSON-RPC server configured for ${network} serves chain ${actual}, expected ${expected}`);
    this.network = network;
  }
}

/** The price feed of a token has no usable answer at the moment, so the contract refuses to value it. */
export class PriceUnavailableError extends Error {
  override readonly name = "PriceUnavailableError";
}

/** A deployment file is missing or does not have the shape that the deploy task writes. */
export class DeploymentFileError extends Error {
  override readonly name = "DeploymentFileError";
}
