import { loaded } from "../data/answers.ts";
import type { Answers, Deal } from "../data/answers.ts";
import { Hash, Wallet } from "../parts/hash.tsx";
import { Absent } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { Countdown, Time } from "../parts/time.tsx";
import { count, token, usd } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { DEAL_STATES, ESCROW_EVENTS, METHODS, OUTCOMES } from "../words/states.ts";
import { duration } from "../words/times.ts";
import { ProblemPage } from "./problem.tsx";

const NOT_FOUND = 404;

/** One deal as the chain has it: what can happen next, its money and parties, and every move. */
export function DealPage({ answers }: { answers: Answers }) {
  const found = loaded<Deal>(answers["deal"]);
  if (found.kind === "missing") return <ProblemPage status={NOT_FOUND} />;
  if (found.kind !== "there") return <Absent of={found} what="The deal" />;
  const deal = found.data;
  const words = DEAL_STATES[deal.status];
  return (
    <>
      <div class="title">
        <p class="aside">Deal on {networkName(deal.network)}</p>
        <h1>
          {token(deal.amount, deal.token.decimals, deal.token.symbol)} <State words={words} name={deal.status} />
        </h1>
        <p class="lead">{words?.meaning}</p>
      </div>
      <div class="beside">
        <div>
          <Next deal={deal} />
          <Moves deal={deal} />
        </div>
        <div>
          <Money deal={deal} />
          <Parties deal={deal} />
        </div>
      </div>
      <p class="aside">
        By the chain's state up to block {count(deal.indexedBlock)}, whose time was <Time at={deal.chainTime} />.
      </p>
    </>
  );
}

function Next({ deal: { next, chainTime } }: { deal: Deal }) {
  return (
    <section aria-labelledby="next">
      <h2 id="next">What can happen next</h2>
      {next.length === 0 ? (
        <p>Nothing: the deal has ended.</p>
      ) : (
        <ul class="next">
          {next.map(({ move, by, text, opensAt, availableUntil }) => (
            <li key={move} class={opensAt === null ? "panel now" : "panel"}>
              <p>
                <strong>{text}</strong>
              </p>
              <p class="aside">
                {byWhom(by)} · <code>{move}</code>
              </p>
              {opensAt !== null && <Countdown at={opensAt} word="from" chainTime={chainTime} />}
              {availableUntil !== null && <Countdown at={availableUntil} word="until" chainTime={chainTime} />}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function byWhom(by: string): string {
  return by === "resolver"
    ? "by the contract that puts rulings on chain"
    : by === "anyone"
      ? "by anyone"
      : `by the ${by}`;
}

function Moves({ deal: { moves } }: { deal: Deal }) {
  return (
    <section aria-labelledby="moves">
      <h2 id="moves">What happened</h2>
      <ol class="moves panel">
        {[...moves].reverse().map(({ event, at, txHash, blockNumber }) => (
          <li key={txHash + event}>
            <p>{ESCROW_EVENTS[event] ?? event}</p>
            <p class="aside">
              <Time at={at} /> · block {count(blockNumber)} · <Hash value={txHash} what="the transaction's hash" />
            </p>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Money({ deal }: { deal: Deal }) {
  const { symbol, decimals } = deal.token;
  const amount = (units: string) => token(units, decimals, symbol);
  const value = usd(deal.valueUsd);
  return (
    <section class="panel" aria-labelledby="money">
      <h2 id="money">Money</h2>
      <dl class="facts">
        <dt>Deposit</dt>
        <dd title={value.exact}>
          {amount(deal.amount)}, worth {value.shown}
        </dd>
        <dt>Fee</dt>
        <dd>{amount(deal.platformFee)}</dd>
        {deal.sellerAmount !== null && <dt>To the seller</dt>}
        {deal.sellerAmount !== null && <dd>{amount(deal.sellerAmount)}</dd>}
        {deal.buyerAmount !== null && <dt>To the buyer</dt>}
        {deal.buyerAmount !== null && <dd>{amount(deal.buyerAmount)}</dd>}
        <Ruling deal={deal} />
      </dl>
    </section>
  );
}

function Ruling({ deal: { outcome, resolutionMethod, rationaleHash } }: { deal: Deal }) {
  if (outcome === null) return null;
  return (
    <>
      <dt>Dispute</dt>
      <dd>
        {OUTCOMES[outcome] ?? outcome}
        {resolutionMethod !== null && `, ${METHODS[resolutionMethod] ?? resolutionMethod}`}
      </dd>
      {rationaleHash !== null && <dt>Rationale</dt>}
      {rationaleHash !== null && (
        <dd>
          <Hash value={rationaleHash} what="the hash of the ruling's document" />
        </dd>
      )}
    </>
  );
}

function Parties({ deal }: { deal: Deal }) {
  return (
    <section class="panel" aria-labelledby="parties">
      <h2 id="parties">Parties and terms</h2>
      <dl class="facts">
        <dt>Buyer</dt>
        <dd>
          <Wallet address={deal.buyerAddress} what="the buyer's wallet" />
        </dd>
        <dt>Seller</dt>
        <dd>
          <Wallet address={deal.sellerAddress} what="the seller's wallet" />
        </dd>
        <dt>Deliver by</dt>
        <dd>
          <Time at={deal.deadlineAt} />
        </dd>
        <dt>Time to look</dt>
        <dd>{duration(deal.disputeWindow)} after the delivery</dd>
        <dt>Criteria</dt>
        <dd>
          <Hash value={deal.criteriaHash} what="the hash of the criteria" />
        </dd>
        {deal.proofHash !== null && <dt>Delivery</dt>}
        {deal.proofHash !== null && (
          <dd>
            <Hash value={deal.proofHash} what="the hash of the delivery" />
          </dd>
        )}
        <dt>Escrow</dt>
        <dd>
          <Hash value={deal.escrowId} what="the escrow's id" />
        </dd>
        <dt>Contract</dt>
        <dd>
          <Hash value={deal.escrowContract} what="the contract's address" />
        </dd>
      </dl>
    </section>
  );
}
