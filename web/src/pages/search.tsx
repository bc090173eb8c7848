import { useEffect, useRef } from "preact/hooks";

import type { Answer, Answers, Categories, Found } from "../data/answers.ts";
import { readSearch, searchAddress } from "../data/search.ts";
import type { SearchQuery } from "../data/search.ts";
import { useNow } from "../parts/browser.ts";
import { Notice } from "../parts/notice.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { counted, price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";
import { duration } from "../words/times.ts";
import { SearchBox, SearchFilters } from "./search-form.tsx";
import { useSearch } from "./search-live.ts";
import type { Pause } from "./search-live.ts";

const OK = 200;
const BAD_REQUEST = 400;
const TOO_MANY = 429;
const TITLE_LENGTH = 100;
const EXCERPT_LENGTH = 200;
const DIGITS = 2;
const SECOND_MS = 1_000;
const EXAMPLES = ["find the risks in a token's contract", "translate a contract into German", "check an invoice"];

/** What discover finds for a sentence, with why, and filters that stay in the address. */
export function SearchPage({ address, answers }: { address: string; answers: Answers }) {
  const start = readSearch(new URLSearchParams(address.split("?")[1]));
  const categories = answers["categories"]?.status === OK ? (answers["categories"].body as Categories).categories : [];
  const { query, answer, isAsking, isShort, pause, change } = useSearch(start, answers["found"]);
  const form = useRef<HTMLFormElement>(null);
  const changed = (how: Parameters<typeof change>[1]) => {
    if (form.current !== null) change(readForm(form.current), how);
  };
  // Before the page came alive, someone may have typed.
  useEffect(() => {
    if (form.current !== null && searchAddress(readForm(form.current)) !== searchAddress(start)) changed("typed");
  }, []);
  return (
    <>
      <form
        class="search"
        action="/search"
        method="get"
        role="search"
        ref={form}
        onInput={({ target }) => {
          changed((target as HTMLInputElement).name === "q" ? "typed" : "set");
        }}
        onSubmit={(event) => {
          event.preventDefault();
          changed("sent");
        }}
      >
        <h1>Search</h1>
        <SearchBox query={start.q} />
        <SearchFilters start={start} categories={categories} />
      </form>
      <section aria-label="Results" aria-busy={isAsking}>
        <p class="aside" role="status">
          {isShort ? "Type at least three characters." : isAsking ? "Searching…" : summaryOf(answer)}
        </p>
        {pause !== undefined && <Paused pause={pause} />}
        <Results query={query} answer={answer} isPaused={pause !== undefined} />
      </section>
    </>
  );
}

function readForm(form: HTMLFormElement): SearchQuery {
  const fields = [...new FormData(form)].filter((field): field is [string, string] => typeof field[1] === "string");
  return readSearch(new URLSearchParams(fields));
}

function resultsOf(answer: Answer | undefined): readonly Found[] | undefined {
  return answer?.status === OK ? (answer.body as readonly Found[]) : undefined;
}

function summaryOf(answer: Answer | undefined): string {
  const found = resultsOf(answer);
  return found === undefined || found.length === 0 ? "" : `${counted(found.length, "service")}, best first`;
}

function Paused({ pause: { until, why } }: { pause: Pause }) {
  const now = useNow(SECOND_MS);
  const left = now === undefined ? undefined : Math.max(1, Math.ceil((until - now) / SECOND_MS));
  const when = left === undefined ? "soon" : `in ${duration(left)}`;
  return (
    <Notice tone="care">
      {why === "limit"
        ? "Your address has searched more often than this service answers."
        : "The search doesn't answer at the moment."}{" "}
      It goes on {when}, by itself.
    </Notice>
  );
}

function Results({ query, answer, isPaused }: { query: SearchQuery; answer: Answer | undefined; isPaused: boolean }) {
  if (answer === undefined) return <Start />;
  if (answer.status === BAD_REQUEST) return <Notice tone="care">This can't be searched. {faultOf(answer)}</Notice>;
  const found = resultsOf(answer);
  if (found === undefined) return isPaused ? null : <Later answer={answer} />;
  if (found.length === 0) return <Nothing query={query} />;
  return (
    <ol class="results panel">
      {found.map((one) => (
        <Result key={one.serviceId} found={one} />
      ))}
    </ol>
  );
}

/** What the API says of a query that it doesn't take: in its own words. */
function faultOf({ body }: Answer): string {
  const { details } = body as { details?: readonly { path?: string; message?: string }[] };
  return Array.isArray(details) ? details.map(({ path, message }) => `${path}: ${message}.`).join(" ") : "";
}

/** For a reader without JavaScript; otherwise the page goes on by itself. */
function Later({ answer: { status, retryAfterSeconds } }: { answer: Answer }) {
  const when = retryAfterSeconds === undefined ? "in a minute" : `in ${duration(retryAfterSeconds)}`;
  return (
    <Notice tone="care">
      {status === TOO_MANY
        ? "Your address has searched more often than this service answers."
        : "The search doesn't answer at the moment."}{" "}
      Reload the page {when}.
    </Notice>
  );
}

function Start() {
  return (
    <Notice>
      Say what you need in a sentence, in any of sixteen languages: services are found by meaning, not only by words.
      For example:{" "}
      {EXAMPLES.map((q, at) => (
        <>
          {at > 0 && ", "}
          <a href={`/search?${new URLSearchParams({ q }).toString()}`}>{q}</a>
        </>
      ))}
      .
    </Notice>
  );
}

function Nothing({ query }: { query: SearchQuery }) {
  const withoutFilters = searchAddress({ q: query.q, network: "", category: "", maxPrice: "", minScore: "" });
  return (
    <Notice>
      Nothing on offer answers this. Say in a whole sentence what goes in and what should come out
      {withoutFilters !== searchAddress(query) && (
        <>
          , or <a href={withoutFilters}>search without filters</a>
        </>
      )}
      . If you can do it yourself, <a href="/guides/listings">list it</a>: nobody else does yet.
    </Notice>
  );
}

function Result({ found }: { found: Found }) {
  const { meaning, words, trust, reasons } = found.explanation;
  return (
    <li>
      <div class="what">
        <a href={`/listings/${found.serviceId}`}>
          <StrangersText text={found.title} max={TITLE_LENGTH} />
        </a>
        <p>
          <StrangersText text={found.description} max={EXCERPT_LENGTH} />
        </p>
        <p class="aside">
          {categoryName(found.category)} · {networkName(found.network)} · trust {found.discoveryScore.toFixed(DIGITS)}
        </p>
      </div>
      <div class="why">
        <dl>
          <Part name="Meaning" share={meaning} shown={meaning.toFixed(DIGITS)} />
          <Part name="Words" share={words} shown={`+${words.toFixed(DIGITS)}`} />
          <Part name="Trust" share={trust - 1} shown={`+${Math.round((trust - 1) * 100)}%`} />
        </dl>
        <details>
          <summary>Why here</summary>
          <ul>
            {reasons.map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ul>
        </details>
      </div>
      <p class="price">
        {price(found.price, found.currency)}
        <span class="aside">{unitName(found.priceUnit)}</span>
      </p>
    </li>
  );
}

/** A part of a score, with a bar. @param share 0 to 1 */
function Part({ name, share, shown }: { name: string; share: number; shown: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <svg class="bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
          <rect class="rest" width="100" height="4" />
          <rect width={Math.round(Math.min(1, share) * 100)} height="4" />
        </svg>
        {shown}
      </dd>
    </div>
  );
}
