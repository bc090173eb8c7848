import { loaded, NETWORKS } from "../data/answers.ts";
import type { Answers, DisputePage, EndedDispute } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { ViewLink } from "../parts/live.tsx";
import { Absent, Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { count, percent, usd } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import { METHODS, OUTCOMES, RULING_DOCUMENTS } from "../words/states.ts";
import { duration } from "../words/times.ts";

/** The disputes that have ended, and how they end. @param network undefined for both */
export function DisputesPage({ answers, network }: { answers: Answers; network: string | undefined }) {
  const page = loaded<readonly EndedDispute[]>(answers["disputes"]);
  const body = answers["disputes"]?.body as DisputePage | undefined;
  return (
    <>
      <div class="title">
        <h1>Disputes</h1>
        <p class="lead">
          A buyer may dispute a delivery within the deal's window. A ruling by the criteria, or an agreement of both
          parties, then divides the deposit. The hash of each ruling's document is on chain.
        </p>
      </div>
      {page.kind === "there" && body !== undefined ? (
        <>
          {body.statistics !== null && <Statistics statistics={body.statistics} />}
          <section aria-labelledby="ended">
            <div class="heading">
              <h2 id="ended">Disputes that have ended</h2>
              <nav class="switch" aria-label="Network of the disputes">
                <ViewLink to="/disputes" isCurrent={network === undefined}>
                  Both
                </ViewLink>
                {NETWORKS.map((one) => (
                  <ViewLink key={one} to={`/disputes?network=${one}`} isCurrent={one === network}>
                    {networkName(one)}
                  </ViewLink>
                ))}
              </nav>
            </div>
            {page.data.length === 0 ? (
              <Notice>
                No dispute has ended here. <a href="/guides/disputes">How one is decided</a>
              </Notice>
            ) : (
              <DisputeTable disputes={page.data} />
            )}
            {body.nextCursor !== null && (
              <p class="more">
                <a href={olderAddress(network, body.nextCursor)}>Older disputes</a>
              </p>
            )}
          </section>
        </>
      ) : (
        <Absent of={page} what="The disputes" />
      )}
    </>
  );
}

function olderAddress(network: string | undefined, cursor: string): string {
  return `/disputes?${network === undefined ? "" : `network=${network}&`}cursor=${cursor}`;
}

function Statistics({ statistics }: { statistics: NonNullable<DisputePage["statistics"]> }) {
  const { ended, outcomes, methods, medianSeconds } = statistics;
  const figures: [name: string, value: string, exact: string][] = [
    ["Ended", count(ended), "Disputes that ended in the last 30 days"],
    ...(
      [
        ["For the buyer", outcomes.buyer],
        ["For the seller", outcomes.seller],
        ["Divided", outcomes.split],
      ] as const
    ).map(([name, value]): [string, string, string] => [
      name,
      percent(value / ended),
      `${count(value)} of ${count(ended)}`,
    ]),
    ["Median time", duration(medianSeconds), "From the dispute to its end"],
  ];
  return (
    <section class="panel" aria-labelledby="statistics">
      <h2 id="statistics">
        How they ended<span class="aside">last 30 days</span>
      </h2>
      <dl class="figures">
        {figures.map(([name, value, exact]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={exact}>{value}</dd>
          </div>
        ))}
      </dl>
      <p class="aside">
        {count(methods.ruling)} by a ruling of the service, {count(methods.admin)} by a ruling of its operator,{" "}
        {count(methods.agreement)} by an agreement, {count(methods.timeout)} because no ruling came in time.
      </p>
    </section>
  );
}

function DisputeTable({ disputes }: { disputes: readonly EndedDispute[] }) {
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label="Table of disputes">
      <table class="roomy">
        <caption class="unseen">Disputes that have ended, newest first</caption>
        <thead>
          <tr>
            <th scope="col">Dispute</th>
            <th scope="col">Ended</th>
            <th scope="col" class="number">
              Value
            </th>
            <th scope="col">Document of the ruling</th>
            <th scope="col" class="number">
              When
            </th>
          </tr>
        </thead>
        <tbody>
          {disputes.map((dispute) => (
            <DisputeRow key={`${dispute.network} ${dispute.escrowId}`} dispute={dispute} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

const MS = 1_000;
const ALL = 100;

function DisputeRow({ dispute }: { dispute: EndedDispute }) {
  const { escrowId, network, outcome, buyerPercent, resolutionMethod, resolvedBy, document, rationaleHash } = dispute;
  const value = usd(dispute.valueUsd);
  const took = (Date.parse(dispute.settledAt) - Date.parse(dispute.disputedAt)) / MS;
  const method = resolutionMethod === null ? "" : (METHODS[resolutionMethod] ?? resolutionMethod);
  return (
    <tr>
      <th scope="row">
        <a href={`/deals/${escrowId}?network=${network}`}>
          <code title={escrowId}>{shortHash(escrowId)}</code>
        </a>
        <span class="aside">{networkName(network)}</span>
      </th>
      <td>
        {OUTCOMES[outcome] ?? outcome}
        <span class="aside">
          {method}
          {resolvedBy === "admin" && resolutionMethod === "ruling" && " of the operator"}
          {outcome === "Split" && `: ${buyerPercent} % to the buyer, ${ALL - buyerPercent} % to the seller`}
        </span>
      </td>
      <td class="number" title={value.exact}>
        {value.shown}
      </td>
      <td>
        {document === null || rationaleHash === null ? (
          <span class="aside">none: not a ruling</span>
        ) : (
          <>
            <State words={RULING_DOCUMENTS[document]} name={document} />{" "}
            <Hash value={rationaleHash} what="the hash of the ruling's document" />
          </>
        )}
      </td>
      <td class="number wraps">
        <Time at={dispute.settledAt} />
        <span class="aside">after {duration(took)}</span>
      </td>
    </tr>
  );
}
