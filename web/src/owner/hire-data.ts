import type { Checkout, TransactionWithActions } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession, ListingDetails } from "../data/answers.ts";
import { askApi, codeOf, readOwn, readPage } from "./api.ts";
import type { Reading } from "./api.ts";
import type { KeptOrder } from "./kept-order.ts";

/** A listing that may be hired. */
export interface HireData {
  listing: ListingDetails;
  readAt: number;
}

/** Reads a listing as anyone may see it. */
export function readListing(session: KeptSession, serviceId: string): Promise<Reading<HireData>> {
  return readPage(async () => {
    const path = `/api/v1/market/listings/${encodeURIComponent(serviceId)}`;
    const { data: listing } = await readOwn<{ data: ListingDetails }>(session, path);
    return { listing, readAt: Date.now() };
  });
}

/** What an order came to. */
export type Ordered =
  /** A deal whose deposit can be paid. */
  | { kind: "deal"; transactionId: string }
  /** A deal of the same that is past that, or another one. */
  | { kind: "repeat"; transactionId: string }
  | { kind: "refused"; answer: Answer };

const OK = 200;

/** Checks an order out. @param now in milliseconds */
export async function checkOut(
  session: KeptSession,
  { content, intentId, again }: KeptOrder,
  now: number,
): Promise<Ordered> {
  const body = { ...(JSON.parse(content) as object), intentId, ...(again ? { again } : {}) };
  const answer = await askApi("/api/v1/checkout", { method: "POST", body }, session);
  if (codeOf(answer) === "looks_like_a_repeat") {
    const { details } = answer.body as { details: { transactionId: string } };
    return { kind: "repeat", transactionId: details.transactionId };
  }
  if (answer.status !== OK) return { kind: "refused", answer };
  const { transactionId, status, paymentInstructions } = (answer.body as { data: Checkout }).data;
  const isOpen = status === "pending_funding" && Date.parse(paymentInstructions.quoteExpiresAt) > now;
  return { kind: isOpen && (await canBePaid(session, transactionId)) ? "deal" : "repeat", transactionId };
}

/** Whether the service still offers to pay a deal, by the clock of its chain. It does if nothing else is known. */
async function canBePaid(session: KeptSession, transactionId: string): Promise<boolean> {
  const answer = await askApi(`/api/v1/transactions/${encodeURIComponent(transactionId)}`, {}, session);
  if (answer.status !== OK) return true;
  const { actions } = (answer.body as { data: TransactionWithActions }).data;
  return actions.some(({ action }) => action === "createEscrow");
}
