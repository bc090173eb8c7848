import { join } from "node:path";

import { mnemonicToAccount } from "viem/accounts";
import type { Address } from "viem";
import { z } from "zod";

import { isSame } from "./pins.ts";
import { readPrivateFile, writePrivateFile } from "./private-files.ts";

/** The accounts of every local stack. Their keys are public. */
const STACK_MNEMONIC = "test test test test test test test test test test test junk";
const STACK_ACCOUNTS = 11;

const listSchema = z.array(z.string());

/** The wallets that were made for local stacks on this machine. */
export class StackWallets {
  readonly #file: string;

  /** @param stateDir directory for state of this user */
  constructor(stateDir: string) {
    this.#file = join(stateDir, "stack-wallets.json");
  }

  /** Whether a wallet is an account of the stack, or was made by `init` for one. */
  async has(address: Address): Promise<boolean> {
    return isAccountOfStack(address) || (await this.list()).some((known) => isSame(known, address));
  }

  async list(): Promise<string[]> {
    const text = await readPrivateFile(this.#file);
    return text === undefined ? [] : listSchema.parse(JSON.parse(text));
  }

  async add(address: Address): Promise<void> {
    const known = await this.list();
    if (known.some((entry) => isSame(entry, address))) return;
    await writePrivateFile(this.#file, `${JSON.stringify([...known, address], null, 2)}\n`);
  }
}

function isAccountOfStack(address: Address): boolean {
  return Array.from({ length: STACK_ACCOUNTS }, (_, addressIndex) => addressIndex).some((addressIndex) =>
    isSame(mnemonicToAccount(STACK_MNEMONIC, { addressIndex }).address, address),
  );
}
