import type { Approval, Dispute, NetworkStatus, Transaction, Usage } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { askApi, saysEnded } from "./api.ts";
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

/** What reading Home came to. */
export type HomeReading = { kind: "there"; data: HomeData } | { kind: "ended" } | { kind: "failed"; answer: Answer };

const OK = 200;
const PAGE = 100;
/** Each costs a call. More are looked at on their own pages. */
const DISPUTES_READ = 5;
const OPEN = ["pending_funding", "funded", "delivered", "disputed"];
const TRANSACTIONS = `/api/v1/transactions?limit=${PAGE}`;

/** Reads everything that Home shows: four calls, and one for each open dispute. With more than a hundred deals, four more. */
export async function readHome(session: KeptSession, known: HomeData | undefined): Promise<HomeReading> {
  const ask = async <Data>(path: string): Promise<Data> => {
    const answer = await askApi(path, {}, session);
    if (answer.status !== OK) throw new Refused(answer);
    return answer.body as Data;
  };
  try {
    const [newest, approvals, usage, decimals] = await Promise.all([
      ask<DealPage>(TRANSACTIONS),
      ask<{ data: Approval[] }>(`/api/v1/approvals?limit=${PAGE}`),
      ask<{ data: Usage }>("/api/v1/auth/usage"),
      known?.decimals ?? ask<{ data: NetworkStatus[] }>("/api/v1/networks").then(({ data }) => decimalsOf(data)),
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
    const data = {
      deals: [...deals.values()],
      approvals: approvals.data,
      disputes: disputes.map((one) => one.data),
      usage: usage.data,
      decimals,
      isShortened,
      readAt: Date.now(),
    };
    return { kind: "there", data };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return saysEnded(error.answer) ? { kind: "ended" } : { kind: "failed", answer: error.answer };
  }
}

interface DealPage {
  data: Transaction[];
  nextCursor: string | null;
}

/** An answer without the data that were asked for. */
class Refused extends Error {
  readonly answer: Answer;

  constructor(answer: Answer) {
    super(`Status ${answer.status}`);
    this.answer = answer;
  }
}

function decimalsOf(networks: readonly NetworkStatus[]): ReadonlyMap<string, number> {
  return new Map(networks.flatMap(({ tokens }) => tokens.map(({ symbol, decimals }) => [symbol, decimals])));
}
