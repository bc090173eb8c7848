import { useState } from "preact/hooks";

import type { Dispute, SettlementOffer } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { networkName } from "../words/names.ts";
import { moment } from "../words/times.ts";
import { CallPanel, Signed } from "./call-panel.tsx";
import type { Calls } from "./call-panel.tsx";
import { readStateAt } from "./deal-data.ts";
import { knownToken } from "./deal-words.ts";
import type { OfferTerms } from "./dispute-signing.ts";
import { agreedTerms, disputeRefusal, OFFER_TIMES, percentIn, sharesOf } from "./dispute-words.ts";
import type { Side } from "./dispute-words.ts";
import { doneWords } from "./move-panel.tsx";
import type { DealTerms, MovePlan } from "./moves.ts";
import { SignPanel } from "./sign-panel.tsx";
import type { Signing } from "./sign-panel.tsx";

type Hex = `0x${string}`;
/** What the parts of a dispute's section need. */
export interface DisputeProps {
  session: KeptSession;
  dispute: Dispute;
  /** The deal as it is shown. */
  terms: DealTerms;
  decimals: ReadonlyMap<string, number>;
  /** When it was read, in milliseconds. */
  readAt: number;
  /** Reads the deal again. */
  onChanged: () => void;
  onEnded: () => void;
}

type Props = DisputeProps & { side: Side; acts: boolean };

/** What was pressed, with the deal as it was shown then: what is signed doesn't change under the owner's hand. */
type Open =
  | { name: "none" }
  | { name: "offer"; terms: DealTerms; offer: OfferTerms; until: string }
  | { name: "end"; terms: DealTerms; offers: Record<Side, SettlementOffer> };

const MS = 1_000;

/** How both parties end a dispute themselves: their offers, a form for one, and the transaction that both have signed. */
export function Settlement(props: Props) {
  const { dispute, terms, side, acts } = props;
  const [open, setOpen] = useState<Open>({ name: "none" });
  const isOpen = terms.deal.status === "disputed";
  const { buyer, seller } = dispute.settlement.offers;
  const agreed = agreedTerms(dispute);
  const close = () => {
    setOpen({ name: "none" });
  };
  if (!isOpen && open.name === "none" && buyer === null && seller === null) return null;
  return (
    <div class="settlement spaced">
      <h3>Settlement</h3>
      {isOpen && (
        <p class="aside">
          Both parties may divide the deposit themselves until the dispute has ended. An offer doesn't delay the ruling.
        </p>
      )}
      <Offers {...props} />
      {open.name === "offer" && <OfferPanel {...props} open={open} onClose={close} />}
      {open.name === "end" && <EndPanel {...props} open={open} onClose={close} />}
      {isOpen && open.name === "none" && agreed !== undefined && (
        <div class="buttons">
          <button
            type="button"
            class="main"
            onClick={() => {
              setOpen({ name: "end", terms, offers: agreed });
            }}
          >
            End the dispute as both have signed
          </button>
        </div>
      )}
      {isOpen && open.name === "none" && acts && (
        <>
          <Accepting
            offer={side === "buyer" ? seller : buyer}
            isAgreed={agreed !== undefined}
            onAccept={({ buyerPercent, deadline, deadlineAt }) => {
              const offer = { buyerPercent, until: { deadline } };
              setOpen({ name: "offer", terms, offer, until: `until ${moment(Date.parse(deadlineAt))}` });
            }}
          />
          <OfferForm
            onOffer={(offer, time) => {
              setOpen({ name: "offer", terms, offer, until: `for ${time} from your signature` });
            }}
          />
        </>
      )}
    </div>
  );
}

/** What a share is for both parties, in words. */
function divisionWords({ terms: { deal }, decimals, side }: Props, percent: number): string {
  const shares = sharesOf(deal, percent);
  const amount = (of: Side) => knownToken(shares[of], deal.currency, decimals);
  const other = side === "buyer" ? "seller" : "buyer";
  return `Pays ${amount(side)} to you and ${amount(other)} to the ${other}: ${percent} % to the buyer.`;
}

function Offers(props: Props) {
  const { dispute, side } = props;
  const of = (by: Side) => {
    const offer = dispute.settlement.offers[by];
    if (offer === null) return null;
    return (
      <li key={by} class="panel">
        <p class="aside">
          {by === side ? "Your offer" : `The ${by}'s offer`} ·{" "}
          {offer.status === "open" ? "holds until" : "was good until"} {moment(Date.parse(offer.deadlineAt))}
        </p>
        <p>{divisionWords(props, offer.buyerPercent)}</p>
      </li>
    );
  };
  const shown = [of("buyer"), of("seller")].filter((entry) => entry !== null);
  if (shown.length === 0) return <p class="aside">Nobody has offered a settlement.</p>;
  return (
    <ul class="messages" aria-label="Offers">
      {shown}
    </ul>
  );
}

