import type { Answer } from "../data/answers.ts";
import type { Action } from "../data/operator-place.ts";
import { codeOf } from "../owner/api.ts";
import { counted, token } from "../words/amounts.ts";
import type { StateWords } from "../words/states.ts";
import { clean, shortened } from "../words/strangers-text.ts";
import { duration } from "../words/times.ts";

const TEXT_LENGTH = 300;
const SOME_SECONDS = 60;
const UNAUTHORIZED = 401;
const NOT_FOUND = 404;
const TOO_MANY = 429;
const FIRST_SERVER_ERROR = 500;

/** Why a list or a form was answered without what was asked for, and what to do. */
export function refusalWords(answer: Answer): string {
  const { status, retryAfterSeconds } = answer;
  if (status === TOO_MANY) {
    const wait = duration(retryAfterSeconds ?? SOME_SECONDS);
    return `That was more often than the service answers. You can try again in ${wait}.`;
  }
  switch (codeOf(answer)) {
    case "not_found":
      return "The service has no such record. Check the id.";
    case "not_moderated":
      return "It was never hidden or suspended, so nothing can be restored.";
    case "report_not_open":
      return "This report was closed meanwhile. Read the list again.";
    case "appeal_not_open":
      return "This appeal was answered meanwhile. Read the list again.";
    case "dispute_already_ruled":
      return "This dispute has a ruling already. The first one counts.";
    case "dispute_not_open_on_chain":
      return "The chain doesn't have this dispute open: it has ended, or isn't there yet.";
    case "resolver_key_missing":
      return "The service has no key of the admin resolver on this network. Set ADMIN_RESOLVER_KEY_… and restart it.";
    case "criteria_check_unavailable":
      return "The criteria can't be checked at the moment. Nothing was ruled. Try again in a minute.";
    case "indexer_unavailable":
      return "The subgraph doesn't answer, so the dispute can't be read. Nothing was ruled. Try again in a minute.";
    case "validation_error":
      return `The service doesn't take that: ${issuesOf(answer)}.`;
    default:
      return status === 0 || status >= FIRST_SERVER_ERROR
        ? "The service doesn't answer, so nobody knows whether it was done. Read again, and repeat it if it wasn't."
        : `The service refuses: ${ownWords((answer.body as { error?: unknown } | undefined)?.error)}.`;
  }
}

/** Why a key isn't taken, and what to do. */
export function keyWords(answer: Answer): string {
  const { status } = answer;
  if (status === UNAUTHORIZED) return "That isn't the admin key of this service: its ADMIN_API_KEY.";
  if (status === NOT_FOUND) return "This service has no admin key any more. Set ADMIN_API_KEY and restart it.";
  if (status === 0 || status >= FIRST_SERVER_ERROR) {
    return "The service doesn't answer, so the key can't be checked. Try again in a minute.";
  }
  return refusalWords(answer);
}

/** Every issue of a body that isn't taken, with its field. */
function issuesOf({ body }: Answer): string {
  const { details, error } = (body ?? {}) as { details?: unknown; error?: unknown };
  if (!Array.isArray(details) || details.length === 0) return ownWords(error);
  const issues = details.map((issue: unknown) => {
    const { path, message } = issue as { path?: unknown; message?: unknown };
    return typeof path === "string" ? `${path}: ${ownWords(message)}` : ownWords(message);
  });
  return shortened(issues.join("; "), TEXT_LENGTH);
}

function ownWords(text: unknown): string {
  return typeof text === "string" ? shortened(clean(text).text, TEXT_LENGTH).replace(/\.$/, "") : "no reason given";
}

/** What was done to a subject. */
export const DECIDED: Readonly<Record<Action, StateWords>> = {
  hide: { name: "Hidden", meaning: "The listing has left the market.", tone: "bad" },
  suspend: { name: "Suspended", meaning: "The agent's listings are hidden, and it checks nothing out.", tone: "bad" },
  restore: { name: "Restored", meaning: "It is as it was before the decision.", tone: "good" },
};

