import { NETWORKS } from "../data/answers.ts";
import type { Network } from "../data/answers.ts";
import { rulingsAddress, viewAddress } from "../data/operator-place.ts";
import { counted } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { duration } from "../words/times.ts";
import type { Held, NetworkReadiness, Readiness } from "./answers.ts";
import { problemWords, shareOf, spentWords, waitingWords } from "./words.ts";

/** Something that an operator should look at now. */
export interface OperatorNeed {
  key: string;
  what: string;
  /** What to do about it, or what comes of it. */
  why: string;
  /** The address of the view that has more about it; null if none has. */
  to: string | null;
}

/** The follower reads each second or so: from here on, something keeps it. */
const LATE_FOLLOWER_SECONDS = 60;
/** Webhooks are due now and then; from here on nobody sends them. */
const LATE_OUTBOX_SECONDS = 60;
/** From this share of the day's cap on, the rest of the day may need more. */
const NEAR_CAP = 0.8;

/** What needs an operator now, the worst first. */
export function needsOf(readiness: Readiness): OperatorNeed[] {
  const { database, search, encoder, outbox, networks } = readiness;
  const needs: (OperatorNeed | null)[] = [
    database.ok ? null : need("database", "The database doesn't answer", failure(database.error)),
    ...NETWORKS.flatMap((network) => networkNeeds(network, networks[network])),
    search.ok ? null : need("search", "The search doesn't follow the listings", failure(search.error)),
    encoder?.server?.answers === false
      ? need("encoder", "The server of embeddings doesn't answer", "The embedded model answers in its place.")
      : null,
    outbox !== null && (outbox.oldestSeconds ?? 0) > LATE_OUTBOX_SECONDS
      ? need(
          "outbox",
          `Webhooks are late: ${waitingWords(outbox.waiting, outbox.oldestSeconds)}`,
          "A worker sends them. Look whether one runs.",
        )
      : null,
  ];
  return needs.filter((one) => one !== null);
}

function networkNeeds(network: Network, state: NetworkReadiness): (OperatorNeed | null)[] {
  const { rpc, subgraph, follower, disputes, keeper } = state;
  const on = networkName(network);
  const id = (name: string) => `${network}:${name}`;
  const { quarantined, lagSeconds } = follower;
  const isLate = lagSeconds !== null && lagSeconds > LATE_FOLLOWER_SECONDS;
  const overdue = disputes?.overdue ?? 0;
  return [
    rpc.ok ? null : need(id("rpc"), `The node of ${on} doesn't answer`, failure(rpc.error)),
    subgraph.ok ? null : need(id("subgraph"), `The subgraph of ${on} doesn't answer`, failure(subgraph.error)),
    isLate
      ? need(
          id("follower"),
          `Events of ${on} are ${duration(lagSeconds)} behind`,
          "A worker's follower applies them. Look whether one runs, and at its log.",
        )
      : null,
    quarantined !== null && quarantined > 0
      ? need(
          id("quarantine"),
          `${counted(quarantined, "escrow is", "escrows are")} in quarantine on ${on}`,
          "Their moves couldn't be applied. Read the errors, and retry after the repair.",
          viewAddress("quarantine"),
        )
      : null,
    disputes !== null && overdue > 0
      ? need(
          id("overdue"),
          `${counted(overdue, "ruling is", "rulings are")} overdue on ${on}`,
          disputes.oldestSeconds === null
            ? "Nothing is on chain ten minutes after the time for evidence."
            : `The time for evidence of the oldest one ended ${duration(disputes.oldestSeconds)} ago.`,
          rulingsAddress(network),
        )
      : null,
    ...heldNeeds(id("held"), ["ruling is", "rulings are"], on, disputes?.held ?? {}, rulingsAddress(network)),
    ...heldNeeds(id("moves"), ["move of the keeper is", "moves of the keeper are"], on, keeper?.held ?? {}, null),
    keeper !== null && keeper.enabled && shareOf(keeper) >= NEAR_CAP
      ? need(id("cap"), `The keeper has nearly spent its cap on ${on}`, `${spentWords(keeper)}. It goes on tomorrow.`)
      : null,
  ];
}

/** What is held, problem by problem. @param words for one and for many */
function heldNeeds(
  key: string,
  [one, many]: readonly [string, string],
  on: string,
  held: Held,
  to: string | null,
): OperatorNeed[] {
  return Object.entries(held).flatMap(([problem, count]) => {
    if (count === 0) return [];
    const what = `${counted(count, one, many)} held on ${on}: ${problem}`;
    return [need(`${key}:${problem}`, what, problemWords(problem), to)];
  });
}

function need(key: string, what: string, why: string, to: string | null = null): OperatorNeed {
  return { key, what, why, to };
}

function failure(error: string | undefined): string {
  return `${error === undefined ? "" : `It failed with ${error}. `}The service's log has the details.`;
}
