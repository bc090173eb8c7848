import type { FaucetChain, Gift } from "../../chain/faucet-chain.ts";
import { RecipientRefusesError } from "../../chain/faucet-chain.ts";
import { areAnvil } from "../../chain/local-node.ts";
import type { LocalNode } from "../../chain/local-node.ts";
import type { Network } from "../../config/constants.ts";
import { validationError } from "../../http/errors.ts";
import { clientOf } from "../../lib/client-address.ts";
import type { CountCall } from "../limits/client-windows.ts";
import { countInHour } from "../limits/hour-window.ts";

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
  nodes: Readonly<Record<Network, LocalNode>>;
  countCall: CountCall;
}

/** Gives money to wallets on the local chains. */
export class Faucet {
  readonly #deps: FaucetDeps;

  constructor(deps: FaucetDeps) {
    this.#deps = deps;
  }

  /** Whether every node is anvil. */
  isOpen(): Promise<boolean> {
    return areAnvil(this.#deps.nodes);
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

  #count(countedBy: "address" | "wallet", id: string, limit: number): Promise<void> {
    return countInHour(this.#deps.countCall, { window: "faucet", countedBy, id, limit });
  }
}
