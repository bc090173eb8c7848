import type { KeptSession } from "../data/answers.ts";
import { NEW_ORDER } from "./hire-words.ts";
import type { OrderFields } from "./hire-words.ts";

/** The last order of a listing that a tab has sent. */
export interface KeptOrder {
  /** The form as it was. */
  fields: OrderFields;
  /** The checkout's body without what names the purchase. */
  content: string;
  /** Names the purchase: one deal, however often it is sent. */
  intentId: string;
  /** Whether the owner wants it although another deal looks the same. */
  again: boolean;
}

const key = ({ agentId }: KeptSession, serviceId: string) => `order:${agentId}:${serviceId}`;

/** The order that this tab has sent before; undefined without one. */
export function keptOrder(session: KeptSession, serviceId: string): KeptOrder | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key(session, serviceId)) ?? "null") as KeptOrder | null;
    return kept === null ? undefined : { ...kept, fields: { ...NEW_ORDER, ...kept.fields } };
  } catch {
    // Storage that is closed to this page, or another text than ours.
    return undefined;
  }
}

/**
 * Names an order before it is sent: as it was named before, if the tab has sent the same.
 * @param isAnother it is another purchase of the same
 */
export function nameOrder(
  session: KeptSession,
  serviceId: string,
  { fields, content }: Pick<KeptOrder, "fields" | "content">,
  last: KeptOrder | undefined,
  isAnother: boolean,
): KeptOrder {
  if (last?.content === content && !isAnother) return last;
  const named = { fields, content, intentId: `page-${crypto.randomUUID()}`, again: isAnother };
  try {
    sessionStorage.setItem(key(session, serviceId), JSON.stringify(named));
  } catch {
    // Without storage it holds until the page is loaded again. The service then says that it looks like a repeat.
  }
  return named;
}