function Accepting({
  offer,
  isAgreed,
  onAccept,
}: {
  /** The other party's. */
  offer: SettlementOffer | null;
  isAgreed: boolean;
  onAccept: (offer: SettlementOffer) => void;
}) {
  if (offer?.status !== "open" || isAgreed) return null;
  return (
    <div class="buttons">
      <button
        type="button"
        class="main"
        onClick={() => {
          onAccept(offer);
        }}
      >
        Accept {offer.buyerPercent} % to the buyer
      </button>
    </div>
  );
}

function OfferForm({ onOffer }: { onOffer: (offer: OfferTerms, time: string) => void }) {
  const [text, setText] = useState("50");
  const [seconds, setSeconds] = useState(OFFER_TIMES[0]?.[0] ?? 0);
  const [wasSent, setSent] = useState(false);
  const buyerPercent = percentIn(text);
  const isWrong = wasSent && buyerPercent === undefined;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setSent(true);
    const time = OFFER_TIMES.find(([one]) => one === seconds)?.[1];
    if (buyerPercent !== undefined && time !== undefined) onOffer({ buyerPercent, until: { seconds } }, time);
  };
  return (
    <form class="panel fields" onSubmit={submit} noValidate aria-label="Offer a settlement">
      <div>
        <label>
          Percent to the buyer
          <input
            name="buyerPercent"
            inputMode="numeric"
            autocomplete="off"
            value={text}
            aria-invalid={isWrong}
            aria-describedby="about-percent"
            onInput={(event) => {
              setText(event.currentTarget.value);
            }}
          />
        </label>
        <p class="aside" id="about-percent">
          {isWrong && <strong class="fault">A whole number from 0 to 100. </strong>}A whole number from 0 to 100. The
          seller gets the rest.
        </p>
      </div>
      <label>
        Holds for
        <select
          name="seconds"
          value={seconds}
          onChange={(event) => {
            setSeconds(Number(event.currentTarget.value));
          }}
        >
          {OFFER_TIMES.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <div class="buttons">
        <button type="submit" class="main">
          Offer it
        </button>
      </div>
    </form>
  );
}

/** An offer that the wallet signs and the service keeps for the other party. */
function OfferPanel({
  open: { terms, offer, until },
  onClose,
  ...props
}: Props & { open: Extract<Open, { name: "offer" }>; onClose: () => void }) {
  const { session, dispute, onChanged, onEnded } = props;
  const signing: Signing = {
    name: "deadline" in offer.until ? "Accept the offer" : "Offer a settlement",
    sign: async (wallet) =>
      (await import("./dispute-signing.ts")).sendOffer(wallet, session, dispute.disputeId, terms, offer),
    isComplete: true,
    onDone: () => {
      onChanged();
      onClose();
    },
    problem: async (error, wallet) => (await import("./dispute-signing.ts")).offerProblem(error, wallet, terms),
    refusal: disputeRefusal,
  };
  return (
    <SignPanel session={session} signing={signing} onEnded={onEnded} onClose={onClose}>
      <p>
        <strong>{divisionWords({ ...props, terms }, offer.buyerPercent)}</strong>
      </p>
      <p class="aside">
        It holds {until} on {networkName(terms.deal.network)}, and can't be taken back before. With the other party's
        signature of the same terms, anyone may end the dispute so. No transaction is sent now.
      </p>
    </SignPanel>
  );
}

/** The transaction that ends the dispute as both have signed. */
function EndPanel({
  open: { terms, offers },
  onClose,
  ...props
}: Props & { open: Extract<Open, { name: "end" }>; onClose: () => void }) {
  const { buyer, seller } = offers;
  const { buyerPercent, deadline } = buyer;
  const signatures = { buyerSignature: buyer.signature as Hex, sellerSignature: seller.signature as Hex };
  const agreement = { buyerPercent, deadline, ...signatures };
  const calls: Calls<MovePlan> = {
    name: "End the dispute as both have signed",
    terms,
    prepare: async (wallet) => (await import("./dispute-signing.ts")).prepareAgreement(wallet, terms, agreement),
    send: async (plan) => (await import("./moves.ts")).sendMove(plan),
    hasNext: () => false,
    settle: async ({ block }, _hash, ended) => ({
      text: doneWords(block, await readStateAt(props.session, terms.deal.transactionId, block, ended)),
    }),
  };
  return (
    <CallPanel
      calls={calls}
      onMoved={props.onChanged}
      onClose={onClose}
      shown={(plan) => (
        <>
          <p>
            <strong>{divisionWords({ ...props, terms }, buyerPercent)} It can't be undone.</strong>
          </p>
          <p class="aside">The chain has the same parties, amounts, times and criteria as this page. You sign this:</p>
          <Signed plan={plan} terms={terms} contract="the resolver contract" call="resolveByAgreement">
            <dt>Arguments</dt>
            <dd>
              the escrow's id <Hash value={terms.deal.escrowId} what="the escrow's id" />, {buyerPercent} % to the
              buyer, until {moment(deadline * MS)}, and both signatures
            </dd>
          </Signed>
        </>
      )}
    />
  );
}
