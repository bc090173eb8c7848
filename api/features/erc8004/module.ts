import type { Connection } from "mongoose";

import { createIdentityRegistry } from "../../chain/identity-registry.ts";
import type { Network } from "../../config/constants.ts";
import type { IdentityRegistries } from "../../config/identity-registries.ts";
import type { Clock } from "../../lib/clock.ts";
import type { AgentDirectory } from "../agents/directory.ts";
import { defineFeature } from "../feature.ts";
import { REGISTRATION_TIMINGS, RegistrationFiles } from "./files.ts";
import type { RegistrationTimings } from "./files.ts";
import { IdentityLinks } from "./links.ts";
import { identityLinkModel } from "./model.ts";
import { erc8004Routes } from "./routes.ts";
import type { Erc8004Deps } from "./routes.ts";

/** Dependencies of the feature. */
export interface Erc8004ModuleDeps {
  connection: Connection;
  clock: Clock;
  publicUrl: string;
  rpcUrls: Readonly<Record<Network, string>>;
  /** Addresses of the registries. */
  registries: IdentityRegistries;
  directory: Pick<AgentDirectory, "byId">;
  countClient: (ip: string) => Promise<unknown>;
  timings: RegistrationTimings;
}

/** Identities of agents in the registries of ERC-8004, and the files that the standard asks for. */
export const erc8004Module = defineFeature({
  routes: erc8004Routes,
  timings: REGISTRATION_TIMINGS,
  create({ connection, clock, publicUrl, rpcUrls, registries, directory, countClient, timings }: Erc8004ModuleDeps) {
    const models = { links: identityLinkModel(connection) };
    const of = (network: Network) =>
      createIdentityRegistry({ network, rpcUrl: rpcUrls[network], address: registries[network] });
    const readers = { "base-sepolia": of("base-sepolia"), base: of("base") };
    const identityLinks = new IdentityLinks({ connection, ...models, registries: readers, clock });
    const registrationFiles = new RegistrationFiles({
      publicUrl,
      directory,
      links: identityLinks,
      countClient,
      timings,
    });
    const services: Erc8004Deps = { identityLinks, registrationFiles, publicUrl };
    return { services, models };
  },
});
