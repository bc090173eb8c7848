import { useContext, useRef } from "preact/hooks";

import type { Service } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { LISTING_STATUSES, listingsAddress, NEW_LISTING_ADDRESS, ownListingAddress } from "../data/owner-place.ts";
import type { ListingStatus } from "../data/owner-place.ts";
import { Go } from "../parts/live.tsx";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";
import { OwnLink } from "./deal-link.tsx";
import { Decisions } from "./decisions.tsx";
import { DECISION_STATES, LISTING_STATES } from "./listing-words.ts";
import { readListings } from "./listings-data.ts";
import type { ListingsData } from "./listings-data.ts";
import { Freshness, useLive } from "./live.tsx";

const TITLE_LENGTH = 80;

/** What the agent offers, and what the operator decided about it. The state is in the address. */
export function ListingsPage({
  session,
  status,
  onEnded,
}: {
  session: KeptSession;
  status: ListingStatus;
  onEnded: () => void;
}) {
  const go = useContext(Go);
  const choose = (event: Event & { currentTarget: HTMLSelectElement }) => {
    const chosen = LISTING_STATUSES.find((one) => one === event.currentTarget.value);
    go?.(listingsAddress(chosen));
  };
  return (
    <>
      <div class="title">
        <h1>Listings</h1>
        {session.scopes.includes("sell") ? (
          <p class="lead">
            <OwnLink to={NEW_LISTING_ADDRESS}>Offer a service</OwnLink>
          </p>
        ) : (
          <p class="lead">This session only sees. To offer or change something, sign in with “See and act”.</p>
        )}
      </div>
      <form class="search" aria-label="Filters">
        <div class="filters">
          <label>
            State
            <select name="status" value={status} onChange={choose}>
              {LISTING_STATUSES.map((one) => (
                <option key={one} value={one}>
                  {LISTING_STATES[one].name}
                </option>
              ))}
            </select>
          </label>
        </div>
      </form>
      <ListingList key={status} session={session} status={status} onEnded={onEnded} />
    </>
  );
}

function ListingList({
  session,
  status,
  onEnded,
}: {
  session: KeptSession;
  status: ListingStatus;
  onEnded: () => void;
}) {
  const pages = useRef(1);
  const live = useLive<ListingsData>(session, () => readListings(session, status, () => pages.current), onEnded);
  const { data } = live;
  const more = () => {
    pages.current += 1;
    live.refresh();
  };
  return (
    <>
      <Freshness of={live} what="Reading your agent's listings…" />
      {data !== undefined && (
        <section aria-label="Your agent's listings">
          {data.listings.length === 0 ? <NoListings status={status} /> : <Listings listings={data.listings} />}
          {data.nextCursor !== null && (
            <p class="more">
              <button type="button" class="quiet" onClick={more}>
                More
              </button>
            </p>
          )}
        </section>
      )}
      {data !== undefined && (
        <Decisions decisions={data.decisions} session={session} onAppealed={live.refresh} onEnded={onEnded} />
      )}
    </>
  );
}

function NoListings({ status }: { status: ListingStatus }) {
  if (status !== "active") return <Notice>Your agent has no {status} listing.</Notice>;
  return (
    <Notice>
      Your agent offers nothing at the moment. <OwnLink to={NEW_LISTING_ADDRESS}>Offer a service</OwnLink>, and buyers
      find it within a minute. <a href="/guides/listings">How listings work</a>
    </Notice>
  );
}

function Listings({ listings }: { listings: readonly Service[] }) {
  return (
    <table class="listings">
      <caption class="unseen">Your agent's listings, newest first</caption>
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col" class="number">
            Price, state
          </th>
        </tr>
      </thead>
      <tbody>
        {listings.map((listing) => (
          <tr key={listing.id}>
            <td>
              <OwnLink to={ownListingAddress(listing.id)}>
                <StrangersText text={listing.title} max={TITLE_LENGTH} />
              </OwnLink>
              <span class="aside">
                {categoryName(listing.category)} · {networkName(listing.network)} · <Time at={listing.createdAt} />
              </span>
            </td>
            <td class="number">
              <p>
                {price(listing.price, listing.currency)} <span class="aside">{unitName(listing.priceUnit)}</span>
              </p>
              <ListingState listing={listing} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** A listing's own state, and the operator's beside it. */
export function ListingState({ listing: { status, moderation } }: { listing: Service }) {
  return (
    <>
      <State words={LISTING_STATES[status]} name={status} />
      {moderation !== undefined && " "}
      {moderation !== undefined && <State words={DECISION_STATES[moderation.state]} name={moderation.state} />}
    </>
  );
}
