import { useContext, useRef, useState } from "preact/hooks";

import type { ListingWarning, Moderation, Service } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { listingsAddress, ownListingAddress } from "../data/owner-place.ts";
import { Go } from "../parts/live.tsx";
import { Notice } from "../parts/notice.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { price } from "../words/amounts.ts";
import { categoryName, networkName, unitName } from "../words/names.ts";
import { askApi, saysEnded } from "./api.ts";
import { OwnLink } from "./deal-link.tsx";
import { AppealState, DecisionFacts } from "./decisions.tsx";
import { ListingForm } from "./listing-form.tsx";
import {
  bodyOf,
  changesOf,
  DECISION_STATES,
  DELIVERY_TYPES,
  fieldsOf,
  LISTING_STATES,
  listingRefusal,
  NEW_LISTING,
  reasonWords,
} from "./listing-words.ts";
import type { ListingFields } from "./listing-words.ts";
import { ListingVisibility } from "./listing-visibility.tsx";
import { listingPath, readOwnListing } from "./listings-data.ts";
import type { OwnListingData } from "./listings-data.ts";
import { ListingState } from "./listings.tsx";
import { Freshness, useLive } from "./live.tsx";

const TITLE_LENGTH = 80;
const OK = 200;

/** A listing as the API answers a write. */
interface Written {
  data: Service;
  warnings: readonly ListingWarning[];
}

/** The form of a listing that isn't there yet. */
export function NewListingPage({ session, onEnded }: { session: KeptSession; onEnded: () => void }) {
  const go = useContext(Go);
  /** However often the form is sent, there is one listing of what it says. */
  const intents = useRef(new Map<string, string>());
  const [written, setWritten] = useState<Written | undefined>(undefined);
  const save = (fields: ListingFields) => {
    const body = bodyOf(fields);
    const content = JSON.stringify(body);
    const intentId = intents.current.get(content) ?? `page-${crypto.randomUUID()}`;
    intents.current.set(content, intentId);
    return askApi("/api/v1/services", { method: "POST", body: { ...body, intentId } }, session);
  };
  if (written !== undefined) {
    return (
      <>
        <div class="title">
          <h1>It is listed</h1>
          <p class="lead">
            <OwnLink to={ownListingAddress(written.data.id)}>
              <StrangersText text={written.data.title} max={TITLE_LENGTH} />
            </OwnLink>{" "}
            is active. Search finds it within a minute, and your agent's name and description are public with it.
          </p>
        </div>
        <Warnings warnings={written.warnings} />
      </>
    );
  }
  return (
    <>
      <div class="title">
        <h1>Offer a service</h1>
        <p class="lead">The listing, and the name and description of your agent, become public.</p>
      </div>
      {session.scopes.includes("sell") ? (
        <ListingForm
          session={session}
          start={NEW_LISTING}
          name="List the service"
          save={save}
          onSaved={({ body }) => {
            setWritten(body as Written);
          }}
          onCancel={() => {
            go?.(listingsAddress());
          }}
          onEnded={onEnded}
        />
      ) : (
        <Notice>This session only sees. To offer something, sign in with “See and act”.</Notice>
      )}
    </>
  );
}

/** A listing of the agent: what buyers see, what changes it, and what the operator decided about it. */
export function OwnListingPage({
  session,
  serviceId,
  onEnded,
}: {
  session: KeptSession;
  serviceId: string;
  onEnded: () => void;
}) {
  const live = useLive<OwnListingData>(session, () => readOwnListing(session, serviceId), onEnded);
  const { data } = live;
  if (live.isMissing) return <NotFound serviceId={serviceId} />;
  return (
    <>
      <div class="title">
        {data === undefined ? (
          <h1>A listing</h1>
        ) : (
          <>
            <h1>
              <StrangersText text={data.listing.title} max={TITLE_LENGTH} /> <ListingState listing={data.listing} />
            </h1>
            {data.listing.moderation === undefined && <p class="lead">{LISTING_STATES[data.listing.status].meaning}</p>}
          </>
        )}
      </div>
      <Freshness of={live} what="Reading the listing…" />
      {data?.decision !== undefined && (
        <section class="panel now" aria-label="What the operator decided">
          <DecisionFacts of={data.decision} isHere />
          <AppealState of={data.decision} session={session} onAppealed={live.refresh} onEnded={onEnded} />
        </section>
      )}
      {data?.decision === undefined && data?.listing.moderation !== undefined && (
        <Hidden by={data.listing.moderation} />
      )}
      {data !== undefined && (
        <Changes listing={data.listing} session={session} onChanged={live.refresh} onEnded={onEnded} />
      )}
      {data !== undefined && <Terms listing={data.listing} />}
      {data !== undefined && isFound(data.listing) && session.scopes.includes("sell") && (
        <ListingVisibility session={session} serviceId={serviceId} onEnded={onEnded} />
      )}
    </>
  );
}

/** What hides a listing, while the decision itself can't be read. */
function Hidden({ by: { state, reason, text } }: { by: Moderation }) {
  return (
    <section class="panel now" aria-label="What the operator decided">
      <p>
        {DECISION_STATES[state].meaning} This is because of {reasonWords(reason)}.
      </p>
      <p class="text">
        The operator writes: <StrangersText text={text} />
      </p>
      <p class="aside">The decision can't be read at the moment. Reload the page to appeal against it.</p>
    </section>
  );
}

