import type { Network } from "../config/constants.ts";

/** The JSON-RPC server of a network could not be reached, or had no answer, after bounded retries. */
export class ChainUnavailableError extends Error {
  override readonly name: string = "ChainUnavailableError";
  readonly network: Network;

  constructor(network: Network, cause: unknown, message = `The JSON-RPC server of ${network} cannot be reached`) {
    super(message, { cause });
    this.network = network;
  }
}

/** The JSON-RPC server answers for another chain than the network's: nothing that it says is taken. */
export class WrongChainError extends ChainUnavailableError {
  override readonly name = "WrongChainError";

  constructor(network: Network, expected: number, actual: number) {
    const variable = `RPC_URL_${network.toUpperCase().replace("-", "_")}`;
    super(network, undefined, `The server of ${variable} serves chain ${actual}, but ${network} is chain ${expected}`);
  }
}

/** The price feed of a token has no usable answer at the moment, so the contract refuses to value it. */
export class PriceUnavailableError extends Error {
  override readonly name = "PriceUnavailableError";
}

/** The escrow contract takes no new deposits in this token. */
export class TokenNotListedError extends Error {
  override readonly name = "TokenNotListedError";
}

/** A deployment file is missing, is another network's or does not have the shape that the deploy task writes. */
export class DeploymentFileError extends Error {
  override readonly name = "DeploymentFileError";
}
