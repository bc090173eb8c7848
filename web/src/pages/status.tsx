import { loaded } from "../data/answers.ts";
import type { Answers, PartState, ServiceStatus } from "../data/answers.ts";
import { Absent } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { count } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { PART_STATES } from "../words/states.ts";
import { duration } from "../words/times.ts";
import { StatusStrips } from "./status-strip.tsx";

/** Whether the service and both networks work. */
export function StatusPage({ answers }: { answers: Answers }) {
  const found = loaded<ServiceStatus>(answers["status"]);
  return (
    <>
      <div class="title">
        <h1>Status</h1>
        {found.kind === "there" && (
          <p class="lead">
            <State words={PART_STATES[found.data.state]} name={found.data.state} />{" "}
            {PART_STATES[found.data.state]?.meaning}
          </p>
        )}
      </div>
      {found.kind === "there" ? <Parts status={found.data} /> : <Absent of={found} what="The status" />}
      {found.kind === "there" && found.data.history !== null && <StatusStrips history={found.data.history} />}
    </>
  );
}

/** A part of the service: its name, what depends on it, its state, and a figure. */
type Row = [name: string, needed: string, state: PartState | null, figure?: string];

function Parts({ status }: { status: ServiceStatus }) {
  return (
    <div class="cards">
      {status.networks.map((one) => (
        <PartTable
          key={one.network}
          title={networkName(one.network)}
          rows={[
            ["Chain", "money moves on it", one.chain, block(one.headBlock)],
            ["Subgraph", "states and scores are read from it", one.subgraph, block(one.indexedBlock)],
            ["Follower", "makes events, webhooks and lists", one.follower, behind(one.lagSeconds)],
            ["Rulings", "decide disputes", one.rulings],
            ["Keeper", "ends deals that nobody else ends", one.keeper],
          ]}
        />
      ))}
      <PartTable
        title={`Service, version ${status.version}`}
        rows={[
          ["Database", "keeps records", status.database],
          ["Search", "finds listings by meaning", status.search],
          ["Queues", "bring webhooks to agents", status.queues],
        ]}
      />
    </div>
  );
}

function PartTable({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <section class="panel" aria-label={title}>
      <h2>{title}</h2>
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
          {rows.map(([name, needed, state, figure]) => (
            <tr key={name}>
              <th scope="row">
                {name}
                <span class="aside">{needed}</span>
              </th>
              <td class="number">{figure}</td>
              <td class="number">
                {state === null ? (
                  <span class="aside">none here</span>
                ) : (
                  <State words={PART_STATES[state]} name={state} />
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function block(number: number | null): string {
  return number === null ? "" : `block ${count(number)}`;
}

function behind(seconds: number | null): string {
  return seconds === null ? "" : `${duration(seconds)} behind`;
}
