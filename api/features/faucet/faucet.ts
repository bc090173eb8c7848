import type { FaucetChain, Gift } from "../../chain/faucet-chain.ts";
import { RecipientRefusesError } from "../../chain/faucet-chain.ts";
import { areAnvil } from "../../chain/local-node.ts";
import type { LocalNode } from "../../chain/local-node.ts";
import { NETWORKS } from "../../config/constants.ts";
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
    await this.#countClient(ip);
    await this.#count("wallet", `faucet:wallet:${address.toLowerCase()}`, WALLET_CALLS);
    try {
      return await this.#deps.chains[network].give(address);
    } catch (error) {
      if (!(error instanceof RecipientRefusesError)) throw error;
      throw validationError([{ path: "body.address", message: "Is a contract that takes no ether" }]);
    }
  }

  /**
   * Counts one call of the client, has a wallet made, and gives to it on every network.
   * @param make makes the wallet, once the call is known to be admitted
   * @throws ApiError `rate_limit_exceeded`; ChainUnavailableError, after which a part may have arrived
   */
  async giveToNew<Wallet extends Pick<FaucetCall, "address">>(
    ip: string,
    make: () => Promise<Wallet>,
  ): Promise<{ wallet: Wallet; gifts: (Gift & { network: Network })[] }> {
    await this.#countClient(ip);
    const wallet = await make();
    const gifts = await Promise.all(
      NETWORKS.map(async (network) => {
        const given = await this.#deps.chains[network].give(wallet.address);
        return given.map((gift) => ({ ...gift, network }));
      }),
    );
    return { wallet, gifts: gifts.flat() };
  }

  #countClient(ip: string): Promise<void> {
    return this.#count("address", `faucet:client:${clientOf(ip)}`, CLIENT_CALLS);
  }

  #count(countedBy: "address" | "wallet", id: string, limit: number): Promise<void> {
    return countInHour(this.#deps.countCall, { window: "faucet", countedBy, id, limit });
  }
}
