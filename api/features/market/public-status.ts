import type { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { VERSION } from "../../config/version.ts";
import type { NetworkState, Readiness } from "../health/readiness.ts";
import { PART_STATES } from "./schemas.ts";
import type { statusAnswer } from "./schemas.ts";

type Status = Omit<z.input<typeof statusAnswer>["data"], "history">;
type PartState = (typeof PART_STATES)[number];

/** Blocks, of a minute on both networks, by which subgraph and follower may be behind. */
const LATE_BLOCKS = 30;
/** How old a chain's latest block may be, in seconds. */
const LATE_HEAD_SECONDS = 60;
/** How long a dispatch may be due, in seconds. */
const LATE_DISPATCH_SECONDS = 60;
/** How long a move of the keeper may wait, in seconds. */
const LATE_MOVE_SECONDS = 600;

/** Dependencies of the public status. */
export interface PublicStatusDeps {
  readiness: () => Promise<Readiness>;
  /** Blocks that the follower leaves between itself and the chain's head. */
  confirmations: Readonly<Record<Network, number>>;
  now: () => Date;
}

/** The state of the service's parts in one word each. The readiness report has the reasons, for operators alone. */
export async function readPublicStatus(deps: PublicStatusDeps): Promise<Status> {
  const { database, search, outbox, networks } = await deps.readiness();
  const parts = {
    database: stateOf(database.ok),
    // Without the index, the database is searched.
    search: search.ok ? "ok" : database.ok ? "late" : "down",
    queues: outbox === null ? "down" : lateIf((outbox.oldestSeconds ?? 0) > LATE_DISPATCH_SECONDS),
  } as const;
  const shown = NETWORKS.map((network) => describeNetwork(network, networks[network], deps));
  const state = worstOf([...Object.values(parts), ...shown.map((network) => network.state)]);
  return { state, version: VERSION, ...parts, networks: shown };
}

function describeNetwork(
  network: Network,
  { rpc, subgraph, follower, disputes, keeper }: NetworkState,
  { confirmations, now }: Pick<PublicStatusDeps, "confirmations" | "now">,
) {
  const head = rpc.facts;
  const indexed = subgraph.facts;
  const headAgeSeconds = head === undefined ? 0 : now().getTime() / 1_000 - head.headTimestamp;
  const isFollowerLate =
    (follower.lagBlocks ?? 0) > confirmations[network] + LATE_BLOCKS || (follower.quarantined ?? 0) > 0;
  const parts = {
    chain: head === undefined ? "down" : lateIf(headAgeSeconds > LATE_HEAD_SECONDS),
    subgraph: indexed === undefined ? "down" : lateIf((indexed.blocksBehind ?? 0) > LATE_BLOCKS),
    follower: follower.lagBlocks === null ? "down" : lateIf(isFollowerLate),
    rulings: disputes === null ? "down" : lateIf(disputes.overdue > 0 || countOf(disputes.held) > 0),
    keeper: keeperState(keeper),
  } as const;
  return {
    network,
    state: worstOf(Object.values(parts).filter((part) => part !== null)),
    ...parts,
    headBlock: head?.headBlock ?? null,
    indexedBlock: indexed?.indexedBlock ?? null,
    lagSeconds: follower.lagSeconds === null ? null : Math.max(0, follower.lagSeconds),
  };
}

function keeperState(keeper: NetworkState["keeper"]): PartState | null {
  if (keeper === null) return "down";
  if (!keeper.enabled) return null;
  return lateIf((keeper.oldestSeconds ?? 0) > LATE_MOVE_SECONDS || countOf(keeper.held) > 0);
}

const stateOf = (isOk: boolean): PartState => (isOk ? "ok" : "down");
const lateIf = (isLate: boolean): PartState => (isLate ? "late" : "ok");
const countOf = (held: Readonly<Record<string, number>>): number =>
  Object.values(held).reduce((sum, count) => sum + count, 0);

function worstOf(states: readonly PartState[]): PartState {
  return states.reduce<PartState>(
    (worst, state) => (PART_STATES.indexOf(state) > PART_STATES.indexOf(worst) ? state : worst),
    "ok",
  );
}
