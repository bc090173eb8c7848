import { writeFileSync, renameSync } from "node:fs";
import { join } from "node:path";

import { mnemonicToAccount } from "viem/accounts";
import { toHex } from "viem/utils";

import { NETWORKS as LIVE } from "../../deploy/networks.ts";
import type { Deployment } from "../../deploy/system/deployment-file.ts";
import { LOCAL_ROLE_INDEX } from "../../deploy/system/local-roles.ts";
import type { LocalRole } from "../../deploy/system/local-roles.ts";
import { LOCAL_MNEMONIC } from "./chain.ts";
import type { NetworkName } from "./networks.ts";

/** A wallet that holds ETH and the escrow tokens on both local chains. */
export interface TestAccount {
  readonly address: string;
  readonly privateKey: string;
}

/** The facts about one network of a stack, for programs. */
export interface NetworkFacts {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly escrow?: string;
  readonly score?: string;
  readonly resolver?: string;
  /** Token addresses by symbol. */
  readonly tokens: Readonly<Record<string, string>>;
  readonly subgraphUrl?: string;
  /** The registries of ERC-8004. */
  readonly erc8004?: { readonly identity: string; readonly reputation: string };
}

/** The facts about a running stack, in `<dir>/stack.json`, for programs. Services that weren't started are left out. */
export interface StackFacts {
  readonly api?: string;
  readonly apiDocs?: string;
  /** Base address of the GraphQL endpoint; each network's own address is its `subgraphUrl`. */
  readonly graphql?: string;
  readonly mongodbUri?: string;
  readonly networks: Readonly<Partial<Record<NetworkName, NetworkFacts>>>;
  /** Paths of the deployment files. */
  readonly deployments: Readonly<Partial<Record<NetworkName, string>>>;
  readonly accounts: readonly TestAccount[];
}

/** Index of the first test account. The accounts before it hold the contracts' roles. */
const FIRST_TEST_ACCOUNT = 5;
const TEST_ACCOUNTS = 3;

/** Three funded wallets for tests and experiments. Their keys are public. */
export function testAccounts(): TestAccount[] {
  return Array.from({ length: TEST_ACCOUNTS }, (_, index) => localAccount(FIRST_TEST_ACCOUNT + index));
}

/** An account of the local chains, by its index. Its key is public. */
export function localAccount(addressIndex: number): TestAccount {
  const account = mnemonicToAccount(LOCAL_MNEMONIC, { addressIndex });
  const { privateKey } = account.getHdKey();
  if (privateKey === null) throw new Error("a mnemonic gives private keys");
  return { address: account.address, privateKey: toHex(privateKey) };
}

/** The account that holds a role of the contracts on the local chains. */
export function roleAccount(role: LocalRole): TestAccount {
  return localAccount(LOCAL_ROLE_INDEX[role]);
}

/** The contracts and tokens of a network. */
export function contractFacts(deployment: Deployment): Omit<NetworkFacts, "rpcUrl" | "chainId" | "subgraphUrl"> {
  const { escrow, score, resolver } = deployment.contracts;
  return {
    escrow: escrow.proxy,
    score: score.proxy,
    resolver: resolver.proxy,
    tokens: Object.fromEntries(deployment.tokens.map(({ symbol, address }) => [symbol, address])),
    erc8004: LIVE[deployment.network].erc8004,
  };
}

/** Writes the facts atomically and returns the path. */
export function writeFacts(dir: string, facts: StackFacts): string {
  const path = join(dir, "stack.json");
  writeFileSync(`${path}.new`, `${JSON.stringify(facts, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(`${path}.new`, path);
  return path;
}
