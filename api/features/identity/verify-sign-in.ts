import { hashMessage, recoverPublicKey } from "viem";
import type { Hex } from "viem";
import { publicKeyToAddress } from "viem/accounts";

import { ApiError } from "../../http/errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { checkSignInMessage } from "./sign-in-message.ts";
import type { AcceptableMessage, SignInPurpose } from "./sign-in-message.ts";

/** A text that a wallet has signed for a purpose. The caller still has to use its nonce. */
export interface VerifiedSignIn {
  accepted: AcceptableMessage;
  /** The wallet's uncompressed public key, `0x04…`. */
  publicKey: Hex;
}

/**
 * Checks text and signature, and recovers the wallet's public key.
 * @throws ApiError `sign_in_message_invalid`, `signature_invalid`
 */
export type VerifySignIn = (purpose: SignInPurpose, message: string, signature: Hex) => Promise<VerifiedSignIn>;

/** Verifies texts for the service at `publicUrl`. */
export function createSignInVerifier({ publicUrl, clock }: { publicUrl: string; clock: Clock }): VerifySignIn {
  return async (purpose, message, signature) => {
    const verdict = checkSignInMessage(message, { purpose, publicUrl, now: clock.now() });
    if ("faults" in verdict) throw new ApiError("sign_in_message_invalid", { details: verdict.faults });
    const publicKey = await recoverKey(message, signature);
    if (publicKey === undefined || publicKeyToAddress(publicKey) !== verdict.message.address) {
      throw new ApiError("signature_invalid");
    }
    return { accepted: verdict.message, publicKey };
  };
}

/** The record that uses up a text's nonce. Each works once for a wallet, whatever it is signed for. */
export function nonceRecord({ address, nonce, unusableAfter }: AcceptableMessage) {
  return { _id: `${address.toLowerCase()}:${nonce}`, expiresAt: unusableAfter };
}

/** The uncompressed public key (`0x04…`) behind an EIP-191 signature; undefined if no key can have made it. */
async function recoverKey(message: string, signature: Hex): Promise<Hex | undefined> {
  try {
    return await recoverPublicKey({ hash: hashMessage(message), signature });
  } catch {
    return undefined;
  }
}
