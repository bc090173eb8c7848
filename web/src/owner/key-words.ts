import type { Approval, Key } from "../../../sdk/src/generated/api-types.ts";
import type { Answer } from "../data/answers.ts";
import { usd } from "../words/amounts.ts";
import { categoryName, networkName, shortHash } from "../words/names.ts";
import type { StateWords } from "../words/states.ts";
import { clean, shortened } from "../words/strangers-text.ts";
import { codeOf } from "./api.ts";
import { refusalWords } from "./sign-in-words.ts";

/** What a page does with the agent's keys. */
export type KeyAction = { action: "list" | "freeze" } | { action: "revoke"; keyId: string };

/** The only statement with which the wallet agrees to an action (docs/api/sessions.md). */
export function keyStatement(asked: KeyAction): string {
  if (asked.action === "revoke") return `Manage keys: revoke ${asked.keyId}.`;
  return asked.action === "list" ? "Manage keys: list them." : "Manage keys: freeze all of them.";
}

/** What a page does with the secret of the agent's webhooks. */
export type SecretAction = "read" | "rotate" | "activate";

const SECRET_STATEMENTS: Readonly<Record<SecretAction, string>> = {
  read: "Webhook secret: show it.",
  rotate: "Webhook secret: make the next one.",
  activate: "Webhook secret: activate the next one.",
};

/** The only statement with which the wallet agrees to it (docs/api/sessions.md). */
export function secretStatement(action: SecretAction): string {
  return SECRET_STATEMENTS[action];
}

const TEXT_LENGTH = 200;
const NOTHING = "Nothing was signed.";

/**
 * Why a wallet didn't sign for the session's account, and what to do.
 * @param reason of a `WalletError`
 * @param message the wallet's own words; for `other_account`, the account that it shows
 */
export function signingWords(reason: string, message: string, wallet: string, account: string): string {
  switch (reason) {
    case "other_account": {
      const shown = message === "" ? "no account" : shortHash(message);
      return `${wallet} shows ${shown}. You are signed in as ${shortHash(account)}: choose that account in the wallet. ${NOTHING}`;
    }
    case "refused":
      return `You refused in ${wallet}. ${NOTHING}`;
    case "busy":
      return `${wallet} has a question open already. Answer it in the wallet's own window, then try again.`;
    case "not_a_key":
      return `${wallet} signs as a contract. Only an account with a key of its own can sign this.`;
    case "differs":
      return `The order has another hash than the approval says. ${NOTHING} Decline it, and tell the operator.`;
    default: {
      const own = shortened(clean(message).text.trim(), TEXT_LENGTH).replace(/\.$/, "");
      return own === "" ? `${wallet} failed without a reason. ${NOTHING}` : `${wallet} says: ${own}.`;
    }
  }
}

/** Why the service refused what the page asked of keys or approvals. */
export function keyRefusalWords(answer: Answer): string {
  if (answer.status === 0) return "The service doesn't answer, so this may have worked. Reload the page, and look.";
  switch (codeOf(answer)) {
    case "not_found":
      return "It isn't there any more: another page or program was faster.";
    case "approval_not_open":
      return "It is decided already, or its time is over.";
    case "scope_not_granted":
      return "This session may not do that. Sign in with “See and act”.";
    case "nonce_already_used":
      return "This text was used before. Try again: the wallet then signs another one.";
    default:
      return refusalWords(answer, "");
  }
}

const USD_DECIMALS = 6;
/** US dollars as the API takes them from a wallet. */
export const USD_PATTERN = String.raw`\d{1,9}(\.\d{1,6})?`;

/** 10⁻⁶ US dollars of a text such as `12.50`; undefined for another text. */
export function usdUnits(text: string): bigint | undefined {
  if (!new RegExp(`^${USD_PATTERN}$`).test(text)) return undefined;
  const [whole = "", fraction = ""] = text.split(".");
  return BigInt(whole + fraction.padEnd(USD_DECIMALS, "0"));
}

/** US dollars such as `12.5` of 10⁻⁶ US dollars, at least 0. */
export function usdText(units: bigint): string {
  const digits = units.toString().padStart(USD_DECIMALS + 1, "0");
  const fraction = digits.slice(-USD_DECIMALS).replace(/0+$/, "");
  return `${digits.slice(0, -USD_DECIMALS)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** How much of a bound is used. */
interface UsedBound {
  name: string;
  /** US dollars, such as `12.5`. */
  used: string;
  limit: string;
  /** 0 to 1, and 1 for a bound of nothing. */
  share: number;
}

/** What a mandate has used of its day and in all. */
export function usedBounds({ perDayUsd, totalUsd, left }: NonNullable<Key["mandate"]>): readonly UsedBound[] {
  const bound = (name: string, limit: string, remainder: string): UsedBound => {
    const [all, rest] = [usdUnits(limit) ?? 0n, usdUnits(remainder) ?? 0n];
    const used = all > rest ? all - rest : 0n;
    return { name, limit, used: usdText(used), share: all === 0n ? 1 : Number(used) / Number(all) };
  };
  return [bound("Today", perDayUsd, left.todayUsd), bound("In all", totalUsd, left.totalUsd)];
}

/** What else a mandate says, as names and values. Addresses and names of categories are checked by the service. */
export function mandateTerms(mandate: NonNullable<Key["mandate"]>): readonly (readonly [string, string])[] {
  const { scopes, perDealUsd, left, categories, networks, sellers, requireCriteria, onExceeded } = mandate;
  const now = left.perDealUsd === perDealUsd ? "" : `, now ${usd(left.perDealUsd).shown}`;
  return [
    ["May", scopes.join(", ")],
    ["One purchase", `at most ${usd(perDealUsd).shown}${now}`],
    ["Categories", categories.length === 0 ? "any" : categories.map(categoryName).join(", ")],
    ["Networks", networks.length === 0 ? "any" : networks.map(networkName).join(", ")],
    ["Sellers", sellers.length === 0 ? "any" : sellers.map(shortHash).join(", ")],
    ["Criteria", requireCriteria ? "each purchase must have some" : "not required"],
    ["Above an amount", onExceeded === "approval" ? "it asks you for approval" : "the purchase is refused"],
  ];
}

/** The states of approvals. */
export const APPROVAL_STATES: Readonly<Record<Approval["status"], StateWords>> = {
  open: { name: "Waits for you", meaning: "The key has asked for this purchase.", tone: "care" },
  granted: { name: "Approved", meaning: "The key may make this purchase once.", tone: "active" },
  used: { name: "Bought", meaning: "The key has made this purchase.", tone: "good" },
  declined: { name: "Declined", meaning: "The key can't make this purchase for now.", tone: "plain" },
  replaced: { name: "Replaced", meaning: "The price rose, and the key asked again.", tone: "plain" },
  expired: { name: "Expired", meaning: "Nobody decided in time.", tone: "plain" },
  void: { name: "Void", meaning: "Its key or its mandate has ended.", tone: "plain" },
};

const BOUNDS: Readonly<Record<string, string>> = {
  perDealUsd: "for one purchase",
  perDayUsd: "for a day",
  totalUsd: "in all",
};

/** The amount of the mandate that a purchase is above. */
export function boundWords(bound: string): string {
  return BOUNDS[bound] ?? bound;
}
