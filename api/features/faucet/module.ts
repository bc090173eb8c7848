import { createFaucetChain } from "../../chain/faucet-chain.ts";
import { createLocalNode } from "../../chain/local-node.ts";
import type { ChainClient } from "../../chain/chain-client.ts";
import type { Network } from "../../config/constants.ts";
import { defineFeature } from "../feature.ts";
import type { CountCall } from "../limits/client-windows.ts";
import { Faucet } from "./faucet.ts";
import { faucetRoutes } from "./routes.ts";

/** Dependencies of the faucet. */
interface FaucetModuleDeps {
  chains: Readonly<Record<Network, Pick<ChainClient, "deployment">>>;
  rpcUrls: Readonly<Record<Network, string>>;
  countCall: CountCall;
}

/** Money for the wallets of the local stack. No other service has its route. */
export const faucetModule = defineFeature({
  routes: faucetRoutes,
  create({ chains, rpcUrls, countCall }: FaucetModuleDeps) {
    const of = (network: Network) =>
      createFaucetChain({ network, rpcUrl: rpcUrls[network], deployment: chains[network].deployment });
    const nodeOf = (network: Network) => createLocalNode({ network, rpcUrl: rpcUrls[network] });
    const faucet = new Faucet({
      chains: { "base-sepolia": of("base-sepolia"), base: of("base") },
      nodes: { "base-sepolia": nodeOf("base-sepolia"), base: nodeOf("base") },
      countCall,
    });
    return { services: { faucet } };
  },
});
