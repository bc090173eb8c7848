import type { Approval, Dispute, NetworkStatus, Transaction, Usage } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { readOwn, readPage } from "./api.ts";
import type { Reading } from "./api.ts";
import type { Records } from "./needs.ts";

/** What Home shows. */
export interface HomeData extends Records {
  usage: Usage;
  /** Decimals of each token that deals settle in, by symbol. */
  decimals: ReadonlyMap<string, number>;
  /** Whether older deals than the newest hundred aren't among the ended ones. */
  isShortened: boolean;
  /** When it was read, in milliseconds. */
  readAt: number;
}

const PAGE = 100;
/** Each costs a call. More are looked at on their own pages. */
const DISPUTES_READ = 5;
const OPEN = ["pending_funding", "funded", "delivered", "disputed"];
const TRANSACTIONS = `/api/v1/transactions?limit=${PAGE}`;

/** Reads everything that Home shows: four calls, and one for each open dispute. With more than a hundred deals, four more. */
export function readHome(session: KeptSession, known: HomeData | undefined): Promise<Reading<HomeData>> {
  const ask = <Data>(path: string) => readOwn<Data>(session, path);
  return readPage(async () => {
    const [newest, approvals, usage, decimals] = await Promise.all([
      ask<DealPage>(TRANSACTIONS),
      ask<{ data: Approval[] }>(`/api/v1/approvals?limit=${PAGE}`),
      ask<{ data: Usage }>("/api/v1/auth/usage"),
      known?.decimals ?? readDecimals(session),
    ]);
    const isShortened = newest.nextCursor !== null;
    // An open deal may be older than a hundred others.
    const open = isShortened
      ? await Promise.all(OPEN.map((status) => ask<DealPage>(`${TRANSACTIONS}&status=${status}`)))
      : [];
    const deals = new Map([newest, ...open].flatMap(({ data }) => data.map((deal) => [deal.transactionId, deal])));
    const disputed = [...deals.values()].flatMap(({ status, disputeId }) =>
      status === "disputed" && disputeId !== null ? [disputeId] : [],
    );
    const disputes = await Promise.all(
      disputed
        .slice(0, DISPUTES_READ)
        .map((id) => ask<{ data: Dispute }>(`/api/v1/disputes/${encodeURIComponent(id)}`)),
    );
    return {
      deals: [...deals.values()],
      approvals: approvals.data,
      disputes: disputes.map((one) => one.data),
      usage: usage.data,
      decimals,
      isShortened,
      readAt: Date.now(),
    };
  });
}

/** A page of the agent's deals, as the API lists them. */
export interface DealPage {
  data: Transaction[];
  nextCursor: string | null;
}

/** Decimals of each token that deals settle in, by symbol. */
export async function readDecimals(session: KeptSession): Promise<ReadonlyMap<string, number>> {
  const { data } = await readOwn<{ data: NetworkStatus[] }>(session, "/api/v1/networks");
  return new Map(data.flatMap(({ tokens }) => tokens.map(({ symbol, decimals }) => [symbol, decimals])));
}
