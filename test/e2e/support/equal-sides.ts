import { parseEventLogs } from "viem";
import type { Hex, Log } from "viem";

import { escrowAbi, scoreAbi } from "../../../api/chain/abis.ts";
import { ESCROW_EVENT_TYPES } from "../../../api/indexer/schemas.ts";
import { collect, ESCROW_STATES } from "../../../sdk/src/index.ts";
import type { Agent } from "../../../sdk/src/index.ts";
import type { TestChain } from "../../fixtures/stack.ts";

/** What two sides don't agree about. */
export type Disagreement = string;

interface IndexedSide {
  _meta: { block: { number: number }; hasIndexingErrors: boolean };
  escrows: { id: Hex; state: string; events: { type: string; txHash: Hex }[] }[];
  agents: { id: Hex; score: number }[];
}

/** A move of an escrow as the chain's logs have it. */
interface LoggedMove {
  type: string;
  txHash: Hex;
  automatic: boolean;
}

/** What a network's contract says about every escrow. */
export interface ChainSide {
  head: number;
  /** State and moves by escrow id. */
  escrows: Map<Hex, { state: string; moves: LoggedMove[] }>;
}

const SIDE_QUERY = `query Side($block: Int!) {
  _meta(block: {number: $block}) { block { number } hasIndexingErrors }
  escrows(first: 1000, block: {number: $block}) {
    id state events(first: 10, orderBy: ordinal) { type txHash }
  }
  agents(first: 1000, block: {number: $block}) { id score }
}`;

/** Reads every escrow from the contract, with its moves from the logs. */
export async function readChain({ client, deployment }: TestChain): Promise<ChainSide> {
  const address = deployment.escrow;
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const logs: Log[] = await client.getLogs({ address, fromBlock: 0n, toBlock: head });
  const parsed = parseEventLogs({ abi: escrowAbi, logs, eventName: [...ESCROW_EVENT_TYPES] });
  const byEscrow = Map.groupBy(parsed, ({ args }) => args.escrowId);
  const escrows = await Promise.all(
    [...byEscrow].map(async ([escrowId, found]) => {
      const args = [escrowId] as const;
      const { state } = await client.readContract({
        address,
        abi: escrowAbi,
        functionName: "getEscrow",
        args,
        blockNumber: head,
      });
      const moves = found.map(({ eventName, transactionHash, args: fields }) => ({
        type: eventName,
        txHash: transactionHash,
        automatic: "automatic" in fields && fields.automatic,
      }));
      return [escrowId, { state: ESCROW_STATES[state] ?? "None", moves }] as const;
    }),
  );
  return { head: Number(head), escrows: new Map(escrows) };
}

interface Answer {
  data?: unknown;
  errors?: unknown;
}

