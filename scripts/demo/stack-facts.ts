import { readFileSync } from "node:fs";

import type { Address, Hex } from "viem";

/** One network of a running stack. */
export interface NetworkFacts {
  rpcUrl: string;
  chainId: number;
  escrow: Address;
  score: Address;
  resolver: Address;
  tokens: Record<string, Address>;
  subgraphUrl: string;
}

/** The contents of a running stack's stack.json. */
export interface StackFacts {
  api: string;
  graphql: string;
  networks: Record<"base-sepolia" | "base", NetworkFacts>;
  accounts: { address: Address; privateKey: Hex }[];
}

/** Reads the facts of a running stack. Without one, the error explains how to start it. */
export function readStackFacts(file: string): StackFacts {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as StackFacts;
  } catch (error) {
    throw new Error(`${file} can't be read: start the marketplace with \`npm start\` first`, { cause: error });
  }
}
