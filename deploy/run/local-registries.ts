import { AbiCoder, concat, toBeHex } from "ethers";

import type { IdentityRegistry } from "../../typechain-types/contracts/mocks/IdentityRegistry.ts";
import type { ReputationRegistry } from "../../typechain-types/contracts/mocks/ReputationRegistry.ts";
import { IdentityRegistry__factory } from "../../typechain-types/factories/contracts/mocks/IdentityRegistry__factory.ts";
import { ReputationRegistry__factory } from "../../typechain-types/factories/contracts/mocks/ReputationRegistry__factory.ts";
import type { NetworkFacts } from "../networks.ts";
import { ensureCreated } from "../system/create2.ts";
import type { LocalChain } from "./local-tokens.ts";
import { placeCopy, placeFactory } from "./local-tokens.ts";

/** Slots of the identity registry that its constructor writes: name and symbol. */
const IDENTITY_FACTS = [0, 1];

/** The registries of ERC-8004 on a local chain. */
export interface Registries {
  identity: IdentityRegistry;
  reputation: ReputationRegistry;
}

/** Puts registries with the interface of ERC-8004 at these addresses. Finishes what was interrupted. */
export async function placeRegistries(chain: LocalChain, addresses: NetworkFacts["erc8004"]): Promise<Registries> {
  const { deployer, provider } = chain;
  await placeFactory(chain);
  const identity = await ensureCreated(deployer, provider, IdentityRegistry__factory.bytecode);
  const facts: Record<string, string> = {};
  for (const slot of IDENTITY_FACTS) facts[toBeHex(slot, 32)] = await provider.getStorage(identity.address, slot);
  await placeCopy(chain, identity.address, addresses.identity, facts);

  const args = AbiCoder.defaultAbiCoder().encode(["address"], [addresses.identity]);
  const initCode = concat([ReputationRegistry__factory.bytecode, args]);
  const reputation = await ensureCreated(deployer, provider, initCode);
  await placeCopy(chain, reputation.address, addresses.reputation);
  return {
    identity: IdentityRegistry__factory.connect(addresses.identity, deployer),
    reputation: ReputationRegistry__factory.connect(addresses.reputation, deployer),
  };
}
