import { useContext, useRef } from "preact/hooks";

import { NETWORKS } from "../data/answers.ts";
import type { KeptSession } from "../data/answers.ts";
import { DEAL_STATUSES, dealsAddress, NO_FILTERS, readFilters } from "../data/owner-place.ts";
import type { DealFilters } from "../data/owner-place.ts";
import { useNow } from "../parts/browser.ts";
import { Go } from "../parts/live.tsx";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { networkName, shortHash } from "../words/names.ts";
import { DealLink, OwnLink } from "./deal-link.tsx";
import { knownToken, nextStep, stateWords } from "./deal-words.ts";
import { readDeals } from "./deals-data.ts";
import type { DealsData } from "./deals-data.ts";
import { Left } from "./left.tsx";
import { Freshness, useLive } from "./live.tsx";
import { isSame } from "./needs.ts";

// Patterns of inputs, in which every hyphen that is no range needs its backslash.
const SERVICE_ID = String.raw`[A-Za-z0-9_\-]{1,100}`;
const INTENT_ID = "[!-~]{1,128}";
/** A long list isn't drawn again each second. */
const OFTEN_MS = 10_000;

/** All deals of an agent, with the filters of the API's list. They are in the address. */
export function DealsPage({
  session,
  filters,
  onEnded,
}: {
  session: KeptSession;
  filters: DealFilters;
  onEnded: () => void;
}) {
  return (
    <>
      <div class="title">
        <h1>Deals</h1>
      </div>
      <Filters filters={filters} />
      <DealList key={dealsAddress(filters)} session={session} filters={filters} onEnded={onEnded} />
    </>
  );
}

/** The filters. A choice shows at once, a text with the button or the enter key. */
function Filters({ filters }: { filters: DealFilters }) {
  const go = useContext(Go);
  const take = (form: HTMLFormElement) => {
    const given = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (typeof value === "string") given.set(name, value);
    go?.(dealsAddress(readFilters(given)));
  };
  const submit = (event: SubmitEvent & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    take(event.currentTarget);
  };
  const choose = (event: Event & { currentTarget: HTMLSelectElement }) => {
    if (event.currentTarget.form !== null) take(event.currentTarget.form);
  };
  const choice = (name: "role" | "status" | "network", label: string, options: readonly (readonly string[])[]) => (
    <label>
      {label}
      <select name={name} value={filters[name]} onChange={choose}>
        <option value="">Any</option>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
  const text = (name: "serviceId" | "intentId", label: string, pattern: string, title: string) => (
    <label>
      {label}
      <input name={name} value={filters[name]} pattern={pattern} title={title} autocomplete="off" />
    </label>
  );
  return (
    <form class="search" onSubmit={submit} aria-label="Filters">
      <div class="filters">
        {choice("role", "Side", [
          ["buyer", "Buying"],
          ["seller", "Selling"],
        ])}
        {choice(
          "status",
          "State",
          DEAL_STATUSES.map((status) => [status, stateWords(status)?.name ?? status]),
        )}
        {choice(
          "network",
          "Network",
          NETWORKS.map((network) => [network, networkName(network)]),
        )}
        {text("serviceId", "Id of the service", SERVICE_ID, "Letters, digits, _ and -")}
        {text("intentId", "Intent, of what you buy", INTENT_ID, "Up to 128 printable ASCII characters without spaces")}
        <div class="submit">
          <button type="submit">Filter</button>
        </div>
      </div>
    </form>
  );
}

function DealList({ session, filters, onEnded }: { session: KeptSession; filters: DealFilters; onEnded: () => void }) {
  const pages = useRef(1);
  const read = (known: DealsData | undefined) => readDeals(session, filters, known, () => pages.current);
  const live = useLive<DealsData>(session, read, onEnded);
  const { data } = live;
  const now = useNow(OFTEN_MS) ?? data?.readAt ?? 0;
  const more = () => {
    pages.current += 1;
    live.refresh();
  };
  return (
    <section aria-label="The deals that pass the filters">
      <Freshness of={live} what="Reading your agent's deals…" />
      {data !== undefined && data.deals.length === 0 && (
        <NoDeals isFiltered={dealsAddress(filters) !== dealsAddress(NO_FILTERS)} />
      )}
      {data !== undefined && data.deals.length > 0 && (
        <DealTable data={data} wallet={session.walletAddress} now={now} />
      )}
      {data !== undefined && data.nextCursor !== null && (
        <p class="more">
          <button type="button" class="quiet" onClick={more}>
            More
          </button>
        </p>
      )}
    </section>
  );
}

function NoDeals({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Notice>
        No deal passes these filters. <OwnLink to={dealsAddress(NO_FILTERS)}>Show all deals</OwnLink>
      </Notice>
    );
  }
  return (
    <Notice>
      Your agent has no deals yet. <a href="/search">Find a service to hire</a>, or{" "}
      <a href="/guides/listings">offer one</a>. Each deal is here from its checkout on.
    </Notice>
  );
}

function DealTable({ data: { deals, decimals }, wallet, now }: { data: DealsData; wallet: string; now: number }) {
  return (
    <table class="listings">
      <caption class="unseen">Your agent's deals and what is next with each, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Deal</th>
          <th scope="col" class="number">
            Amount, state
          </th>
        </tr>
      </thead>
      <tbody>
        {deals.map((deal) => {
          const isSeller = isSame(deal.sellerAddress, wallet);
          const other = isSeller ? deal.buyerAddress : deal.sellerAddress;
          const next = nextStep(deal, wallet, now);
          return (
            <tr key={deal.transactionId}>
              <td>
                <DealLink deal={deal} />
                <span class="aside">
                  {isSeller ? "you sell to " : "you buy from "}
                  <code title={other}>{shortHash(other)}</code> · {networkName(deal.network)} ·{" "}
                  <Time at={deal.createdAt} />
                </span>
                {next !== null && <p class="step">{next.text}</p>}
                {next !== null && next.until !== null && <Left until={next.until} now={now} />}
              </td>
              <td class="number">
                <p>{knownToken(deal.amount, deal.currency, decimals)}</p>
                <State words={stateWords(deal.status)} name={deal.status} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
