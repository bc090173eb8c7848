import type { Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { dealsAddress, KEYS_ADDRESS, NO_FILTERS } from "../data/owner-place.ts";
import { Figure } from "../parts/figure.tsx";
import { Wallet } from "../parts/hash.tsx";
import { Notice } from "../parts/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { useNow } from "../parts/browser.ts";
import { count } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import { moment } from "../words/times.ts";
import { Bar } from "./bar.tsx";
import { CreditPanel } from "./credit-panel.tsx";
import { DealLink, OwnLink } from "./deal-link.tsx";
import { knownToken, stateWords } from "./deal-words.ts";
import { readHome } from "./home-data.ts";
import type { HomeData } from "./home-data.ts";
import type { KnownKeys } from "./keys-data.ts";
import { Left } from "./left.tsx";
import { Freshness, useLive } from "./live.tsx";
import { MandateBars } from "./mandate-bars.tsx";
import { isSame, moneyOf, needsOf } from "./needs.ts";
import type { Need } from "./needs.ts";

const TITLE_LENGTH = 80;
const EACH_SECOND_MS = 1_000;
const DEALS_SHOWN = 12;
const MANDATES_SHOWN = 5;
const FULL = 100;

/** Home: what needs the owner now, the agent's money, and what is left of mandates and of the day's calls. */
export function HomePage({
  session,
  keys,
  onEnded,
  onSignOut,
}: {
  session: KeptSession;
  /** The keys, if the wallet has had them shown since the sign-in. */
  keys: KnownKeys | undefined;
  onEnded: () => void;
  onSignOut: () => void;
}) {
  const live = useLive<HomeData>(session, (known) => readHome(session, known), onEnded);
  const { data } = live;
  return (
    <>
      <div class="heading">
        <div class="title">
          <p class="aside">
            Your agent <Wallet address={session.walletAddress} what="your wallet's address" />
            {!session.scopes.includes("buy") && <span class="mark">see only</span>}
          </p>
          <h1>{data === undefined ? "Home" : <StrangersText text={data.usage.agentName} max={TITLE_LENGTH} />}</h1>
        </div>
        <button type="button" class="quiet" onClick={onSignOut}>
          Sign out
        </button>
      </div>
      <Freshness of={live} what="Reading what belongs to your agent…" />
      {data !== undefined && <Facts data={data} keys={keys} session={session} onEnded={onEnded} />}
    </>
  );
}

function Facts({
  data,
  keys,
  session,
  onEnded,
}: {
  data: HomeData;
  keys: KnownKeys | undefined;
  session: KeptSession;
  onEnded: () => void;
}) {
  const wallet = session.walletAddress;
  const now = useNow(EACH_SECOND_MS) ?? data.readAt;
  const needs = needsOf(data, wallet, now);
  return (
    <div class="beside">
      <div>
        <section aria-labelledby="needs">
          <h2 id="needs">What needs you now</h2>
          {needs.length === 0 ? <NothingToDo hasDeals={data.deals.length > 0} /> : <Needs needs={needs} now={now} />}
        </section>
        <Deals deals={data.deals} decimals={data.decimals} wallet={wallet} />
      </div>
      <div>
        <MoneyPanel data={data} wallet={wallet} />
        <CreditPanel session={session} onEnded={onEnded} />
        <Mandates keys={keys} />
        <Budgets usage={data.usage} />
      </div>
    </div>
  );
}

function NothingToDo({ hasDeals }: { hasDeals: boolean }) {
  if (hasDeals) return <Notice>Nothing. This page says so when that changes.</Notice>;
  return (
    <Notice>
      Nothing yet: your agent has no deals. <a href="/search">Find a service to hire</a>, or{" "}
      <a href="/guides/listings">offer one</a>. <a href="/guides/first-agent">Your first agent</a> shows both.
    </Notice>
  );
}

function Needs({ needs, now }: { needs: readonly Need[]; now: number }) {
  return (
    <ul class="next">
      {needs.map(({ key, todo, about, otherwise, until, page, command }) => (
        <li key={key} class="panel now">
          <p>
            <strong>{page === null ? todo : <PageLink to={page} words={todo} />}</strong>
            {about !== null && (
              <>
                {": "}
                <StrangersText text={about} max={TITLE_LENGTH} />
              </>
            )}
          </p>
          {until !== null && <Left until={until} now={now} />}
          <p class="aside">{otherwise}</p>
          {command !== null && <Snippet title="With the command line" lines={[command]} />}
        </li>
      ))}
    </ul>
  );
}

/** A link, which loads no page of the owner's again. */
function PageLink({ to, words }: { to: string; words: string }) {
  return to.startsWith("/me/") ? <OwnLink to={to}>{words}</OwnLink> : <a href={to}>{words}</a>;
}

function Deals({
  deals,
  decimals,
  wallet,
}: {
  deals: readonly Transaction[];
  decimals: HomeData["decimals"];
  wallet: string;
}) {
  if (deals.length === 0) return null;
  const newest = deals.toSorted((left, right) => right.createdAt.localeCompare(left.createdAt)).slice(0, DEALS_SHOWN);
  return (
    <section aria-labelledby="deals">
      <h2 id="deals">Newest deals</h2>
      <table class="listings">
        <caption class="unseen">Your agent's newest deals</caption>
        <thead>
          <tr>
            <th scope="col">Deal</th>
            <th scope="col" class="number">
              Amount
            </th>
            <th scope="col" class="number">
              State
            </th>
          </tr>
        </thead>
        <tbody>
          {newest.map((deal) => (
            <tr key={deal.transactionId}>
              <td>
                <DealLink deal={deal} />
                <span class="aside">
                  {isSame(deal.sellerAddress, wallet) ? "you sell" : "you buy"} · {networkName(deal.network)} ·{" "}
                  <Time at={deal.createdAt} />
                </span>
              </td>
              <td class="number">{knownToken(deal.amount, deal.currency, decimals)}</td>
              <td class="number">
                <State words={stateWords(deal.status)} name={deal.status} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="more">
        <OwnLink to={dealsAddress(NO_FILTERS)}>All deals</OwnLink>
      </p>
    </section>
  );
}

function MoneyPanel({ data: { deals, decimals, isShortened }, wallet }: { data: HomeData; wallet: string }) {
  const money = moneyOf(deals, wallet);
  return (
    <section class="panel" aria-labelledby="money">
      <h2 id="money">Money</h2>
      {money.length === 0 && <p class="aside">What is in escrow, earned and spent is here from the first deal on.</p>}
      {money.map(({ symbol, deposited, expected, earned, spent }) => (
        <dl class="figures money" key={symbol}>
          <Figure name="Your deposits in escrow">{knownToken(deposited, symbol, decimals)}</Figure>
          <Figure name="In escrow for you">{knownToken(expected, symbol, decimals)}</Figure>
          <Figure name="Earned">{knownToken(earned, symbol, decimals)}</Figure>
          <Figure name="Spent">{knownToken(spent, symbol, decimals)}</Figure>
        </dl>
      ))}
      {isShortened && <p class="aside">Earned and spent count your newest {FULL} deals.</p>}
    </section>
  );
}

/** What keys with a mandate have spent of it. Only the wallet has the keys shown, so this is as of then. */
function Mandates({ keys }: { keys: KnownKeys | undefined }) {
  const mandated = (keys?.keys ?? []).flatMap(({ id, mandate }) => (mandate === null ? [] : [{ id, mandate }]));
  return (
    <section class="panel" aria-labelledby="mandates">
      <h2 id="mandates">
        Mandates{" "}
        {keys !== undefined && (
          <span class="aside">
            as of <Time at={keys.readAt} />
          </span>
        )}
      </h2>
      {keys === undefined && (
        <p>
          <OwnLink to={KEYS_ADDRESS}>Show what your keys may spend</OwnLink>
          <span class="aside"> Your wallet signs for that.</span>
        </p>
      )}
      {keys !== undefined && mandated.length === 0 && <p class="aside">No key has one.</p>}
      {mandated.slice(0, MANDATES_SHOWN).map(({ id, mandate }) => (
        <div key={id}>
          <p class="aside">
            <code title={id}>{shortHash(id)}</code> {mandate.closed && <span class="mark">closed</span>}
          </p>
          <MandateBars of={mandate} />
        </div>
      ))}
      {keys !== undefined && (
        <p class="more">
          <OwnLink to={KEYS_ADDRESS}>Keys and mandates</OwnLink>
        </p>
      )}
    </section>
  );
}

const BUDGETS = [
  ["api", "Reading and writing"],
  ["search", "Searches"],
  ["transaction", "Deals"],
  ["message", "Messages"],
] as const;

function Budgets({ usage: { budgets, tier, prepaid } }: { usage: HomeData["usage"] }) {
  return (
    <section class="panel" aria-labelledby="budgets">
      <h2 id="budgets">
        Calls today <span class="aside">tier {tier}</span>
      </h2>
      <dl class="bars">
        {BUDGETS.map(([name, words]) => {
          const { used, limit, resetsAt } = budgets[name];
          const left = prepaid[name];
          return (
            <div key={name}>
              <dt>{words}</dt>
              <dd title={`Begins again at ${moment(Date.parse(resetsAt))}`}>
                {count(used)} of {count(limit)}
                {left > 0 && `, and ${count(left)} prepaid`}
              </dd>
              <Bar share={limit === 0 ? 1 : used / limit} />
            </div>
          );
        })}
      </dl>
    </section>
  );
}
