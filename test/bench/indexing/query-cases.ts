import {
  AGENT_DAYS_QUERY,
  AGENT_RECORD_QUERY,
  AGENTS_QUERY,
  CHANGED_AGENTS_QUERY,
  DISPUTED_BEFORE_QUERY,
  ESCROWS_QUERY,
  EVENTS_QUERY,
  FIRST_PAID_QUERY,
  META_QUERY,
  PAID_SETTLEMENTS_QUERY,
  SELLER_VOLUMES_QUERY,
} from "../../../api/indexer/queries.ts";
import { hourlyQuery } from "../../../api/indexer/series-queries.ts";
import { readQueries } from "../../subgraph/support/readme-queries.ts";
import type { MinedDeal } from "./mined-deals.ts";

/** What is in the subgraph: the queries ask for parts of it. Times are unix seconds by the chain's clock. */
export interface IndexedHistory {
  network: string;
  deals: readonly MinedDeal[];
  from: { block: number; time: number };
  to: { block: number; time: number; hash: string };
}

/** A query, and what it asks for at each turn. */
export interface QueryCase {
  name: string;
  text: string;
  variables: (turn: number) => Record<string, unknown>;
}

/** As many as the subgraph returns at once. */
const PAGE = 1_000;
/** Escrows that reads of the API share a query for, at most. */
const JOINED = 100;
const SCORE_CHANGES = 50;
const LATEST_DEALS = 100;
const MICROSECONDS = 1_000_000;
const ORDINALS_PER_BLOCK = 1_000_000;
const DAY = 86_400;
/** Coprime to the numbers of deals and wallets, so that each turn asks for another part. */
const STRIDE = 7_919;
const ZERO_ID = `0x${"00".repeat(32)}`;

/** The queries that the API and its worker send. */
export function apiQueries({ deals, from, to }: IndexedHistory): QueryCase[] {
  const deal = (turn: number) => deals[(turn * STRIDE) % deals.length] as MinedDeal;
  const seller = (turn: number) => deal(turn).seller.toLowerCase();
  const ids = (turn: number, count: number) =>
    Array.from({ length: count }, (_, index) => deal(turn * count + index).escrowId);
  const wallets = [...new Set(deals.slice(0, PAGE).flatMap((each) => [each.buyer, each.seller]))].map((wallet) =>
    wallet.toLowerCase(),
  );
  const blockAt = (turn: number) => from.block + ((turn * STRIDE) % (to.block - from.block));
  const timeAt = (turn: number) => from.time + ((turn * STRIDE) % (to.time - from.time));
  const hours = { from: String(from.time * MICROSECONDS), to: String(to.time * MICROSECONDS) };
  const days = { from: Math.floor(from.time / DAY), to: Math.floor(to.time / DAY) + 1 };
  const record = (turn: number) => ({ id: seller(turn), agent: seller(turn), before: String(2n ** 63n) });
  const paid = (turn: number) => ({ seller: seller(turn), at: String(timeAt(turn)), id: ZERO_ID, to: String(to.time) });
  const metrics = ["volume", "escrows", "score"] as const;
  return [
    { name: "Meta", text: META_QUERY, variables: () => ({ minBlock: to.block }) },
    {
      name: "Escrows, one",
      text: ESCROWS_QUERY,
      variables: (turn) => ({ ids: ids(turn, 1), minBlock: to.block, first: 1 }),
    },
    {
      name: "Escrows, a hundred",
      text: ESCROWS_QUERY,
      variables: (turn) => ({ ids: ids(turn, JOINED), minBlock: to.block, first: JOINED }),
    },
    {
      name: "Events",
      text: EVENTS_QUERY,
      variables: (turn) => ({ from: String(blockAt(turn) * ORDINALS_PER_BLOCK), first: PAGE }),
    },
    {
      name: "Events, at the head",
      text: EVENTS_QUERY,
      variables: () => ({ from: String((to.block + 1) * ORDINALS_PER_BLOCK), first: PAGE }),
    },
    {
      name: "DisputedBefore",
      text: DISPUTED_BEFORE_QUERY,
      variables: (turn) => ({ before: String(timeAt(turn)), after: ZERO_ID, first: PAGE }),
    },
    {
      name: "Agents",
      text: AGENTS_QUERY,
      variables: () => ({ ids: wallets.slice(0, JOINED), minBlock: to.block, first: PAGE }),
    },
    {
      name: "ChangedAgents",
      text: CHANGED_AGENTS_QUERY,
      variables: (turn) => ({ block: String(blockAt(turn)), id: seller(turn), first: PAGE }),
    },
    {
      name: "AgentDays",
      text: AGENT_DAYS_QUERY,
      variables: (turn) => ({ agent: seller(turn), from: days.from, first: PAGE }),
    },
    {
      name: "SellerVolumes",
      text: SELLER_VOLUMES_QUERY,
      variables: () => ({ ...days, id: ZERO_ID, first: PAGE, hash: to.hash }),
    },
    {
      name: "PaidSettlements",
      text: PAID_SETTLEMENTS_QUERY,
      variables: (turn) => ({ ...paid(turn), first: PAGE, hash: to.hash }),
    },
    { name: "FirstPaid", text: FIRST_PAID_QUERY, variables: () => ({ hash: to.hash }) },
    {
      name: "AgentRecord",
      text: AGENT_RECORD_QUERY,
      variables: (turn) => ({ ...record(turn), first: SCORE_CHANGES, deals: LATEST_DEALS }),
    },
    ...metrics.flatMap((metric): QueryCase[] => [
      { name: `hourly ${metric}, all`, text: hourlyQuery(metric, false), variables: () => hours },
      {
        name: `hourly ${metric}, a wallet`,
        text: hourlyQuery(metric, true),
        variables: (turn) => ({ ...hours, wallet: seller(turn) }),
      },
    ]),
  ];
}

/** The example queries of subgraph/queries.md. */
export function readmeQueries({ network, deals, from, to }: IndexedHistory): QueryCase[] {
  const deal = (turn: number) => deals[(turn * STRIDE) % deals.length] as MinedDeal;
  const agent = (turn: number) => ({ agent: deal(turn).seller.toLowerCase() });
  const variables: Readonly<Record<string, QueryCase["variables"]>> = {
    Escrow: (turn) => ({ id: deal(turn).escrowId }),
    OpenWork: (turn) => ({ seller: deal(turn).seller.toLowerCase() }),
    Deliveries: () => ({ before: String(to.time) }),
    Moves: (turn) => ({
      after: String((from.block + ((turn * STRIDE) % (to.block - from.block))) * ORDINALS_PER_BLOCK),
    }),
    Trust: agent,
    Hours: () => ({ since: String(from.time * MICROSECONDS) }),
    AgentDays: agent,
    Administration: () => ({ network }),
  };
  const none = () => ({});
  return [...readQueries()].map(([name, text]) => ({
    name: `README: ${name}`,
    text,
    variables: variables[name] ?? none,
  }));
}
