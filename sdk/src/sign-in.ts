import { createSiweMessage, generateSiweNonce } from "viem/siwe";
import type { Hex } from "viem";

import { requireWallet } from "./arguments.ts";
import type { Wallet } from "./wallet.ts";

/** The purpose of a signed message. The API accepts it for no other purpose. */
export type SignInPurpose = "register" | "issueKey" | "listStackWallet";

const STATEMENTS: Readonly<Record<SignInPurpose, string>> = {
  register: "Register this wallet as an agent of the marketplace.",
  issueKey: "Issue a new API key for this wallet's agent.",
  listStackWallet: "List this wallet, whose key was made for this local stack.",
};

/** A signed EIP-4361 text. It is valid for ten minutes and can be used once. */
export interface SignedMessage {
  message: string;
  /** EIP-191 signature. */
  signature: Hex;
}

/** Signs an EIP-4361 text that names the service and the purpose. */
export async function signIn(wallet: Wallet, serviceUrl: string, purpose: SignInPurpose): Promise<SignedMessage> {
  requireWallet("wallet", wallet);
  const { host, origin } = new URL(serviceUrl);
  const { account, chain } = wallet;
  const message = createSiweMessage({
    address: account.address,
    chainId: chain.id,
    domain: host,
    uri: origin,
    version: "1",
    nonce: generateSiweNonce(),
    issuedAt: new Date(),
    statement: STATEMENTS[purpose],
  });
  return { message, signature: await wallet.signMessage({ account, message }) };
}
