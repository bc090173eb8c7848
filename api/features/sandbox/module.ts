import { createLocalNode } from "../../chain/local-node.ts";
import type { Network } from "../../config/constants.ts";
import { defineFeature } from "../feature.ts";
import type { CountCall } from "../limits/client-windows.ts";
import { sandboxRoutes } from "./routes.ts";
import { Sandbox } from "./sandbox.ts";

/** Dependencies of the sandbox. */
interface SandboxModuleDeps {
  rpcUrls: Readonly<Record<Network, string>>;
  countCall: CountCall;
  now: () => Date;
}

/** The clocks of the local stack's chains. No other service has its route. */
export const sandboxModule = defineFeature({
  routes: sandboxRoutes,
  create({ rpcUrls, countCall, now }: SandboxModuleDeps) {
    const nodeOf = (network: Network) => createLocalNode({ network, rpcUrl: rpcUrls[network] });
    const nodes = { "base-sepolia": nodeOf("base-sepolia"), base: nodeOf("base") };
    return { services: { sandbox: new Sandbox({ nodes, countCall, now }) } };
  },
});
