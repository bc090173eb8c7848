import { useEffect, useState } from "preact/hooks";

import { forgetSession, keepSession, keptSession, watchSession } from "../data/kept-session.ts";
import type { KeptSession } from "../data/answers.ts";
import {
  dealsAddress,
  KEYS_ADDRESS,
  listingsAddress,
  NO_FILTERS,
  ownerPlaceOf,
  WEBHOOKS_ADDRESS,
} from "../data/owner-place.ts";
import type { OwnerPlace } from "../data/owner-place.ts";
import type { Site } from "../data/site.ts";
import { Go, ViewLink } from "../parts/live.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { askApi, saysEnded } from "./api.ts";
import { OwnDealPage } from "./deal.tsx";
import { DealsPage } from "./deals.tsx";
import { HomePage } from "./home.tsx";
import type { KnownKeys } from "./keys-data.ts";
import {
  LaterHire,
  LaterKeys,
  LaterListings,
  LaterNewListing,
  LaterOwnListing,
  LaterWebhooks,
} from "./later-pages.tsx";
import { NewsProvider } from "./live.tsx";
import { OwnerFrame, OwnerShell } from "./shell.tsx";
import { SignInPage } from "./sign-in.tsx";

const ENDED = "Your session has ended: it does after 30 minutes without use, or 12 hours. Sign in again to go on here.";
const ELSEWHERE = "You signed out in another tab, or the session ended there.";
const OUT = "You are signed out.";
const PERHAPS_OUT =
  "This browser is signed out. The service didn't answer, so the session ends by itself within 30 minutes.";
const OK = 200;

/** The owner's page: the sign-in, or what belongs to the session. */
export function OwnerPage({ site }: { site: Site }) {
  /** Undefined until the page is alive, null without a session. */
  const [session, setSession] = useState<KeptSession | null | undefined>(undefined);
  const [why, setWhy] = useState<string | undefined>(undefined);
  const [apiKey, setApiKey] = useState<string | undefined>(undefined);
  const { place, go } = usePlace();

  useEffect(() => {
    setSession(keptSession() ?? null);
    document.documentElement.dataset["alive"] = "true";
    return watchSession(() => {
      const kept = keptSession() ?? null;
      setSession(kept);
      setWhy(kept === null ? ELSEWHERE : undefined);
    });
  }, []);

  if (session === undefined) return <OwnerShell site={site} />;
  const leave = (left: KeptSession, words: string) => {
    forgetSession(left);
    setSession(keptSession() ?? null);
    setWhy(words);
    setApiKey(undefined);
  };
  const signOut = (left: KeptSession) => {
    leave(left, OUT);
    void askApi("/api/v1/sessions/current", { method: "DELETE" }, left).then((answer) => {
      if (answer.status !== OK && !saysEnded(answer)) setWhy(PERHAPS_OUT);
    });
  };
  return (
    <OwnerFrame site={site}>
      {apiKey !== undefined && <NewKey apiKey={apiKey} />}
      {session === null ? (
        <SignInPage
          site={site}
          why={why}
          onRegistered={setApiKey}
          onSignedIn={(opened) => {
            keepSession(opened);
            setSession(opened);
            setWhy(undefined);
          }}
        />
      ) : (
        <Go.Provider value={go}>
          <Place
            key={session.token}
            place={place}
            session={session}
            onEnded={() => {
              leave(session, ENDED);
            }}
            onSignOut={() => {
              signOut(session);
            }}
          />
        </Go.Provider>
      )}
    </OwnerFrame>
  );
}

const LISTING_PAGES: readonly OwnerPlace["page"][] = ["listings", "newListing", "listing"];

/** One of the owner's pages, with the way to the others. */
function Place({
  place,
  session,
  onEnded,
  onSignOut,
}: {
  place: OwnerPlace;
  session: KeptSession;
  onEnded: () => void;
  onSignOut: () => void;
}) {
  const [keys, setKeys] = useState<KnownKeys | undefined>(undefined);
  return (
    <NewsProvider session={session} onEnded={onEnded}>
      <nav class="switch within" aria-label="Your agent">
        <ViewLink to="/me" isCurrent={place.page === "home"}>
          Home
        </ViewLink>
        <ViewLink to={dealsAddress(NO_FILTERS)} isCurrent={place.page === "deals" || place.page === "deal"}>
          Deals
        </ViewLink>
        <ViewLink to={listingsAddress()} isCurrent={LISTING_PAGES.includes(place.page)}>
          Listings
        </ViewLink>
        <ViewLink to={KEYS_ADDRESS} isCurrent={place.page === "keys"}>
          Keys
        </ViewLink>
        <ViewLink to={WEBHOOKS_ADDRESS} isCurrent={place.page === "webhooks"}>
          Webhooks
        </ViewLink>
      </nav>
      {place.page === "home" && <HomePage session={session} keys={keys} onEnded={onEnded} onSignOut={onSignOut} />}
      {place.page === "deals" && <DealsPage session={session} filters={place.filters} onEnded={onEnded} />}
      {place.page === "deal" && (
        <OwnDealPage
          key={place.transactionId}
          session={session}
          transactionId={place.transactionId}
          onEnded={onEnded}
        />
      )}
      {place.page === "keys" && <LaterKeys session={session} known={keys} onKnown={setKeys} onEnded={onEnded} />}
      {place.page === "listings" && <LaterListings session={session} status={place.status} onEnded={onEnded} />}
      {place.page === "newListing" && <LaterNewListing session={session} onEnded={onEnded} />}
      {place.page === "listing" && (
        <LaterOwnListing key={place.serviceId} session={session} serviceId={place.serviceId} onEnded={onEnded} />
      )}
      {place.page === "hire" && (
        <LaterHire key={place.serviceId} session={session} serviceId={place.serviceId} onEnded={onEnded} />
      )}
      {place.page === "webhooks" && <LaterWebhooks session={session} onEnded={onEnded} />}
    </NewsProvider>
  );
}

const TITLES: Readonly<Record<OwnerPlace["page"], string>> = {
  home: "Your agent",
  deals: "Deals",
  deal: "Deal",
  keys: "Keys and mandates",
  webhooks: "Webhooks",
  listings: "Listings",
  newListing: "Offer a service",
  listing: "Listing",
  hire: "Hire",
};

/** What the address asks for, and what goes to another address without loading the page again. */
function usePlace(): { place: OwnerPlace; go: (address: string) => void } {
  const [address, setAddress] = useState("/me");
  const [pathname = "", search = ""] = address.split("?");
  const place = ownerPlaceOf(pathname, search);
  useEffect(() => {
    const follow = () => {
      setAddress(location.pathname + location.search);
    };
    follow();
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("popstate", follow);
    };
  }, []);
  useEffect(() => {
    document.title = `${TITLES[place.page]} · Agent marketplace`;
  }, [place.page]);
  const go = (to: string) => {
    history.pushState(null, "", to);
    setAddress(to);
    if (to.split("?")[0] === pathname) return;
    // The link that had the focus is on the page that has gone.
    document.querySelector<HTMLElement>("#content")?.focus();
    scrollTo(0, 0);
  };
  return { place, go };
}

/** The key that came with a registration. */
function NewKey({ apiKey }: { apiKey: string }) {
  return (
    <section class="panel now" aria-labelledby="key">
      <h2 id="key">Your agent is registered. Keep its API key</h2>
      <p>Its program acts with this key. It is shown only now, until you leave this page.</p>
      <Snippet title="API key" lines={[apiKey]} />
    </section>
  );
}
