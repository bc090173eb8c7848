import { useEffect, useRef, useState } from "preact/hooks";

import type { Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { Figure } from "../parts/figure.tsx";
import { Wallet } from "../parts/hash.tsx";
import { Notice } from "../parts/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { useNow } from "../parts/browser.ts";
import { count, token } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { DEAL_STATES } from "../words/states.ts";
import type { StateWords } from "../words/states.ts";
import { duration, moment } from "../words/times.ts";
import { Bar } from "./bar.tsx";
import { readHome } from "./home-data.ts";
import type { HomeData } from "./home-data.ts";
import { isSame, moneyOf, needsOf } from "./needs.ts";
import type { Need } from "./needs.ts";
import { followNews } from "./news.ts";

const TITLE_LENGTH = 80;
/** News come in groups: one move makes several events. */
const GATHER_MS = 1_000;
/** Without news, what is shown again after a while in the background is read again. */
const OLD_MS = 60_000;
const EACH_SECOND_MS = 1_000;
const DEALS_SHOWN = 12;
const FULL = 100;

/** What Home has read, and whether the last reading failed. */
interface Shown {
  data: HomeData | undefined;
  hasFailed: boolean;
}

/** Home: what needs the owner now, the agent's money, and what is left of the day's calls. */
export function HomePage({
  session,
  onEnded,
  onSignOut,
}: {
  session: KeptSession;
  onEnded: () => void;
  onSignOut: () => void;
}) {
  const { data, hasFailed } = useHome(session, onEnded);
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
      {hasFailed && (
        <Notice tone="care">
          {data === undefined ? (
            "The service doesn't answer. This page tries again every minute."
          ) : (
            <>
              The service doesn't answer. What you see is from <Time at={data.readAt} />.
            </>
          )}
        </Notice>
      )}
      {data === undefined ? (
        !hasFailed && <p class="aside">Reading what belongs to your agent…</p>
      ) : (
        <Facts data={data} wallet={session.walletAddress} />
      )}
    </>
  );
}

/** Reads Home: at first, upon news, and when it is looked at again. An idle Home asks nothing: it listens. */
function useHome(session: KeptSession, onEnded: () => void): Shown {
  const [shown, setShown] = useState<Shown>({ data: undefined, hasFailed: false });
  const known = useRef<HomeData | undefined>(undefined);

  useEffect(() => {
    let isOver = false;
    let isReading = false;
    /** How often news came, and how many of them had come when the last reading began. */
    let due = 0;
    let seen = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;

    const read = async () => {
      if (isReading) {
        due += 1;
        return;
      }
      isReading = true;
      seen = due;
      const reading = await readHome(session, known.current);
      isReading = false;
      if (isOver) return;
      if (reading.kind === "ended") {
        onEnded();
        return;
      }
      if (reading.kind === "there") {
        known.current = reading.data;
        setShown({ data: reading.data, hasFailed: false });
        if (due > seen) soon(GATHER_MS);
      } else {
        setShown({ data: known.current, hasFailed: true });
        soon(OLD_MS);
      }
    };
    const soon = (ms: number) => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (document.visibilityState === "visible") void read();
        else due += 1;
      }, ms);
    };
    const look = () => {
      const isOld = Date.now() - (known.current?.readAt ?? 0) > OLD_MS;
      if (document.visibilityState === "visible" && (due > seen || isOld)) void read();
    };

    void read();
    const stop = followNews(session, {
      onNews: () => {
        soon(GATHER_MS);
      },
      onEnded: () => {
        if (!isOver) onEnded();
      },
    });
    document.addEventListener("visibilitychange", look);
    return () => {
      isOver = true;
      clearTimeout(timer);
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [session.token]);

  return shown;
}

function Facts({ data, wallet }: { data: HomeData; wallet: string }) {
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
            <strong>{page === null ? todo : <a href={page}>{todo}</a>}</strong>
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

function Left({ until, now }: { until: string; now: number }) {
  const at = Date.parse(until);
  return (
    <p class="countdown">
      <time datetime={until}>until {moment(at)}</time>
      <strong>{duration((at - now) / EACH_SECOND_MS)} left</strong>
    </p>
  );
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
                <DealName deal={deal} />
                <span class="aside">
                  {isSame(deal.sellerAddress, wallet) ? "you sell" : "you buy"} · {networkName(deal.network)} ·{" "}
                  <Time at={deal.createdAt} />
                </span>
              </td>
              <td class="number">{amount(deal.amount, deal.currency, decimals)}</td>
              <td class="number">
                <State words={DEAL_STATES[deal.status] ?? OFF_CHAIN[deal.status]} name={deal.status} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** States of deals that no chain knows. */
const OFF_CHAIN: Readonly<Record<string, StateWords>> = {
  pending_funding: {
    name: "Not paid yet",
    meaning: "The buyer has checked out and may pay the deposit.",
    tone: "care",
  },
  expired: { name: "Expired", meaning: "The buyer didn't pay in time. Nothing is owed.", tone: "plain" },
};

function DealName({ deal: { serviceTitle, escrowId, network, status } }: { deal: Transaction }) {
  const name =
    serviceTitle === null ? "A deal without a listing" : <StrangersText text={serviceTitle} max={TITLE_LENGTH} />;
  return status in OFF_CHAIN ? (
    <span class="name">{name}</span>
  ) : (
    <a href={`/deals/${escrowId}?network=${network}`}>{name}</a>
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
          <Figure name="Your deposits in escrow">{amount(deposited.toString(), symbol, decimals)}</Figure>
          <Figure name="In escrow for you">{amount(expected.toString(), symbol, decimals)}</Figure>
          <Figure name="Earned">{amount(earned.toString(), symbol, decimals)}</Figure>
          <Figure name="Spent">{amount(spent.toString(), symbol, decimals)}</Figure>
        </dl>
      ))}
      {isShortened && <p class="aside">Earned and spent count your newest {FULL} deals.</p>}
    </section>
  );
}

function amount(units: string, symbol: string, decimals: HomeData["decimals"]): string {
  const known = decimals.get(symbol);
  return known === undefined ? `${units} units of ${symbol}` : token(units, known, symbol);
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
