import type { KeptSession } from "../data/answers.ts";
import { Hash, Wallet } from "../parts/hash.tsx";
import { Time } from "../parts/time.tsx";
import { duration } from "../words/times.ts";
import { CallPanel, Signed } from "./call-panel.tsx";
import type { Calls } from "./call-panel.tsx";
import { reportFunding } from "./deal-data.ts";
import { FUNDING, fundingRefusal, knownToken } from "./deal-words.ts";
import type { FundingPlan } from "./funding.ts";
import { doneWords } from "./move-panel.tsx";
import type { DealTerms } from "./moves.ts";

/** The deposit of a deal, from the button to the block: an allowance for exactly it where that is missing, then the escrow. */
export function FundPanel({
  session,
  terms,
  decimals,
  onMoved,
  onClose,
}: {
  session: KeptSession;
  terms: DealTerms;
  decimals: ReadonlyMap<string, number>;
  onMoved: () => void;
  onClose: () => void;
}) {
  const { deal } = terms;
  const calls: Calls<FundingPlan> = {
    name: FUNDING.name,
    terms,
    prepare: async (wallet) => (await import("./funding.ts")).prepareFunding(wallet, terms),
    send: async (plan) => (await import("./funding.ts")).sendFunding(plan, terms),
    hasNext: ({ call }) => call === "approve",
    settle: async ({ block }, hash, ended) => {
      const { state, refusal } = await reportFunding(session, deal.transactionId, { block, hash }, ended);
      return refusal === undefined
        ? { text: doneWords(block, state) }
        : { text: fundingRefusal(block, refusal), isProblem: true };
    },
  };
  return (
    <CallPanel
      calls={calls}
      onMoved={onMoved}
      onClose={onClose}
      shown={(plan) =>
        plan.call === "approve" ? (
          <Allowance plan={plan} terms={terms} decimals={decimals} />
        ) : (
          <Deposit plan={plan} terms={terms} decimals={decimals} />
        )
      }
    />
  );
}

interface Shown {
  plan: FundingPlan;
  terms: DealTerms;
  decimals: ReadonlyMap<string, number>;
}

function Allowance({ plan, terms, decimals }: Shown) {
  const { deal } = terms;
  const amount = knownToken(deal.amount, deal.currency, decimals);
  return (
    <>
      <p>
        <strong>First of two: allows the escrow contract to take {amount} from your wallet. No money moves yet.</strong>
      </p>
      <p class="aside">The second transaction pays the deposit. You sign this now:</p>
      <Signed plan={plan} terms={terms} contract={`the token ${deal.currency}`} call="approve">
        <dt>Who may take it</dt>
        <dd>
          <Hash value={deal.escrowContract} what="the escrow contract's address" />
        </dd>
        <dt>At most</dt>
        <dd>{amount}</dd>
      </Signed>
    </>
  );
}

function Deposit({ plan, terms, decimals }: Shown) {
  const { deal } = terms;
  const amount = (units: string) => knownToken(units, deal.currency, decimals);
  return (
    <>
      <p>
        <strong>{FUNDING.effect(amount(deal.amount), amount(deal.platformFee))}</strong>
      </p>
      <p class="aside">
        These are the terms on this page, and the criteria have the hash that is signed. You sign this:
      </p>
      <Signed plan={plan} terms={terms} contract="the escrow contract" call="createEscrow">
        <dt>Escrow</dt>
        <dd>
          <Hash value={deal.escrowId} what="the escrow's id" />
        </dd>
        <dt>Seller</dt>
        <dd>
          <Wallet address={deal.sellerAddress} what="the seller's wallet" />
        </dd>
        <dt>Deposit</dt>
        <dd>
          {amount(deal.amount)} of <Hash value={deal.token} what="the token's address" />
        </dd>
        <dt>Deliver by</dt>
        <dd>
          <Time at={deal.deadlineAt} />
        </dd>
        <dt>Time to look</dt>
        <dd>{duration(deal.disputeWindow)} after the delivery</dd>
        <dt>Time to decline</dt>
        <dd>{duration(deal.abandonmentGrace)} after the time to deliver</dd>
        <dt>Criteria</dt>
        <dd>
          <Hash value={deal.criteriaHash} what="the hash of the criteria" />
        </dd>
      </Signed>
    </>
  );
}
