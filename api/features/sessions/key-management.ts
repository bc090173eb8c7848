import { ApiError } from "../../http/errors.ts";
import type { ApiKeys, ListedKey } from "../identity/keys.ts";
import type { PageSession } from "./sessions.ts";
import type { SignedText, UseSignedText } from "./signed-texts.ts";

/** What a page may do with the agent's keys. */
export type KeyAction = { action: "list" | "freeze" } | { action: "revoke"; keyId: string };

/** An action, and the text with which the wallet agrees to this one. */
export type SignedKeyAction = KeyAction & SignedText;

/** The only statement with which a wallet agrees to an action. It fits no purpose of a key or a session. */
export function statementOf(asked: KeyAction): string {
  if (asked.action === "revoke") return `Manage keys: revoke ${asked.keyId}.`;
  return asked.action === "list" ? "Manage keys: list them." : "Manage keys: freeze all of them.";
}

/** Does with the agent's keys what its wallet has just signed. A session alone can't: who steals one would lock the owner out. */
export interface KeyManagement {
  /**
   * Uses up the text, does what it says, and returns the keys that are left. A frozen agent keeps this session.
   * @param sessionId id of the session of the page that asks
   * @throws ApiError `sign_in_message_invalid`, `signature_invalid`, `nonce_already_used`, `not_found`
   */
  perform(
    session: Pick<PageSession, "agentId" | "walletAddress">,
    sessionId: string,
    asked: SignedKeyAction,
  ): Promise<ListedKey[]>;
}

/** Dependencies of the key management. */
export interface KeyManagementDeps {
  apiKeys: ApiKeys;
  useSignedText: UseSignedText;
}

/** Manages keys for pages. */
export function createKeyManagement({ apiKeys, useSignedText }: KeyManagementDeps): KeyManagement {
  return {
    async perform({ agentId, walletAddress }, sessionId, asked) {
      await useSignedText(walletAddress, statementOf(asked), asked);
      if (asked.action === "freeze") await apiKeys.freeze(agentId, sessionId);
      if (asked.action === "revoke" && (await apiKeys.revoke(agentId, asked.keyId)) === undefined) {
        throw new ApiError("not_found", { details: { keyId: asked.keyId } });
      }
      return apiKeys.list(agentId);
    },
  };
}
