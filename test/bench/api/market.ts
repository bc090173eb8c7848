import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

import type { ListingRecord } from "../../../api/features/listings/model.ts";
import { listingBody, startTestApi } from "../../fixtures/api.ts";
import type { TestApi } from "../../fixtures/api.ts";
import { ONE_USDC } from "../../fixtures/deals.ts";
import { RELEVANCE_CASES } from "../../fixtures/relevance.ts";
import { openChain } from "../../fixtures/stack.ts";
import { Callers, clientAddresses, grantAccess, madeUpWallets } from "./callers.ts";
import type { Call } from "./load.ts";

/** Copies of each listing of the relevance tests: 1,000 listings in all. */
const COPIES = 50;
const READERS = 4_000;
const BUYERS = 150;
const CLIENTS = 20_000;
/** Calls of an agent before the next one takes over: fewer than the limit of its class (section 8.2). */
const CALLS = { read: 90, search: 9, discover: 27, checkout: 18 } as const;
const ENDOWED_AT_ONCE = 10;

/** The calls of the benchmark, by name. */
export type Subject = keyof typeof CALLS;

/** A market with listings and agents that call. */
export interface Market {
  /** Id of a listing, for the floor. */
  listingId(): string;
  /** The next call of a connection. */
  call(subject: Subject, connection: number): Call;
}

/** Fills the database of an API that runs in this process. */
export async function openMarket(api: TestApi): Promise<Market> {
  const { connection } = api.container;
  const ids = await createListings(api);
  const readers = await grantAccess(connection, madeUpWallets(READERS));
  const buyers = await grantAccess(connection, await fundedWallets());
  const callers = {
    read: new Callers(readers, CALLS.read),
    search: new Callers(readers.toReversed(), CALLS.search),
    discover: new Callers(clientAddresses(CLIENTS), CALLS.discover),
    checkout: new Callers(buyers, CALLS.checkout),
  };
  const queries = RELEVANCE_CASES.flatMap((wanted) => wanted.queries);
  const inTurn = (values: readonly string[]) => {
    let next = 0;
    return () => values[next++ % values.length] ?? "";
  };
  const [listingId, query] = [inTurn(ids), inTurn(queries)];
  const json = { "content-type": "application/json" };

  const calls: Record<Subject, (caller: string) => Call> = {
    read: (key) => ({
      method: "GET",
      path: `/api/v1/services/${listingId()}`,
      status: 200,
      headers: { "x-api-key": key },
    }),
    search: (key) => ({
      method: "GET",
      path: `/api/v1/services?q=${encodeURIComponent(query())}`,
      status: 200,
      headers: { "x-api-key": key },
    }),
    discover: (address) => ({
      method: "POST",
      path: "/api/v1/discover",
      status: 200,
      headers: { ...json, "x-forwarded-for": address },
      body: JSON.stringify({ query: query() }),
    }),
    checkout: (key) => ({
      method: "POST",
      path: "/api/v1/checkout",
      status: 200,
      headers: { ...json, "x-api-key": key },
      body: JSON.stringify({
        serviceId: listingId(),
        paymentMethod: "usdc",
        requestPayload: { document: "invoice-2026-11.pdf" },
      }),
    }),
  };
  return { listingId, call: (subject, connectionNumber) => calls[subject](callers[subject].of(connectionNumber)) };
}

/** Lists each service of the relevance tests through the API and copies its record. */
export async function createListings(api: TestApi): Promise<string[]> {
  const seller = await api.registerAgent({ agentName: "Seller" });
  for (const { title, description, category } of RELEVANCE_CASES) {
    const body = listingBody({ title, description, category, callbackRequired: false });
    const answer = await api.request("POST", "/api/v1/services", { key: seller.apiKey, body });
    if (answer.status !== 201) throw new Error(answer.text);
  }
  const listings = api.container.connection.collection<ListingRecord>("listings");
  const originals = await listings.find().toArray();
  const copies = originals.flatMap((record) =>
    Array.from({ length: COPIES - 1 }, (_, copy) => ({ ...record, _id: `${record._id}_${copy}` })),
  );
  await listings.insertMany(copies);
  return [...originals, ...copies].map(({ _id }) => _id);
}

/** Wallets with enough of the token for one checkout: a checkout moves nothing. */
async function fundedWallets(): Promise<`0x${string}`[]> {
  const chain = await openChain("base-sepolia");
  const accounts = Array.from({ length: BUYERS }, () => privateKeyToAccount(generatePrivateKey()));
  for (let first = 0; first < accounts.length; first += ENDOWED_AT_ONCE) {
    const batch = accounts.slice(first, first + ENDOWED_AT_ONCE);
    await Promise.all(batch.map((account) => chain.endow(account, { usdc: 100n * ONE_USDC })));
  }
  return accounts.map(({ address }) => address);
}

/** Starts an API in this process whose database commands can be counted. */
export function startCountedApi(databaseName: string, mongodbUri: string): Promise<TestApi> {
  const uri = new URL(mongodbUri);
  uri.searchParams.set("monitorCommands", "true");
  return startTestApi({ databaseName, search: true, env: { mongodbUri: uri.href, trustedProxies: 1 } });
}
