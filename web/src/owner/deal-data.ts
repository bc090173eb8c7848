import type {
  CheckResult,
  Dispute,
  Message,
  NetworkStatus,
  Ruling,
  TimelineAttempt,
  TimelineEntry,
  Transaction,
  TransactionWithActions,
} from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { askApi, codeOf, readIfThere, readOwn, readPage, saysEnded } from "./api.ts";
import type { Reading } from "./api.ts";

/** What is known of the messages about a deal. */
export interface DealMessages {
  /** How many there are. */
  count: number;
  /** Those that were read, the oldest first. */
  shown: readonly Message[];
}

/** What a deal's page shows. What couldn't be read is undefined. */
export interface DealData {
  deal: TransactionWithActions;
  networks: readonly NetworkStatus[];
  criteria: Record<string, unknown> | undefined;
  /** How the delivery stands up to the criteria; undefined also before one is there. */
  report: CheckResult | undefined;
  /** Attempts of the last seven days to the agent's webhooks. */
  attempts: readonly TimelineAttempt[] | undefined;
  messages: DealMessages | undefined;
  /** Undefined also without one. */
  dispute: Dispute | undefined;
  /** The ruling's document; undefined also before there is one. */
  ruling: Ruling | undefined;
  /** When it was read, in milliseconds. */
  readAt: number;
}

const PAGE = 100;
/** The newest messages that are read: a call each, once. */
const MESSAGES_READ = 20;
/** Pages of a time line that are read: it begins with what is oldest. */
const TIMELINE_PAGES = 5;

/** The address of a deal in the API. */
export function dealPath(transactionId: string): string {
  return `/api/v1/transactions/${encodeURIComponent(transactionId)}`;
}

/** The address of a dispute in the API. */
export function disputePath(disputeId: string): string {
  return `/api/v1/disputes/${encodeURIComponent(disputeId)}`;
}

/** Reads a deal and what belongs to it: at first five calls, one for each message and two for a dispute, then two to five. */
export function readDeal(
  session: KeptSession,
  transactionId: string,
  known: DealData | undefined,
): Promise<Reading<DealData>> {
  const path = dealPath(transactionId);
  return readPage(async () => {
    // Everything else depends on whether there is such a deal.
    const { data: deal } = await readOwn<{ data: TransactionWithActions }>(session, path);
    const [networks, criteria, report, timeline, disputed] = await Promise.all([
      known?.networks ?? readOwn<{ data: NetworkStatus[] }>(session, "/api/v1/networks").then(({ data }) => data),
      // It never changes.
      known?.criteria ?? readCriteria(session, path),
      readReport(session, path, deal, known),
      readTimeline(session, path),
      readDispute(session, deal.disputeId, known),
    ]);
    return {
      deal,
      networks,
      criteria,
      report,
      attempts: timeline?.filter((entry) => entry.kind === "webhook"),
      ...disputed,
      messages: timeline && (await readMessages(session, timeline, known?.messages?.shown ?? [])),
      readAt: Date.now(),
    };
  });
}

async function readCriteria(session: KeptSession, path: string): Promise<Record<string, unknown> | undefined> {
  const answer = await readIfThere<{ data: { criteria: Record<string, unknown> } }>(session, `${path}/criteria`);
  return answer?.data.criteria;
}

/** Checks what was delivered, again only when that has changed: each check takes processor time. */
async function readReport(
  session: KeptSession,
  path: string,
  deal: Transaction,
  known: DealData | undefined,
): Promise<CheckResult | undefined> {
  if (deal.proofHash === null) return undefined;
  const isSame = known?.deal.status === deal.status && known.deal.deliveryProof === deal.deliveryProof;
  if (isSame && known.report !== undefined) return known.report;
  const request = { method: "POST", body: {} } as const;
  return (await readIfThere<{ data: CheckResult }>(session, `${path}/check`, request))?.data;
}

/** Reads a dispute, and its ruling once there is one: again until the chain has its hash. */
async function readDispute(
  session: KeptSession,
  disputeId: string | null,
  known: Pick<DealData, "dispute" | "ruling"> | undefined,
): Promise<Pick<DealData, "dispute" | "ruling">> {
  if (disputeId === null) return { dispute: undefined, ruling: undefined };
  const path = disputePath(disputeId);
  // Without an answer the last one stays: the owner may be writing below it.
  const dispute = (await readIfThere<{ data: Dispute }>(session, path))?.data ?? known?.dispute;
  const hash = dispute?.rationaleHash ?? null;
  if (hash === null) return { dispute, ruling: undefined };
  const kept = known?.ruling?.rationaleHash === hash ? known.ruling : undefined;
  if (kept !== undefined && kept.onChain !== null) return { dispute, ruling: kept };
  return { dispute, ruling: (await readIfThere<{ data: Ruling }>(session, `${path}/ruling`))?.data ?? kept };
}

