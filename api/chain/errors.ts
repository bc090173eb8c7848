import type { Network } from "../config/constants.ts";

/** A network's JSON-RPC server didn't respond within the bounded retries. */
export class ChainUnavailableError extends Error {
  override readonly name: string = "ChainUnavailableError";
  readonly network: Network;

  constructor(network: Network, cause: unknown, message = `The JSON-RPC server of ${network} is unreachable`) {
    super(message, { cause });
    this.network = network;
  }
}

/** The JSON-RPC server serves another chain, so none of its answers are used. */
export class WrongChainError extends ChainUnavailableError {
  override readonly name = "WrongChainError";

  constructor(network: Network, expected: number, actual: number) {
    const variable = `RPC_URL_${network.toUpperCase().replace("-", "_")}`;
    super(network, undefined, `The server of ${variable} serves chain ${actual}, but ${network} is chain ${expected}`);
  }
}

/** A token's price feed has no usable answer, so the contract can't value the token. */
export class PriceUnavailableError extends Error {
  override readonly name = "PriceUnavailableError";
  /** Facts for the client: the token and the age of its price. */
  readonly facts: { token: string; updatedAt: number; maxPriceAge: number } | undefined;

  constructor(message: string, { facts, ...options }: ErrorOptions & { facts?: PriceUnavailableError["facts"] } = {}) {
    super(message, options);
    this.facts = facts;
  }
}

/** The escrow contract accepts no new deposits in this token. */
export class TokenNotListedError extends Error {
  override readonly name = "TokenNotListedError";
}

/** A deployment file is missing, belongs to another network or is malformed. */
export class DeploymentFileError extends Error {
  override readonly name = "DeploymentFileError";
}