async function ask(subgraphUrl: string, query: string, variables: object): Promise<Answer> {
  const response = await fetch(subgraphUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return (await response.json()) as Answer;
}

/** The last block that a subgraph has indexed; undefined while it can't tell. */
export async function subgraphHead(subgraphUrl: string): Promise<number | undefined> {
  const { data } = await ask(subgraphUrl, "{ _meta { block { number } } }", {});
  return (data as Pick<IndexedSide, "_meta"> | undefined)?._meta.block.number;
}

/** Where a subgraph differs from the contracts: escrows, their moves and every score. */
export async function subgraphDifferences(
  chain: TestChain,
  subgraphUrl: string,
  side: ChainSide,
): Promise<Disagreement[]> {
  const answer = await ask(subgraphUrl, SIDE_QUERY, { block: side.head });
  const data = answer.data as IndexedSide | undefined;
  if (data === undefined) return [`${chain.network}: the subgraph answers ${JSON.stringify(answer.errors)}`];
  if (data._meta.hasIndexingErrors) return [`${chain.network}: a handler of the subgraph has failed`];
  const indexed = new Map(data.escrows.map((escrow) => [escrow.id, escrow]));
  const found: Disagreement[] = [];
  for (const id of new Set([...side.escrows.keys(), ...indexed.keys()])) {
    const [onChain, inSubgraph] = [side.escrows.get(id), indexed.get(id)];
    const moves = (list: readonly { type: string; txHash: Hex }[] = []) =>
      list.map(({ type, txHash }) => `${type} ${txHash}`).join();
    if (onChain?.state !== inSubgraph?.state) {
      found.push(`${chain.network} ${id}: ${onChain?.state} on chain, ${inSubgraph?.state} in the subgraph`);
    } else if (moves(onChain?.moves) !== moves(inSubgraph?.events)) {
      found.push(`${chain.network} ${id}: the subgraph lists other moves than the chain's logs`);
    }
  }
  for (const { id, score } of data.agents) {
    const args = [id] as const;
    const onChain = await chain.client.readContract({
      address: chain.deployment.score,
      abi: scoreAbi,
      functionName: "scoreOf",
      args,
      blockNumber: BigInt(side.head),
    });
    if (onChain !== BigInt(score)) {
      found.push(`${chain.network} ${id}: score ${onChain} on chain, ${score} in the subgraph`);
    }
  }
  return found;
}

/** Statuses of the API by the state on chain. Without an escrow, a checkout waits for funding or has expired. */
const STATUSES: Readonly<Record<string, readonly string[]>> = {
  None: ["pending_funding", "expired"],
  Funded: ["funded"],
  Delivered: ["delivered"],
  Released: ["released"],
  Refunded: ["refunded"],
  Disputed: ["disputed"],
  Resolved: ["resolved"],
  Abandoned: ["abandoned"],
};

type Role = "buyer" | "seller";

/** The event types that announce a move to a party; one of them, once. None if only the other party is told. */
function announcing({ type, automatic }: LoggedMove, role: Role): readonly string[] {
  if (type === "DisputeOpened") return ["dispute.created"];
  if (type === "EscrowResolved") return ["dispute.resolved"];
  if (role === "buyer") {
    if (type === "DeliverySubmitted") return ["service.delivered", "delivery.submitted"];
    return type === "EscrowRefunded" ? ["escrow.refunded"] : [];
  }
  if (type === "EscrowCreated") return ["escrow.funded"];
  if (type === "EscrowReleased") return [automatic ? "escrow.finalized" : "escrow.released"];
  return type === "EscrowAbandoned" ? ["escrow.abandoned"] : [];
}

/** Where the API's lists differ from the contracts, as a party sees them. */
export async function listDifferences(
  agent: Agent,
  sides: Readonly<Record<string, ChainSide>>,
): Promise<Disagreement[]> {
  const listed = await collect(agent.transactions());
  return listed.flatMap(({ transactionId, network, escrowId, status }) => {
    const state = sides[network]?.escrows.get(escrowId)?.state ?? "None";
    return STATUSES[state]?.includes(status) === true ? [] : [`${transactionId}: ${status}, but ${state} on chain`];
  });
}

/**
 * Where an agent's event log differs from the chain's logs: every move of its escrows must be announced exactly once, and
 * everything else that was announced must have been withdrawn.
 */
export async function eventDifferences(
  agent: Agent,
  role: Role,
  sides: Readonly<Record<string, ChainSide>>,
): Promise<Disagreement[]> {
  const log = await collect(agent.events.list());
  const found: Disagreement[] = [];
  const ids = new Set(log.map(({ id }) => id));
  if (ids.size < log.length) found.push("an event is in the log twice");
  const withdrawn = new Set(
    log.flatMap(({ event, payload }) =>
      event === "escrow.reorged" ? (payload as { withdrawnEventIds: string[] }).withdrawnEventIds : [],
    ),
  );
  const standing = log.filter(
    ({ id, event }) => !withdrawn.has(id) && event !== "escrow.reorged" && event !== "delivery.overdue",
  );
  const byDeal = Map.groupBy(standing, ({ transactionId }) => transactionId);
  for (const { transactionId, network, escrowId } of await collect(agent.transactions())) {
    const announced = (byDeal.get(transactionId) ?? []).map(({ event }) => event);
    const expected = (sides[network]?.escrows.get(escrowId)?.moves ?? [])
      .map((move) => announcing(move, role))
      .filter((types) => types.length > 0);
    const isEqual =
      announced.length === expected.length && expected.every((types, index) => types.includes(announced[index] ?? ""));
    if (!isEqual) found.push(`${transactionId}: ${role} has ${announced.join()}; the chain ${expected.join(" then ")}`);
  }
  return found;
}
