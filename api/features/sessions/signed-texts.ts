import { isDuplicateKey } from "../../db/connection.ts";
import { ApiError } from "../../http/errors.ts";
import type { AgentModels } from "../agents/model.ts";
import { nonceRecord } from "../identity/verify-sign-in.ts";
import type { VerifySignIn } from "../identity/verify-sign-in.ts";

/** A text that a wallet has signed for one thing. */
export interface SignedText {
  message: string;
  signature: `0x${string}`;
}

/**
 * Uses up a text with which a wallet agrees to a statement, word for word.
 * @throws ApiError `sign_in_message_invalid`, `signature_invalid`, `nonce_already_used`
 */
export type UseSignedText = (walletAddress: string, statement: string, text: SignedText) => Promise<void>;

/** Uses up texts: a nonce works once for a wallet, whatever it was signed for. */
export function createSignedTexts({
  models,
  verifySignIn,
}: {
  models: Pick<AgentModels, "nonces">;
  verifySignIn: VerifySignIn;
}): UseSignedText {
  return async (walletAddress, statement, { message, signature }) => {
    const { accepted } = await verifySignIn({ statement }, message, signature);
    if (accepted.address.toLowerCase() !== walletAddress.toLowerCase()) throw new ApiError("signature_invalid");
    try {
      await models.nonces.create(nonceRecord(accepted));
    } catch (error) {
      if (isDuplicateKey(error)) throw new ApiError("nonce_already_used", { cause: error });
      throw error;
    }
  };
}