interface TimelinePage {
  data: TimelineEntry[];
  nextCursor: string | null;
}

async function readTimeline(session: KeptSession, path: string): Promise<readonly TimelineEntry[] | undefined> {
  const entries: TimelineEntry[] = [];
  let query = `?limit=${PAGE}`;
  for (let page = 1; page <= TIMELINE_PAGES; page += 1) {
    const read = await readIfThere<TimelinePage>(session, `${path}/timeline${query}`);
    if (read === undefined) return undefined;
    entries.push(...read.data);
    if (read.nextCursor === null) break;
    query = `?limit=${PAGE}&cursor=${encodeURIComponent(read.nextCursor)}`;
  }
  return entries;
}

/** Reads the newest messages. A session that only sees doesn't get their contents. */
async function readMessages(
  session: KeptSession,
  timeline: readonly TimelineEntry[],
  known: readonly Message[],
): Promise<DealMessages> {
  const ids = timeline.flatMap((entry) => (entry.kind === "message" ? [entry.proof.messageId] : []));
  const kept = new Map(known.map((message) => [message.id, message]));
  const wanted = session.scopes.includes("message") ? ids.slice(-MESSAGES_READ) : [];
  const read = await Promise.all(
    wanted.map(async (id) => {
      const path = `/api/v1/messages/${encodeURIComponent(id)}`;
      return kept.get(id) ?? (await readIfThere<{ data: Message }>(session, path))?.data;
    }),
  );
  return { count: ids.length, shown: read.filter((message) => message !== undefined) };
}

/** What the service says about a funding. Without either, it hasn't seen it yet. */
export interface ReportedFunding {
  /** The deal's state. */
  state?: string | undefined;
  /** Why it doesn't count as the deal's. */
  refusal?: Answer | undefined;
}

/** The service's node may be behind the wallet's. */
const LAG = ["funding_pending", "funding_not_found"];
const CONFLICT = 409;

/**
 * Has the service verify a funding. A session that only sees can't ask for that: the service finds the escrow without it, too.
 * @param funding the hash of `createEscrow`, and its block
 */
export async function reportFunding(
  session: KeptSession,
  transactionId: string,
  { hash, block }: { hash: string; block: number },
  ended: AbortSignal,
): Promise<ReportedFunding> {
  if (!session.scopes.includes("buy")) return { state: await readStateAt(session, transactionId, block, ended) };
  const until = performance.now() + LONGEST_MS;
  while (!ended.aborted && performance.now() < until) {
    const request = { method: "POST", body: { txHash: hash }, aborted: ended } as const;
    const answer = await askApi(`${dealPath(transactionId)}/fund`, request, session);
    if (answer.status === OK) return { state: (answer.body as { data: Transaction }).data.status };
    if (saysEnded(answer)) return {};
    if (answer.status === CONFLICT && !LAG.includes(codeOf(answer))) return { refusal: answer };
    await pause(answer);
  }
  return {};
}

const LONGEST_MS = 120_000;
const PAUSE_S = 1;
const MS = 1_000;
const OK = 200;

/**
 * Reads a deal's state as of a block. The service may need a while until it has seen it.
 * @returns undefined if it hasn't after two minutes, once the session has ended, and once the signal aborts
 */
export async function readStateAt(
  session: KeptSession,
  transactionId: string,
  block: number,
  ended: AbortSignal,
): Promise<string | undefined> {
  const until = performance.now() + LONGEST_MS;
  while (!ended.aborted && performance.now() < until) {
    const answer = await askApi(`${dealPath(transactionId)}?minBlock=${block}`, { aborted: ended }, session);
    if (answer.status === OK) return (answer.body as { data: Transaction }).data.status;
    if (saysEnded(answer)) return undefined;
    await pause(answer);
  }
  return undefined;
}

/** Waits as long as an answer asks for. */
function pause({ retryAfterSeconds }: Answer): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, (retryAfterSeconds ?? PAUSE_S) * MS));
}
