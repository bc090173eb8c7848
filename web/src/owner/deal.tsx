import { useState } from "preact/hooks";

import type { EscrowMove } from "../../../sdk/src/calls.ts";
import type { Transaction, TransactionWithActions } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { dealsAddress, hireAddress, NO_FILTERS } from "../data/owner-place.ts";
import { Hash, Wallet } from "../parts/hash.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { State } from "../parts/state.tsx";
import { Time } from "../parts/time.tsx";
import { useNow } from "../parts/browser.ts";
import { networkName } from "../words/names.ts";
import { OUTCOMES } from "../words/states.ts";
import { duration } from "../words/times.ts";
import { readDeal } from "./deal-data.ts";
import type { DealData } from "./deal-data.ts";
import { DealTitle, OwnLink } from "./deal-link.tsx";
import { Attempts, Criteria, Events, Messages, Payloads } from "./deal-parts.tsx";
import { commandsFor, FUNDING, isMove, isOnChain, knownToken, MOVES, nextStep, stateWords } from "./deal-words.ts";
import { FundPanel } from "./fund-panel.tsx";
import { LaterDispute, LaterRuling } from "./later-pages.tsx";
import { Left } from "./left.tsx";
import { Freshness, useLive } from "./live.tsx";
import { MovePanel } from "./move-panel.tsx";
import type { DealTerms } from "./moves.ts";
import { isSame } from "./needs.ts";

/** What a button makes: a move, or the deposit. */
type OwnMove = EscrowMove | "createEscrow";

const EACH_SECOND_MS = 1_000;

/** A deal of the agent, with what its owner may do about it. */
export function OwnDealPage({
  session,
  transactionId,
  onEnded,
}: {
  session: KeptSession;
  transactionId: string;
  onEnded: () => void;
}) {
  const live = useLive<DealData>(session, (known) => readDeal(session, transactionId, known), onEnded);
  const { data } = live;
  if (live.isMissing) return <NotFound transactionId={transactionId} />;
  return (
    <>
      {data === undefined ? (
        <div class="title">
          <h1>A deal</h1>
        </div>
      ) : (
        <Title deal={data.deal} wallet={session.walletAddress} />
      )}
      <Freshness of={live} what="Reading the deal…" />
      {data !== undefined && (
        <div class="beside">
          <div>
            <Next data={data} session={session} onMoved={live.refresh} />
            {data.dispute !== undefined && (
              <LaterDispute
                session={session}
                dispute={data.dispute}
                terms={termsOf(data, session)}
                decimals={decimalsOf(data)}
                readAt={data.readAt}
                onChanged={live.refresh}
                onEnded={onEnded}
              />
            )}
            <Payloads deal={data.deal} isSeller={isSame(data.deal.sellerAddress, session.walletAddress)} />
            <Agreed data={data} />
            <Messages messages={data.messages} session={session} />
          </div>
          <div>
            <Money deal={data.deal} decimals={decimalsOf(data)} />
            <Parties deal={data.deal} />
            <Events timeline={data.deal.timeline} />
            <Attempts attempts={data.attempts} />
          </div>
        </div>
      )}
    </>
  );
}

function NotFound({ transactionId }: { transactionId: string }) {
  return (
    <div class="problem">
      <h1>Your agent has no such deal</h1>
      <p>
        No deal of this agent has the id <code>{transactionId}</code>. If it is another agent's, sign in with that
        agent's wallet.
      </p>
      <p>
        <OwnLink to={dealsAddress(NO_FILTERS)}>All deals of your agent</OwnLink>
      </p>
    </div>
  );
}

function Title({ deal, wallet }: { deal: Transaction; wallet: string }) {
  const words = stateWords(deal.status);
  return (
    <div class="title">
      <p class="aside">
        {isSame(deal.sellerAddress, wallet) ? "You sell" : "You buy"} on {networkName(deal.network)}
      </p>
      <h1>
        <DealTitle title={deal.serviceTitle} /> <State words={words} name={deal.status} />
      </h1>
      <p class="lead">{words?.meaning}</p>
    </div>
  );
}

/** What was agreed, with a ruling beside it. */
function Agreed({ data: { criteria, report, deal, dispute, ruling } }: { data: DealData }) {
  const agreed = <Criteria criteria={criteria} report={report} deal={deal} />;
  if (dispute === undefined || ruling === undefined) return agreed;
  return (
    <div class="columns">
      {agreed}
      <LaterRuling ruling={ruling} dispute={dispute} />
    </div>
  );
}

/** The deal as it is shown, for what is signed about it. */
function termsOf({ deal, networks, criteria }: DealData, session: KeptSession): DealTerms {
  const network = networks.find((one) => one.network === deal.network);
  return { deal, network, criteria, account: session.walletAddress };
}

function decimalsOf({ networks }: DealData): ReadonlyMap<string, number> {
  return new Map(networks.flatMap(({ tokens }) => tokens.map(({ symbol, decimals }) => [symbol, decimals])));
}

