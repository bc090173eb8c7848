import type { Connection } from "mongoose";

import type { Clock } from "../../lib/clock.ts";
import { defineFeature } from "../feature.ts";
import type { Faucet } from "../faucet/faucet.ts";
import { createSignInVerifier } from "../identity/verify-sign-in.ts";
import { stackWalletModel } from "./model.ts";
import { stackWalletRoutes } from "./routes.ts";
import { StackWallets } from "./stack-wallets.ts";
import { WalletList } from "./wallet-list.ts";

/** Dependencies of the stack's wallets. */
interface StackWalletsModuleDeps {
  connection: Connection;
  clock: Clock;
  publicUrl: string;
  isLocalStack: boolean;
  faucet: Faucet;
}

/** The wallets that were made for the local stack. No other service has its routes, and there its list refuses nobody. */
export const stackWalletsModule = defineFeature({
  routes: stackWalletRoutes,
  create({ connection, clock, publicUrl, isLocalStack, faucet }: StackWalletsModuleDeps) {
    const wallets = stackWalletModel(connection);
    const list = new WalletList({ wallets, isLocalStack, now: () => clock.now() });
    const verifySignIn = createSignInVerifier({ publicUrl, clock });
    return {
      services: { stackWallets: new StackWallets({ list, faucet, verifySignIn }) },
      models: { stackWallets: wallets },
      list,
    };
  },
});
