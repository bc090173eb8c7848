import { useContext, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import type { KeptSession, ListingDetails } from "../data/answers.ts";
import { ownDealAddress } from "../data/owner-place.ts";
import { Wallet } from "../parts/hash.tsx";
import { Go } from "../parts/live.tsx";
import { Notice } from "../parts/notice.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";
import { paymentMethodOf } from "../words/hiring.ts";
import { duration } from "../words/times.ts";
import { saysEnded } from "./api.ts";
import { OwnLink } from "./deal-link.tsx";
import { FormField } from "./form-field.tsx";
import { checkOut, readListing } from "./hire-data.ts";
import type { HireData } from "./hire-data.ts";
import {
  DELIVERY_DEADLINES,
  DISPUTE_WINDOWS,
  formName,
  NEW_ORDER,
  ORDER_HINTS,
  orderBody,
  orderFaults,
  orderRefusal,
} from "./hire-words.ts";
import type { OrderFields } from "./hire-words.ts";
import { keptOrder, nameOrder } from "./kept-order.ts";
import { apiFaults } from "./listing-words.ts";
import { Freshness, useLive } from "./live.tsx";

const TITLE_LENGTH = 80;

/** A listing's terms, and the form that orders it. The deal's page then takes the deposit. */
export function HirePage({
  session,
  serviceId,
  onEnded,
}: {
  session: KeptSession;
  /** Empty if the address names none. */
  serviceId: string;
  onEnded: () => void;
}) {
  if (serviceId === "") return <NotFound />;
  return <Hiring session={session} serviceId={serviceId} onEnded={onEnded} />;
}

function NotFound() {
  return (
    <div class="problem">
      <h1>There is no such listing to hire</h1>
      <p>
        It may be paused or archived. <a href="/search">The search</a> finds others.
      </p>
    </div>
  );
}

function Hiring({ session, serviceId, onEnded }: { session: KeptSession; serviceId: string; onEnded: () => void }) {
  const live = useLive<HireData>(session, () => readListing(session, serviceId), onEnded);
  if (live.isMissing) return <NotFound />;
  const listing = live.data?.listing;
  return (
    <>
      <div class="title">
        <h1>Hire {listing === undefined ? "a service" : <StrangersText text={listing.title} max={TITLE_LENGTH} />}</h1>
        <p class="lead">Ordering moves no money. The next page shows the deposit, and your wallet signs it there.</p>
      </div>
      <Freshness of={live} what="Reading the listing…" />
      {listing !== undefined && (
        <div class="beside">
          <div>
            <Order listing={listing} session={session} onEnded={onEnded} />
          </div>
          <div>
            <Terms listing={listing} />
          </div>
        </div>
      )}
    </>
  );
}

/** The form, or why this session can't order. */
function Order(props: { listing: ListingDetails; session: KeptSession; onEnded: () => void }) {
  const { listing, session } = props;
  if (!session.scopes.includes("buy")) {
    return <Notice>This session only sees. To hire, sign in with “See and act”.</Notice>;
  }
  if (listing.sellerAgentId === session.agentId) return <Notice>This is your own agent's listing.</Notice>;
  if (paymentMethodOf(listing.currency) === undefined) {
    return <Notice>Nobody can hire it: no escrow holds {listing.currency}.</Notice>;
  }
  return <OrderForm {...props} />;
}

interface Sending {
  listing: ListingDetails;
  session: KeptSession;
  onEnded: () => void;
}

/** The state of an order. What is wrong with it is said once it was sent. */
function useOrder({ listing, session, onEnded }: Sending) {
  const go = useContext(Go);
  const last = useRef(keptOrder(session, listing.serviceId));
  const [fields, setFields] = useState<OrderFields>(last.current?.fields ?? NEW_ORDER);
  const [wasSent, setSent] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  /** What the API said about a field, while it is as it was sent. */
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  /** A deal of the same that is there already. */
  const [earlier, setEarlier] = useState<string | undefined>(undefined);
  const own = orderFaults(fields, listing);
  const isComplete = Object.keys(own).length === 0;
  const faults: Readonly<Partial<Record<string, string>>> = wasSent ? { ...refused, ...own } : {};

  const change = (field: keyof OrderFields, value: string) => {
    setFields((before) => ({ ...before, [field]: value }));
    setRefused((before) => Object.fromEntries(Object.entries(before).filter(([about]) => about !== field)));
    setEarlier(undefined);
  };
  /** @param isAnother it is bought once more, beside a deal of the same */
  const order = async (isAnother: boolean) => {
    setSent(true);
    setEarlier(undefined);
    setProblem(isComplete ? undefined : "Nothing was sent. Look at the fields that say what they need.");
    if (isBusy || !isComplete) return;
    setBusy(true);
    const content = JSON.stringify(orderBody(fields, listing));
    last.current = nameOrder(session, listing.serviceId, { fields, content }, last.current, isAnother);
    const ordered = await checkOut(session, last.current, Date.now());
    setBusy(false);
    if (ordered.kind === "deal") go?.(ownDealAddress(ordered.transactionId));
    else if (ordered.kind === "repeat") setEarlier(ordered.transactionId);
    else if (saysEnded(ordered.answer)) onEnded();
    else {
      const found = Object.entries(apiFaults(ordered.answer)).map(([path, fault]) => [formName(path), fault] as const);
      setRefused(Object.fromEntries(found));
      setProblem(found.length > 0 ? "The service doesn't take it as it is." : orderRefusal(ordered.answer));
    }
  };
  return { fields, faults, problem, earlier, isBusy, change, order };
}

function OrderForm(props: Sending) {
  const { fields, faults, problem, earlier, isBusy, change, order } = useOrder(props);
  const bind = (field: keyof OrderFields) => ({
    name: field,
    value: fields[field],
    "aria-invalid": faults[field] !== undefined,
    "aria-describedby": `about-${field}`,
  });
  const field = (name: keyof OrderFields, label: string, control: ComponentChildren) => (
    <FormField name={name} label={label} hint={ORDER_HINTS[name]} fault={faults[name]}>
      {control}
    </FormField>
  );
  const input = (name: keyof OrderFields, inputMode: "numeric" | "url") => (
    <input
      {...bind(name)}
      inputMode={inputMode}
      autocomplete="off"
      onInput={(event) => {
        change(name, event.currentTarget.value);
      }}
    />
  );
  const text = (name: keyof OrderFields, rows: number) => (
    <textarea
      {...bind(name)}
      rows={rows}
      onInput={(event) => {
        change(name, event.currentTarget.value);
      }}
    />
  );
  const time = (name: keyof OrderFields, choices: readonly number[]) => (
    <select
      {...bind(name)}
      onChange={(event) => {
        change(name, event.currentTarget.value);
      }}
    >
      {choices.map((seconds) => (
        <option key={seconds} value={String(seconds)}>
          {duration(seconds)}
        </option>
      ))}
    </select>
  );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void order(false);
  };

  return (
    <form class="panel fields" onSubmit={submit} noValidate aria-label="Order">
      {field("payload", "What you order", text("payload", 6))}
      {field("quantity", "Quantity", input("quantity", "numeric"))}
      {field("checks", "What the result must satisfy", text("checks", 3))}
      {props.listing.callbackRequired && field("callbackUrl", "Address to call back", input("callbackUrl", "url"))}
      {field("disputeWindow", "Time to look", time("disputeWindow", DISPUTE_WINDOWS))}
      {field("deliveryDeadline", "Time to deliver", time("deliveryDeadline", DELIVERY_DEADLINES))}
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      {earlier !== undefined && (
        <Notice tone="care">
          Your agent has ordered exactly this before: <OwnLink to={ownDealAddress(earlier)}>look at that deal</OwnLink>.
        </Notice>
      )}
      <div class="buttons">
        {earlier === undefined ? (
          <button type="submit" class="main" disabled={isBusy}>
            Order
          </button>
        ) : (
          <button type="button" class="main" disabled={isBusy} onClick={() => void order(true)}>
            Order it once more
          </button>
        )}
      </div>
    </form>
  );
}

function Terms({ listing }: { listing: ListingDetails }) {
  const { serviceId, seller } = listing;
  return (
    <section class="panel" aria-labelledby="terms">
      <h2 id="terms">What is offered</h2>
      <p class="text">
        <StrangersText text={listing.description} />
      </p>
      <dl class="facts">
        <dt>Price</dt>
        <dd>
          {price(listing.price, listing.currency)} {unitName(listing.priceUnit)}
        </dd>
        <dt>Category</dt>
        <dd>{categoryName(listing.category)}</dd>
        <dt>Network</dt>
        <dd>{networkName(listing.network)}</dd>
        <dt>Seller</dt>
        <dd>
          <StrangersText text={seller.name} max={TITLE_LENGTH} />
        </dd>
        <dt>Wallet</dt>
        <dd>
          <Wallet address={seller.walletAddress} what="the seller's wallet" />
        </dd>
      </dl>
      <p class="more">
        <a href={`/listings/${encodeURIComponent(serviceId)}`}>The listing's page, with what others got</a>
      </p>
    </section>
  );
}
