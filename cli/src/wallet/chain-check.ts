import { createPublicClient, http } from "viem";

import type { NetworkPin, Pins } from "./pins.ts";
import { WalletError } from "./wallet-error.ts";

const TIMEOUT_MS = 10_000;
/** Nodes of chains that exist on one machine only. */
const DEVELOPMENT_NODE = /^(anvil|hardhat|ganache|ethereumjs testrpc)/i;

/** What a node is. */
export interface NodeFacts {
  chainId: number;
  /** Whether its chain is a local one. Its id proves nothing: the local chains have those of the live ones. */
  isLocal: boolean;
}

/** Asks a node what it is. */
export async function readNode(rpcUrl: string): Promise<NodeFacts> {
  const client = createPublicClient({ transport: http(rpcUrl, { timeout: TIMEOUT_MS, retryCount: 1 }) });
  const [chainId, version] = await Promise.all([
    client.getChainId(),
    // Providers of live chains may not answer this.
    client.request({ method: "web3_clientVersion" }).catch(() => ""),
  ]);
  return { chainId, isLocal: DEVELOPMENT_NODE.test(version) };
}

/** Looks at the node of a network before the first signature for it. */
export class ChainCheck {
  readonly #pins: Pins;
  readonly #passed = new Map<number, Promise<NetworkPin>>();

  constructor(pins: Pins) {
    this.#pins = pins;
  }

  /**
   * The pinned network of a chain id.
   * @throws WalletError `other_chain` if none is pinned, or the node is of another; `stack_wallet` and `not_a_stack_wallet` if
   * the wallet must not sign there
   */
  async require(chainId: number): Promise<NetworkPin> {
    const found = this.#passed.get(chainId);
    if (found !== undefined) return found;
    const asked = this.#look(chainId);
    this.#passed.set(chainId, asked);
    asked.catch(() => this.#passed.delete(chainId));
    return asked;
  }

  async #look(chainId: number): Promise<NetworkPin> {
    const pin = this.#pins.networks.find((candidate) => candidate.chainId === chainId);
    const whatToDo = "Ask the operator of the marketplace which networks it settles on.";
    if (pin === undefined)
      throw new WalletError("other_chain", `The wallet has no chain ${String(chainId)}.`, whatToDo);
    const node = await readNode(pin.rpcUrl);
    if (node.chainId !== chainId) {
      const message = `The node of ${pin.network} is of the chain ${String(node.chainId)}, not ${String(chainId)}.`;
      throw new WalletError("other_chain", message, whatToDo);
    }
    requireRightWallet(this.#pins.isStackWallet, node.isLocal, pin.network);
    return pin;
  }
}

/**
 * A signature that is made on a local chain can be valid on the live one, whose id it has.
 * @throws WalletError `not_a_stack_wallet`, `stack_wallet`
 */
export function requireRightWallet(isStackWallet: boolean, isLocal: boolean, network: string): void {
  if (isStackWallet === isLocal) return;
  if (isLocal) {
    throw new WalletError(
      "not_a_stack_wallet",
      `${network} is a local chain with the id of the live one: what this wallet signs there could be used on the live chain.`,
      "Make a wallet for the local stack, in a directory of its own: agent-marketplace init",
    );
  }
  throw new WalletError(
    "stack_wallet",
    `This wallet was made for a local stack, and ${network} is a live chain: what it signed there could be used here.`,
    "Make another wallet, in a directory of its own: agent-marketplace init",
  );
}
