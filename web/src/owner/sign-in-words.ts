import type { Answer } from "../data/answers.ts";
import { clean, shortened } from "../words/strangers-text.ts";
import { duration } from "../words/times.ts";
import { codeOf } from "./api.ts";

const TEXT_LENGTH = 200;
const SOME_SECONDS = 60;
const TOO_MANY = 429;
const FIRST_SERVER_ERROR = 500;

/** Why a local stack doesn't take a wallet, and what to do. */
export const NOT_OF_STACK =
  "This wallet wasn't made for this local stack, so it can't be used here. The stack's chains have the ids of the live " +
  "ones, and its USDC the live address: what the wallet signs here could be used with its money there. Make a wallet below.";

/** Why a wallet didn't sign, and what to do. @param reason of a `WalletError` @param message the wallet's own words */
export function walletWords(reason: string, name: string, message: string): string {
  switch (reason) {
    case "refused":
      return `You refused in ${name}. Nothing was signed. Choose the wallet again to repeat it.`;
    case "busy":
      return `${name} has a question open already. Answer it in the wallet's own window, then choose the wallet again.`;
    case "no_account":
      return `${name} showed no account. Unlock it, allow this page to see an account, and choose the wallet again.`;
    case "not_a_key":
      return `${name} signs as a contract. Only an account with a key of its own can sign in.`;
    default: {
      const own = shortened(clean(message).text.trim(), TEXT_LENGTH);
      return own === "" ? `${name} failed without a reason. Choose it again.` : `${name} says: ${own}`;
    }
  }
}

/** Why the service didn't sign a wallet in or register it, and what to do. @param publicUrl where sign-in works */
export function refusalWords(answer: Answer, publicUrl: string): string {
  const { status, retryAfterSeconds } = answer;
  if (status === TOO_MANY) {
    const wait = duration(retryAfterSeconds ?? SOME_SECONDS);
    return `That was more often than the service answers. You can try again in ${wait}.`;
  }
  switch (codeOf(answer)) {
    case "session_other_origin":
      return `Signing in works at one address alone. Open ${publicUrl}/me.`;
    case "sign_in_needs_https":
      return `Nobody can sign in here: ${publicUrl} is http, and others on the way could read your session. The operator has to serve it over https.`;
    case "wallet_not_of_stack":
      return NOT_OF_STACK;
    case "session_limit_reached":
      return "This agent has ten sessions. Sign out in another browser, or wait: a session ends after 30 minutes without use.";
    case "sign_in_message_invalid":
      return `The service doesn't take the signed text: ${detailOf(answer)}. If it speaks of time, set this computer's clock.`;
    case "signature_invalid":
      return "The signature isn't the account's own. Choose the account in the wallet, and sign in again.";
    case "nonce_already_used":
      return "This text was used before. Sign in again.";
    case "validation_error":
      return `The service doesn't take that: ${detailOf(answer)}.`;
    default:
      return status === 0 || status >= FIRST_SERVER_ERROR
        ? "The service doesn't answer. Nothing was changed. Try again in a minute."
        : `The service refused: ${ownWords((answer.body as { error?: unknown }).error)}.`;
  }
}

/** The first detail of a refusal in the service's words. */
function detailOf({ body }: Answer): string {
  const { details, error } = body as { details?: unknown; error?: unknown };
  const first: unknown = Array.isArray(details) ? details[0] : undefined;
  return ownWords(
    typeof first === "object" && first !== null ? (first as { message?: unknown }).message : (first ?? error),
  );
}

function ownWords(text: unknown): string {
  return typeof text === "string" ? shortened(clean(text).text, TEXT_LENGTH).replace(/\.$/, "") : "no reason given";
}
