import { isDuplicateKey } from "../../db/connection.ts";
import type { SignatureNonces } from "../../http/policies/request-signature.ts";
import type { AgentModels } from "../agents/model.ts";

/** The nonces of signed requests, beside those of sign-in messages. Each wallet can use a nonce once. */
export function createSignatureNonces({ nonces }: Pick<AgentModels, "nonces">): SignatureNonces {
  return {
    async use(wallet, nonce, unusableAfter) {
      try {
        await nonces.create([{ _id: `request:${wallet}:${nonce}`, expiresAt: unusableAfter }]);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
  };
}
