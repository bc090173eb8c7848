import type { Figures, Loaded, MarketFigures } from "../data/answers.ts";
import { WINDOWS } from "../data/windows.ts";
import { Figure } from "../parts/figure.tsx";
import { ViewLink } from "../parts/live.tsx";
import { Absent, Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { count, counted, percent, usd } from "../words/amounts.ts";
import { categoryName, networkName } from "../words/names.ts";
import { duration } from "../words/times.ts";

type NetworkFigures = MarketFigures["networks"][number];

/** Volume, deals, disputes, prices and times by network and category, over one window. */
export function FiguresSection({ figures, window }: { figures: Loaded<MarketFigures>; window: string }) {
  return (
    <section aria-labelledby="figures">
      <div class="heading">
        <h2 id="figures">The market in figures</h2>
        <nav class="switch" aria-label="Window of the figures">
          {WINDOWS.map(({ id, name }) => (
            <ViewLink key={id} to={id === "7d" ? "/" : `/?window=${id}`} isCurrent={id === window}>
              {name}
            </ViewLink>
          ))}
        </nav>
      </div>
      {figures.kind === "there" ? <Networks figures={figures.data} /> : <Absent of={figures} what="The figures" />}
    </section>
  );
}

function Networks({ figures: { networks } }: { figures: MarketFigures }) {
  if (networks.length === 0)
    return <Notice>The figures are being computed for the first time. They take a minute.</Notice>;
  return (
    <>
      <div class="cards">
        {networks.map((one) => (
          <NetworkCard key={one.network} figures={one} />
        ))}
      </div>
      {networks.some(({ total }) => total.deals > 0) ? (
        <CategoryTable networks={networks} />
      ) : (
        <Notice>
          No deal counts in this time. <a href="/guides/tour">Make the first one</a>: the tour takes ten minutes.
        </Notice>
      )}
    </>
  );
}

function NetworkCard({ figures: { network, total, computedAt, indexedBlock } }: { figures: NetworkFigures }) {
  const left = total.excluded;
  return (
    <article class="panel" aria-label={networkName(network)}>
      <h3>
        {networkName(network)}
        <span class="aside">{network === "base" ? "main network" : "test network"}</span>
      </h3>
      <dl class="figures">
        <Figure name="Volume">
          <Usd amount={total.volumeUsd} />
        </Figure>
        <Figure name="Deals">{count(total.deals)}</Figure>
        <Figure name="Disputed">{total.disputeRate === null ? "–" : percent(total.disputeRate)}</Figure>
        <Figure name="Median price">
          <Usd amount={total.medianUnitPriceUsd} />
        </Figure>
        <Figure name="Median delivery">
          {total.medianSecondsToDeliver === null ? "–" : duration(total.medianSecondsToDeliver)}
        </Figure>
      </dl>
      <p class="aside">
        Up to block {count(indexedBlock)}, <Time at={computedAt} />.{" "}
        {left.deals > 0 &&
          `Left out, because their parties trade mostly with each other: ${counted(left.deals, "deal")} of ${usd(left.volumeUsd).shown}.`}
      </p>
    </article>
  );
}

function Usd({ amount }: { amount: string | null }) {
  if (amount === null) return <span title="Too few deals to say">–</span>;
  const { shown, exact } = usd(amount);
  return <span title={exact}>{shown}</span>;
}

function CategoryTable({ networks }: { networks: readonly NetworkFigures[] }) {
  const rows = networks.flatMap(({ network, categories }) => categories.map((one) => ({ network, ...one })));
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Figures by category">
      <table>
        <caption class="unseen">Figures by category and network</caption>
        <thead>
          <tr>
            <th scope="col">Category</th>
            <th scope="col">Network</th>
            <th scope="col" class="number">
              Volume
            </th>
            <th scope="col" class="number">
              Deals
            </th>
            <th scope="col" class="number">
              Disputed
            </th>
            <th scope="col" class="number">
              Median price
            </th>
            <th scope="col" class="number">
              Median delivery
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <CategoryRow key={`${row.network} ${row.category ?? ""}`} row={row} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function CategoryRow({ row }: { row: Figures & { network: string; category: string | null } }) {
  return (
    <tr>
      <th scope="row">{row.category === null ? "without a checkout" : categoryName(row.category)}</th>
      <td>{networkName(row.network)}</td>
      <td class="number">
        <Usd amount={row.volumeUsd} />
      </td>
      <td class="number">{count(row.deals)}</td>
      <td class="number">{row.disputeRate === null ? "–" : percent(row.disputeRate)}</td>
      <td class="number">
        <Usd amount={row.medianUnitPriceUsd} />
      </td>
      <td class="number">{row.medianSecondsToDeliver === null ? "–" : duration(row.medianSecondsToDeliver)}</td>
    </tr>
  );
}
