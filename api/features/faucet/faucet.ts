import type { FaucetChain, Gift } from "../../chain/faucet-chain.ts";
import { RecipientRefusesError } from "../../chain/faucet-chain.ts";
import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { ApiError, validationError } from "../../http/errors.ts";
import { clientOf } from "../../lib/client-address.ts";
import type { CountCall } from "../limits/client-windows.ts";

const HOUR_MS = 3_600_000;
/** Calls in an hour, by client address and by wallet. */
const CLIENT_CALLS = 20;
const WALLET_CALLS = 3;

/** Who asks for what. */
export interface FaucetCall {
  address: `0x${string}`;
  network: Network;
  /** Address of the client. */
  ip: string;
}

/** Dependencies of the faucet. */
export interface FaucetDeps {
  chains: Readonly<Record<Network, FaucetChain>>;
  countCall: CountCall;
}

/** Gives money to wallets on the local chains. */
export class Faucet {
  readonly #deps: FaucetDeps;

  constructor(deps: FaucetDeps) {
    this.#deps = deps;
  }

  /** Whether every node is anvil. A chain id proves nothing: the local chains have those of the live ones. */
  async isOpen(): Promise<boolean> {
    const answers = await Promise.all(NETWORKS.map((network) => this.#deps.chains[network].isAnvil()));
    return answers.every(Boolean);
  }

  /**
   * Counts the call and gives. What fails afterwards counts too.
   * @throws ApiError `rate_limit_exceeded`, `validation_error` if the address takes no ether
   */
  async give({ address, network, ip }: FaucetCall): Promise<Gift[]> {
    // The client first, so that one that is refused can't use up the calls of a wallet of others.
    await this.#count("address", `faucet:client:${clientOf(ip)}`, CLIENT_CALLS);
    await this.#count("wallet", `faucet:wallet:${address.toLowerCase()}`, WALLET_CALLS);
    try {
      return await this.#deps.chains[network].give(address);
    } catch (error) {
      if (!(error instanceof RecipientRefusesError)) throw error;
      throw validationError([{ path: "body.address", message: "Is a contract that takes no ether" }]);
    }
  }

  async #count(countedBy: "address" | "wallet", id: string, limit: number): Promise<void> {
    const { admitted, times, at } = await this.#deps.countCall({ id, limit, lengthMs: HOUR_MS });
    if (admitted) return;
    const freeAt = (times[0] ?? at).getTime() + HOUR_MS;
    throw new ApiError("rate_limit_exceeded", {
      details: { window: "faucet", countedBy, limit },
      retryAfterSeconds: Math.max(1, Math.ceil((freeAt - at.getTime()) / 1_000)),
    });
  }
}
