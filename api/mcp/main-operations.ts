import type { RouteDefinition } from "../http/define-route.ts";

/** The operation that a tool's call counts as. */
export interface MainOperation {
  /** Name of its route. */
  name: string;
  /** Whether a payment pays for that operation's request. Otherwise it pays for the first request of the call. */
  isPaid?: boolean;
}

const counts = (name: string): (() => MainOperation) => {
  return () => ({ name });
};

/**
 * One call of a tool is one unit of its main operation's classes. A move on chain has no route where it is only prepared; it
 * counts as the request that records it, or as a reading.
 */
const MAIN_OPERATIONS: Readonly<Record<string, (input: unknown) => MainOperation>> = {
  search_services: counts("listings.discover"),
  get_service: counts("listings.read"),
  // Nothing is paid for an order that is refused.
  hire: () => ({ name: "checkout.create", isPaid: true }),
  list_deals: counts("transactions.list"),
  get_deal: counts("transactions.read"),
  review_delivery: counts("transactions.check"),
  accept: counts("transactions.confirm"),
  dispute: counts("disputes.create"),
  reclaim: counts("transactions.finalize"),
  my_jobs: counts("jobs.list"),
  deliver: counts("transactions.deliver"),
  decline: counts("transactions.read"),
  send_message: counts("messages.send"),
  read_messages: counts("messages.list"),
  remember: counts("memory.write"),
  recall: (input) => ({ name: hasQuery(input) ? "memory.search" : "memory.read" }),
  offer_service: counts("listings.create"),
};

const hasQuery = (input: unknown): boolean => (input as { query?: unknown } | null)?.query !== undefined;

/** The main operation of a call. @throws Error for a tool without one, or whose route doesn't exist */
export function mainOperationOf(
  tool: string,
  input: unknown,
  routes: readonly RouteDefinition<never>[],
): { main: RouteDefinition<never>; isPaid: boolean } {
  const operation = MAIN_OPERATIONS[tool]?.(input);
  const main = routes.find(({ name }) => name === operation?.name);
  if (operation === undefined || main === undefined) throw new Error(`The tool ${tool} has no main operation`);
  return { main, isPaid: operation.isPaid === true };
}