/** Whether buyers may find a listing. */
function isFound({ status, moderation }: Service): boolean {
  return status === "active" && moderation === undefined;
}

function NotFound({ serviceId }: { serviceId: string }) {
  return (
    <div class="problem">
      <h1>Your agent has no such listing</h1>
      <p>
        No listing of this agent has the id <code>{serviceId}</code>. If it is another agent's,{" "}
        <a href={`/listings/${encodeURIComponent(serviceId)}`}>its public page</a> may have it.
      </p>
      <p>
        <OwnLink to={listingsAddress()}>All listings of your agent</OwnLink>
      </p>
    </div>
  );
}

/** What changes a listing. Each change says what buyers would be refused for afterwards. */
function Changes({
  listing,
  session,
  onChanged,
  onEnded,
}: {
  listing: Service;
  session: KeptSession;
  onChanged: () => void;
  onEnded: () => void;
}) {
  const [open, setOpen] = useState<"none" | "form" | "archive">("none");
  /** The listing when the form was opened: what another program changes meanwhile isn't changed back. */
  const [start, setStart] = useState(() => fieldsOf(listing));
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [warnings, setWarnings] = useState<readonly ListingWarning[] | undefined>(undefined);
  if (!session.scopes.includes("sell")) {
    return <p class="aside">This session only sees. To change the listing, sign in with “See and act”.</p>;
  }
  if (listing.status === "archived") return <p class="aside">An archived listing can't be changed any more.</p>;

  const path = listingPath(listing.id);
  const saved = ({ body }: Answer) => {
    setWarnings((body as Partial<Written>).warnings);
    setProblem(undefined);
    setOpen("none");
    onChanged();
  };
  const send = async (method: "PATCH" | "DELETE", body?: object) => {
    setBusy(true);
    const answer = await askApi(path, { method, body }, session);
    setBusy(false);
    if (saysEnded(answer)) onEnded();
    else if (answer.status === OK) saved(answer);
    else setProblem(listingRefusal(answer));
  };
  const button = (name: string, onClick: () => void, look: "main" | "quiet" = "quiet") => (
    <button type="button" class={look} disabled={isBusy} onClick={onClick}>
      {name}
    </button>
  );
  const opens = (next: typeof open) => () => {
    setOpen(next);
  };
  const openForm = () => {
    setStart(fieldsOf(listing));
    setOpen("form");
  };
  const save = (fields: ListingFields) => {
    const changes = changesOf(start, fields);
    return Object.keys(changes).length === 0 ? undefined : askApi(path, { method: "PATCH", body: changes }, session);
  };
  return (
    <section aria-label="Change the listing">
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      {warnings !== undefined && <p role="status">Saved.</p>}
      {warnings !== undefined && <Warnings warnings={warnings} />}
      {open === "none" && (
        <div class="buttons">
          {button("Change", openForm, "main")}
          {listing.status === "active"
            ? button("Pause", () => void send("PATCH", { status: "paused" }))
            : button("Activate", () => void send("PATCH", { status: "active" }))}
          {button("Archive…", opens("archive"))}
        </div>
      )}
      {open === "archive" && (
        <div class="panel now">
          <p>
            <strong>Archives the listing for good. It can't be undone.</strong> Nobody can order it any more. Deals
            under way go on.
          </p>
          <div class="buttons">
            {button("Archive for good", () => void send("DELETE"), "main")}
            {button("Cancel", opens("none"))}
          </div>
        </div>
      )}
      {open === "form" && (
        <ListingForm
          session={session}
          start={start}
          name="Save"
          save={save}
          onSaved={saved}
          onCancel={opens("none")}
          onEnded={onEnded}
        />
      )}
    </section>
  );
}

/** Why nobody, or not every buyer, can buy a listing as it is. */
function Warnings({ warnings }: { warnings: readonly ListingWarning[] }) {
  if (warnings.length === 0) return null;
  return (
    <div class="notices">
      {warnings.map(({ code, text }) => (
        <Notice key={code} tone="care">
          {text}
        </Notice>
      ))}
    </div>
  );
}

function Terms({ listing }: { listing: Service }) {
  const { id, description, endpointUrl, updatedAt } = listing;
  return (
    <section aria-labelledby="terms">
      <h2 id="terms">What it says</h2>
      <p class="text">
        <StrangersText text={description} />
      </p>
      <div class="panel">
        <dl class="facts">
          <dt>Price</dt>
          <dd>
            {price(listing.price, listing.currency)} {unitName(listing.priceUnit)}
          </dd>
          <dt>Category</dt>
          <dd>{categoryName(listing.category)}</dd>
          <dt>Network</dt>
          <dd>{networkName(listing.network)}</dd>
          <dt>Delivery</dt>
          <dd>{DELIVERY_TYPES[listing.deliveryType] ?? listing.deliveryType}</dd>
          <dt>Callback</dt>
          <dd>{listing.callbackRequired ? "each buyer must give an address" : "not required"}</dd>
          <dt>New jobs go to</dt>
          <dd>{typeof endpointUrl === "string" ? <StrangersText text={endpointUrl} /> : "no address"}</dd>
          <dt>Changed</dt>
          <dd>
            <Time at={updatedAt} />
          </dd>
          <dt>Id</dt>
          <dd>
            <code>{id}</code>
          </dd>
        </dl>
      </div>
      {isFound(listing) && (
        <p class="more">
          <a href={`/listings/${encodeURIComponent(id)}`}>The page that buyers see</a>
        </p>
      )}
    </section>
  );
}
