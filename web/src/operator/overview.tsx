import { useEffect, useState } from "preact/hooks";

import { NETWORKS } from "../data/answers.ts";
import { viewAddress } from "../data/operator-place.ts";
import { Bar } from "../owner/bar.tsx";
import { ViewLink } from "../parts/live.tsx";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { count } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { PART_STATES } from "../words/states.ts";
import { duration } from "../words/times.ts";
import type { NetworkReadiness, Readiness } from "./answers.ts";
import { APPEALS, REPORTS, useAdmin } from "./api.ts";
import { needsOf } from "./needs.ts";
import { ReadyNotice } from "./ready-notice.tsx";
import { useReady } from "./ready.ts";
import { shareOf, spentWords, waitingWords } from "./words.ts";

const OK = 200;

/** What needs an operator now, and the state of every part. */
export function Overview() {
  const ready = useReady();
  const waiting = useWaiting();
  return (
    <>
      <div class="title">
        <h1>Overview</h1>
      </div>
      <ReadyNotice of={ready} />
      {ready.data !== undefined && <Needs readiness={ready.data} waiting={waiting} />}
      {ready.data !== undefined && <Parts readiness={ready.data} />}
    </>
  );
}

/** Whether reports and appeals wait; undefined where that isn't known. */
interface Waiting {
  reports: boolean | undefined;
  appeals: boolean | undefined;
}

/** Looks once whether somebody waits for the operator: each look is an entry of the audit. */
function useWaiting(): Waiting {
  const ask = useAdmin();
  const [waiting, setWaiting] = useState<Waiting>({ reports: undefined, appeals: undefined });
  useEffect(() => {
    let isOver = false;
    const isWaiting = async (path: string) => {
      const { status, body } = await ask(`${path}?state=open&limit=1`);
      return status === OK ? (body as { data: readonly unknown[] }).data.length > 0 : undefined;
    };
    void Promise.all([isWaiting(REPORTS), isWaiting(APPEALS)]).then(([reports, appeals]) => {
      if (!isOver) setWaiting({ reports, appeals });
    });
    return () => {
      isOver = true;
    };
  }, []);
  return waiting;
}

function Needs({ readiness, waiting }: { readiness: Readiness; waiting: Waiting }) {
  const needs = needsOf(readiness);
  const isCalm = needs.length === 0 && waiting.reports === false && waiting.appeals === false;
  return (
    <section aria-labelledby="needs">
      <h2 id="needs">What needs you now</h2>
      {isCalm && <Notice>Nothing. Every part works, and nobody waits for you.</Notice>}
      <ul class="next">
        {needs.map(({ key, what, why, to }) => (
          <Need key={key} what={what} why={why} to={to} />
        ))}
        {waiting.appeals === true && (
          <Need
            what="Appeals wait for your answer"
            why="An agent is hidden or suspended meanwhile."
            to={viewAddress("appeals")}
          />
        )}
        {waiting.reports === true && (
          <Need what="Reports wait for you" why="Agents say that something is wrong." to={viewAddress("reports")} />
        )}
      </ul>
    </section>
  );
}

function Need({ what, why, to }: { what: string; why: string; to: string | null }) {
  return (
    <li class="panel now">
      <p>
        <strong>
          {to === null ? (
            what
          ) : (
            <ViewLink to={to} isCurrent={false}>
              {what}
            </ViewLink>
          )}
        </strong>
      </p>
      <p class="aside">{why}</p>
    </li>
  );
}

/** A part: its name, a figure, and how it is; null for one that can't be looked at. */
type Row = [name: string, figure: string, state: "ok" | "late" | "down" | "off" | null];

function Parts({ readiness }: { readiness: Readiness }) {
  const { database, search, encoder, outbox } = readiness;
  const server = encoder?.server ?? null;
  return (
    <div class="cards">
      {NETWORKS.map((network) => (
        <NetworkParts key={network} name={networkName(network)} state={readiness.networks[network]} />
      ))}
      <section class="panel" aria-label="Service">
        <h2>Service</h2>
        <PartTable
          title="Service"
          rows={[
            ["Database", "", isOk(database.ok)],
            ["Search", search.listings === undefined ? "" : `${count(search.listings)} listings`, isOk(search.ok)],
            [
              "Embeddings",
              server === null
                ? (encoder?.model ?? "")
                : `${count(server.tokensToday)} of ${count(server.dailyTokens)} tokens today`,
              encoder === null ? null : isOk(server === null || server.answers),
            ],
            [
              "Queue of webhooks",
              outbox === null ? "" : waitingWords(outbox.waiting, outbox.oldestSeconds),
              outbox === null ? null : "ok",
            ],
          ]}
        />
      </section>
    </div>
  );
}

function NetworkParts({ name, state }: { name: string; state: NetworkReadiness }) {
  const { rpc, subgraph, follower, disputes, keeper } = state;
  const behind = subgraph.blocksBehind ?? 0;
  return (
    <section class="panel" aria-label={name}>
      <h2>{name}</h2>
      <PartTable
        title={name}
        rows={[
          ["Node", rpc.headBlock === undefined ? "" : `block ${count(rpc.headBlock)}`, isOk(rpc.ok)],
          ["Subgraph", behind === 0 ? "at the head" : `${count(behind)} blocks behind`, isOk(subgraph.ok)],
          [
            "Follower",
            follower.lagSeconds === null ? "" : `${duration(follower.lagSeconds)} behind`,
            follower.lagSeconds === null ? null : "ok",
          ],
          [
            "Quarantine",
            follower.quarantined === null ? "" : count(follower.quarantined),
            follower.quarantined === null ? null : late(follower.quarantined > 0),
          ],
          [
            "Rulings",
            disputes === null ? "" : `${count(disputes.overdue)} overdue, ${count(total(disputes.held))} held`,
            disputes === null ? null : late(disputes.overdue + total(disputes.held) > 0),
          ],
          ["Keeper", keeper === null ? "" : waitingWords(keeper.waiting, keeper.oldestSeconds), keeperState(keeper)],
        ]}
      />
      {keeper !== null && keeper.enabled && (
        <dl class="bars">
          <div>
            <dt>The keeper's spending</dt>
            <dd>{spentWords(keeper)}</dd>
            <Bar share={shareOf(keeper)} />
          </div>
        </dl>
      )}
    </section>
  );
}

function PartTable({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <table class="parts">
      <caption class="unseen">{title}</caption>
      <thead class="unseen">
        <tr>
          <th scope="col">Part</th>
          <th scope="col">Figure</th>
          <th scope="col">State</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, figure, state]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{figure}</td>
            <td class="number">
              {state === null || state === "off" ? (
                <span class="aside">{state ?? "not known"}</span>
              ) : (
                <State words={PART_STATES[state]} name={state} />
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function keeperState(keeper: NetworkReadiness["keeper"]): Row[2] {
  if (keeper === null) return null;
  return keeper.enabled ? late(total(keeper.held) > 0) : "off";
}

function isOk(isWorking: boolean): "ok" | "down" {
  return isWorking ? "ok" : "down";
}

function late(isLate: boolean): "ok" | "late" {
  return isLate ? "late" : "ok";
}

function total(held: Readonly<Record<string, number>>): number {
  return Object.values(held).reduce((sum, one) => sum + one, 0);
}
