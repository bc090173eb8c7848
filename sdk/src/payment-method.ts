import { bytesToHex } from "viem";
import type { Address, Hex } from "viem";

import type { Network } from "./records.ts";
import type { Wallet } from "./wallet.ts";

/** EIP-712 types of the statement that links a payment method. */
export const PAYMENT_METHOD_TYPES = {
  PaymentMethod: [
    { name: "agentId", type: "string" },
    { name: "wallet", type: "address" },
    { name: "network", type: "string" },
    { name: "token", type: "address" },
    { name: "nonce", type: "bytes32" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** The payment method that a statement links. */
export interface PaymentMethod {
  agentId: string;
  network: Network;
  /** An escrow token of the network. */
  token: Address;
  escrowContract: Address;
}

/** A signed statement: the body of `POST /api/v1/agents/kya/payment-method`. */
export interface SignedPaymentMethod {
  network: Network;
  token: Address;
  nonce: Hex;
  /** Unix seconds. */
  deadline: number;
  signature: Hex;
}

const VALID_SECONDS = 600;
const NONCE_BYTES = 32;

/**
 * Signs the statement that the wallet pays with a token. It moves nothing, is valid for ten minutes on the wallet's
 * chain, and works once.
 */
export async function signPaymentMethod(wallet: Wallet, method: PaymentMethod): Promise<SignedPaymentMethod> {
  const { account, chain } = wallet;
  const { agentId, network, token, escrowContract } = method;
  const nonce = bytesToHex(crypto.getRandomValues(new Uint8Array(NONCE_BYTES)));
  const deadline = Math.floor(Date.now() / 1_000) + VALID_SECONDS;
  const signature = await wallet.signTypedData({
    account,
    domain: { name: "Agent Marketplace", version: "1", chainId: chain.id, verifyingContract: escrowContract },
    types: PAYMENT_METHOD_TYPES,
    primaryType: "PaymentMethod",
    message: { agentId, wallet: account.address, network, token, nonce, deadline: BigInt(deadline) },
  });
  return { network, token, nonce, deadline, signature };
}
