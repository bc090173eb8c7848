import { keccak256 } from "viem";
import type { Address, Hash, Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

import { CHAIN_IDS } from "../config/constants.ts";
import type { Network } from "../config/constants.ts";

/** A contract call with everything that a signature covers, except for the chain. Gas in units, fees in wei. */
export interface UnsignedTransaction {
  to: Address;
  data: Hex;
  nonce: number;
  gas: bigint;
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** A signed transaction as a node takes it. Its hash is known before it is sent. */
export interface SignedTransaction {
  hash: Hash;
  raw: Hex;
}

/** Signs transactions of one wallet for one network. The key can't be read from it. */
export interface TransactionSigner {
  address: Address;
  sign(transaction: UnsignedTransaction): Promise<SignedTransaction>;
}

/** Creates the signer of a private key. */
export function createTransactionSigner(network: Network, privateKey: Hex): TransactionSigner {
  const account = privateKeyToAccount(privateKey);
  return {
    address: account.address,
    async sign(transaction) {
      const raw = await account.signTransaction({
        ...transaction,
        type: "eip1559",
        chainId: CHAIN_IDS[network],
      });
      return { hash: keccak256(raw), raw };
    },
  };
}