/** Reasons to hide or suspend, and to restore. */
export const REASONS: Readonly<Record<"against" | "for", readonly (readonly [value: string, words: string])[]>> = {
  against: [
    ["fraud", "Fraud"],
    ["illegal", "Illegal"],
    ["harmful", "Harmful"],
    ["infringement", "Infringement"],
    ["spam", "Spam"],
    ["other", "Another reason"],
  ],
  for: [
    ["mistake", "The decision was a mistake"],
    ["appeal", "The appeal is right"],
    ["remedied", "What was wrong is remedied"],
  ],
};

/** A reason in words. */
export function reasonWords(reason: string): string {
  const known = [...REASONS.against, ...REASONS.for].find(([value]) => value === reason);
  return known?.[1] ?? reason;
}

/** States of reports and appeals. */
export const CASE_STATES: Readonly<Record<string, StateWords>> = {
  open: { name: "Open", meaning: "It waits for you.", tone: "care" },
  acted: { name: "Acted on", meaning: "You did something about it.", tone: "plain" },
  dismissed: { name: "Dismissed", meaning: "Nothing was wrong.", tone: "plain" },
  rejected: { name: "Rejected", meaning: "The decision stands.", tone: "plain" },
  granted: { name: "Granted", meaning: "The subject was restored.", tone: "good" },
};

/** A dispute whose ruling should be on chain. */
export const OVERDUE: StateWords = {
  name: "Overdue",
  meaning: "Nothing is on chain ten minutes after the time for evidence.",
  tone: "bad",
};

/** Problems of rulings and of the keeper's moves, and what to do about each. */
const PROBLEMS: Readonly<Record<string, string>> = {
  rulings_paused: "Rulings are suspended on chain. They go on after unpauseRulings.",
  not_resolver: "The key doesn't hold the resolver's role. Configure the key that does.",
  outside_tenure: "Another key held the role when the escrow was created. Configure that key, or rule as admin.",
  resolver_is_party: "The resolver's wallet is a party. The other role, an agreement or the timeout ends it.",
  not_disputed: "A reorganisation removed the dispute. The ruling waits until it is open again.",
  invalid_ruling: "The contract rejects percentages or hash. That is a defect: report it.",
  too_early: "A reorganisation moved the delivery. Nothing to do.",
  not_in_state: "A reorganisation removed what the move is about. Nothing to do.",
  score_fails: "The score contract rejects the update again. Its repair is an upgrade.",
  spending_cap: "The day's cap is spent. It goes on tomorrow. Raise the cap if that happens often.",
  no_key: "The role has no key on this network. Set it and restart.",
  no_ether: "The wallet can't pay for gas. Send it ether.",
  reverted: "The transaction reverted. It is signed again after 64 blocks.",
  nonce_taken: "Another program uses the same key. Give every program its own.",
  nonce_gap: "A nonce is unused. Send any transaction with it, such as 0 ether to the wallet itself.",
  not_in_pool: "The node doesn't have the transaction. Check the node, or set another one.",
  fee_cap: "The market's fees are above the cap. It goes on once they fall.",
  unexpected: "The service doesn't know the revert. Its log has the details.",
};

/** A problem of rulings or moves in words. */
export function problemWords(problem: string): string {
  return PROBLEMS[problem] ?? problem;
}

const ETHER_DECIMALS = 18;

/** What the keeper spent today of what it may. */
export function spentWords({ spentTodayWei, dailyCapWei }: { spentTodayWei: string; dailyCapWei: string }): string {
  return `${token(spentTodayWei, ETHER_DECIMALS, "ETH")} of ${token(dailyCapWei, ETHER_DECIMALS, "ETH")} today`;
}

/** What is used of a cap, from 0 to 1 and above. A cap of nothing is used up. */
export function shareOf({ spentTodayWei, dailyCapWei }: { spentTodayWei: string; dailyCapWei: string }): number {
  const cap = Number(dailyCapWei);
  return cap === 0 ? 1 : Number(spentTodayWei) / cap;
}

/** How many wait, and for how long: `2 wait, the oldest for 5 min`. */
export function waitingWords(waiting: number, oldestSeconds: number | null): string {
  if (waiting === 0) return "none wait";
  const oldest = oldestSeconds === null ? "" : `, the oldest for ${duration(oldestSeconds)}`;
  return `${counted(waiting, "waits", "wait")}${oldest}`;
}
