import { loaded, NETWORKS } from "../data/answers.ts";
import type { Agent, Answers, ChainRecord, Network } from "../data/answers.ts";
import { Figure } from "../parts/figure.tsx";
import { Hash } from "../parts/hash.tsx";
import { Absent, Notice } from "../parts/notice.tsx";
import { ScoreLine } from "../parts/score-line.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { count, percent, usd } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import { SCORE_OUTCOMES } from "../words/states.ts";
import { ListingTable } from "./listing-table.tsx";
import { ProblemPage } from "./problem.tsx";

const NOT_FOUND = 404;
/** Changes in the table; the lines above it have more. */
const CHANGES = 20;

/** One wallet: its scores over time, how its deals ended, with whom it deals, and what it sells. */
export function AgentPage({ answers }: { answers: Answers }) {
  const found = loaded<Agent>(answers["agent"]);
  if (found.kind === "missing") return <ProblemPage status={NOT_FOUND} />;
  if (found.kind !== "there") return <Absent of={found} what="The agent" />;
  const { walletAddress, seller, networks, listings } = found.data;
  return (
    <>
      <div class="title">
        <p class="aside">Agent</p>
        <h1>{seller === null ? shortHash(walletAddress) : <StrangersText text={seller.name} />}</h1>
        <p class="under">
          <Hash value={walletAddress} what="the wallet" />
          {seller !== null && <Hash value={seller.agentId} what="the agent's id" />}
        </p>
        {seller?.description != null && (
          <p class="text under">
            <StrangersText text={seller.description} />
          </p>
        )}
        {seller === null && (
          <p class="under aside">This wallet offers nothing at the moment, so only the chains' facts are shown.</p>
        )}
      </div>
      <div class="cards apart">
        {NETWORKS.map((network) => (
          <RecordCard key={network} network={network} record={networks[network]} />
        ))}
      </div>
      <Changes networks={networks} />
      {seller !== null && (
        <section aria-labelledby="offers">
          <h2 id="offers">What it offers</h2>
          <ListingTable listings={listings} label="What it offers" />
        </section>
      )}
    </>
  );
}

function RecordCard({ network, record }: { network: Network; record: ChainRecord | null }) {
  const name = networkName(network);
  return (
    <article class="panel" aria-label={name}>
      <h2>
        {name}
        <span class="aside">{network === "base" ? "main network" : "test network"}</span>
      </h2>
      {record === null ? (
        <Notice tone="care">{name} can't be read at the moment. Reload the page in a minute.</Notice>
      ) : (
        <Record record={record} />
      )}
    </article>
  );
}

function Record({ record }: { record: ChainRecord }) {
  const { escrows, outcomes } = record;
  if (escrows.asBuyer + escrows.asSeller === 0) {
    return <Notice>No deal yet: its score is {count(record.score)}.</Notice>;
  }
  const volume = usd(record.settledVolumeUsd);
  const median = record.medianDealUsd === null ? undefined : usd(record.medianDealUsd);
  return (
    <>
      <dl class="figures">
        <Figure name="Score">{count(record.score)}</Figure>
        <Figure name="Earned">
          <span title={volume.exact}>{volume.shown}</span>
        </Figure>
        <Figure name="Deals settled">{count(outcomes.settled)}</Figure>
        <Figure name="Median deal">
          {median === undefined ? (
            <span title="No deal has been released">–</span>
          ) : (
            <span title={median.exact}>{median.shown}</span>
          )}
        </Figure>
      </dl>
      <ScoreLine changes={record.scoreHistory} />
      <dl class="facts">
        <dt>Escrows</dt>
        <dd>
          {count(escrows.asSeller)} as seller, {count(escrows.asBuyer)} as buyer
        </dd>
        <dt>As seller</dt>
        <dd>
          {count(outcomes.released)} paid, {count(outcomes.declined)} declined
          {outcomes.lateDeclines > 0 && ` (${count(outcomes.lateDeclines)} too late)`}, {count(outcomes.abandoned)}{" "}
          never delivered
        </dd>
        <dt>Disputes</dt>
        <dd>
          {count(outcomes.disputesWon)} won, {count(outcomes.disputesLost)} lost, {count(outcomes.disputesSplit)}{" "}
          divided
        </dd>
        <dt>Counterparties</dt>
        <dd>
          {count(record.distinctCounterparties)}
          {outcomes.settled > 0 && `; the most frequent one has ${percent(record.topCounterpartyShare)} of its deals`}
        </dd>
      </dl>
      <p class="aside">Up to block {count(record.indexedBlock)}.</p>
    </>
  );
}

function Changes({ networks }: { networks: Agent["networks"] }) {
  const rows = NETWORKS.flatMap((network) =>
    (networks[network]?.scoreHistory ?? []).map((change) => ({ network, ...change })),
  )
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, CHANGES);
  if (rows.length === 0) return null;
  return (
    <section aria-labelledby="changes">
      <h2 id="changes">What changed its score</h2>
      <div class="scrolls" tabIndex={0} role="region" aria-label="Changes of the score">
        <table>
          <caption class="unseen">Changes of the score, newest first</caption>
          <thead>
            <tr>
              <th scope="col">What happened</th>
              <th scope="col" class="number">
                Change
              </th>
              <th scope="col" class="number">
                Score
              </th>
              <th scope="col" class="number">
                When
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ network, escrowId, outcome, delta, score, at, blockNumber }) => (
              <tr key={`${network} ${escrowId}`}>
                <th scope="row">
                  <a href={`/deals/${escrowId}?network=${network}`}>{SCORE_OUTCOMES[outcome] ?? outcome}</a>
                  <span class="aside">
                    <code title={escrowId}>{shortHash(escrowId)}</code> on {networkName(network)}
                  </span>
                </th>
                <td class={`number ${delta < 0 ? "loss" : "gain"}`}>{signed(delta)}</td>
                <td class="number">{count(score)}</td>
                <td class="number wraps">
                  <Time at={at} />
                  <span class="aside">block {count(blockNumber)}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function signed(delta: number): string {
  return delta < 0 ? `−${count(-delta)}` : `+${count(delta)}`;
}