/** What happens next, with a button for each move that the API names. */
function Next({ data, session, onMoved }: { data: DealData; session: KeptSession; onMoved: () => void }) {
  const { deal, readAt } = data;
  const now = useNow(EACH_SECOND_MS) ?? readAt;
  /** The move whose button was pressed, with the deal as it was shown then. */
  const [pressed, setPressed] = useState<{ move: OwnMove; terms: DealTerms } | undefined>(undefined);
  const next = nextStep(deal, session.walletAddress, now);
  const press = (move: OwnMove) => {
    setPressed({ move, terms: termsOf(data, session) });
  };
  const panel = {
    session,
    decimals: decimalsOf(data),
    onMoved,
    onClose: () => {
      setPressed(undefined);
    },
  };
  return (
    <section aria-labelledby="next">
      <h2 id="next">What happens next</h2>
      <p>{next === null ? "Nothing: the deal has ended." : next.text}</p>
      {next !== null && next.until !== null && <Left until={next.until} now={now} />}
      {pressed === undefined && (
        <Choices deal={deal} decimals={decimalsOf(data)} said={next?.until ?? null} now={now} onPress={press} />
      )}
      {pressed?.move === "createEscrow" && <FundPanel {...panel} terms={pressed.terms} />}
      {pressed !== undefined && pressed.move !== "createEscrow" && (
        <MovePanel key={pressed.move} {...panel} terms={{ ...pressed.terms, move: pressed.move }} />
      )}
      <Commands deal={deal} session={session} />
    </section>
  );
}

function Choices({
  deal,
  decimals,
  said,
  now,
  onPress,
}: {
  deal: TransactionWithActions;
  decimals: ReadonlyMap<string, number>;
  /** The end that was said already. */
  said: string | null;
  now: number;
  onPress: (move: OwnMove) => void;
}) {
  // The allowance that the API names before the deposit belongs to it.
  const moves = deal.actions.flatMap(({ action, availableUntil }) =>
    isMove(action) || action === "createEscrow" ? [{ move: action, availableUntil }] : [],
  );
  if (moves.length === 0) return null;
  const amount = (units: string) => knownToken(units, deal.currency, decimals);
  return (
    <ul class="next" aria-label="What you can do now">
      {moves.map(({ move, availableUntil }) => (
        <li key={move} class="panel">
          <button
            type="button"
            class="main"
            onClick={() => {
              onPress(move);
            }}
          >
            {move === "createEscrow" ? FUNDING.name : MOVES[move].name}
          </button>
          <p>
            {move === "createEscrow"
              ? FUNDING.effect(amount(deal.amount), amount(deal.platformFee))
              : MOVES[move].effect(amount(deal.lockedAmount), amount(deal.platformFee))}
          </p>
          {availableUntil !== null && !isSameTime(availableUntil, said) && <Left until={availableUntil} now={now} />}
        </li>
      ))}
    </ul>
  );
}

function isSameTime(at: string, other: string | null): boolean {
  return other !== null && Date.parse(at) === Date.parse(other);
}

/** What the page doesn't do: lines of the command line. */
function Commands({ deal, session }: { deal: TransactionWithActions; session: KeptSession }) {
  const isSeller = isSame(deal.sellerAddress, session.walletAddress);
  const commands = commandsFor(deal, isSeller, session.scopes.includes(isSeller ? "sell" : "buy"));
  const isOver = deal.actions.some(({ action }) => action === "checkout");
  return (
    <>
      {commands.map(({ todo, command }) => (
        <Snippet key={command} title={`${todo}, with the command line`} lines={[command]} />
      ))}
      {isOver && deal.serviceId !== null && (
        <p>
          <OwnLink to={hireAddress(deal.serviceId)}>Order the service again</OwnLink>
        </p>
      )}
    </>
  );
}

function Money({ deal, decimals }: { deal: Transaction; decimals: ReadonlyMap<string, number> }) {
  const amount = (units: string) => knownToken(units, deal.currency, decimals);
  return (
    <section class="panel" aria-labelledby="money">
      <h2 id="money">Money</h2>
      <dl class="facts">
        <dt>Deposit</dt>
        <dd>{amount(deal.amount)}</dd>
        <dt>Fee</dt>
        <dd>{amount(deal.platformFee)}, never refunded</dd>
        <dt>Without the fee</dt>
        <dd>{amount(deal.lockedAmount)}</dd>
        {deal.sellerAmount !== null && <dt>To the seller</dt>}
        {deal.sellerAmount !== null && <dd>{amount(deal.sellerAmount)}</dd>}
        {deal.buyerAmount !== null && <dt>To the buyer</dt>}
        {deal.buyerAmount !== null && <dd>{amount(deal.buyerAmount)}</dd>}
        {deal.outcome !== null && <dt>Dispute</dt>}
        {deal.outcome !== null && <dd>ended {OUTCOMES[deal.outcome] ?? deal.outcome}</dd>}
      </dl>
    </section>
  );
}

function Parties({ deal }: { deal: Transaction }) {
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
        <dt>Quantity</dt>
        <dd>{deal.quantity}</dd>
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
        <dt>Deal</dt>
        <dd>
          <Hash value={deal.transactionId} what="the deal's id" />
        </dd>
        <dt>Escrow</dt>
        <dd>
          {isOnChain(deal.status) ? (
            <Hash value={deal.escrowId} what="the escrow's id" to={`/deals/${deal.escrowId}?network=${deal.network}`} />
          ) : (
            <Hash value={deal.escrowId} what="the escrow's id" />
          )}
        </dd>
        <dt>Contract</dt>
        <dd>
          <Hash value={deal.escrowContract} what="the contract's address" />
        </dd>
      </dl>
    </section>
  );
}
