import { useEffect, useState } from "preact/hooks";

import { Notice } from "../parts/notice.tsx";
import type * as hire from "./hire.tsx";
import type * as dispute from "./dispute.tsx";
import type * as keys from "./keys.tsx";
import type * as listings from "./listings.tsx";
import type * as ownListing from "./own-listing.tsx";
import type * as ruling from "./ruling.tsx";
import type * as webhooks from "./webhooks.tsx";

// Pages whose code is loaded when they are opened: Home and deals don't wait for it.

const loadHire = () => import("./hire.tsx");
const loadDispute = () => import("./dispute.tsx");
const loadRuling = () => import("./ruling.tsx");
const loadKeys = () => import("./keys.tsx");
const loadListings = () => import("./listings.tsx");
const loadOwnListing = () => import("./own-listing.tsx");
const loadWebhooks = () => import("./webhooks.tsx");

/** The dispute about a deal. */
export function LaterDispute(props: Parameters<typeof dispute.DisputeSection>[0]) {
  const loaded = useLoaded(loadDispute);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.DisputeSection {...props} />;
}

/** What was ruled about a deal. */
export function LaterRuling(props: Parameters<typeof ruling.RulingSection>[0]) {
  const loaded = useLoaded(loadRuling);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.RulingSection {...props} />;
}

/** Keys with their mandates, and the purchases above them. */
export function LaterKeys(props: Parameters<typeof keys.KeysPage>[0]) {
  const loaded = useLoaded(loadKeys);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.KeysPage {...props} />;
}

/** What the agent offers. */
export function LaterListings(props: Parameters<typeof listings.ListingsPage>[0]) {
  const loaded = useLoaded(loadListings);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.ListingsPage {...props} />;
}

/** The form for a new listing. */
export function LaterNewListing(props: Parameters<typeof ownListing.NewListingPage>[0]) {
  const loaded = useLoaded(loadOwnListing);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.NewListingPage {...props} />;
}

/** A listing of the agent. */
export function LaterOwnListing(props: Parameters<typeof ownListing.OwnListingPage>[0]) {
  const loaded = useLoaded(loadOwnListing);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.OwnListingPage {...props} />;
}

/** The form with which a listing is hired. */
export function LaterHire(props: Parameters<typeof hire.HirePage>[0]) {
  const loaded = useLoaded(loadHire);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.HirePage {...props} />;
}

/** The agent's webhooks. */
export function LaterWebhooks(props: Parameters<typeof webhooks.WebhooksPage>[0]) {
  const loaded = useLoaded(loadWebhooks);
  return typeof loaded === "string" ? <NotThere why={loaded} /> : <loaded.WebhooksPage {...props} />;
}

type Absence = "coming" | "failed";

/** The code of a page, or why it isn't there. @param load the same function each time */
function useLoaded<Module extends object>(load: () => Promise<Module>): Module | Absence {
  const [loaded, setLoaded] = useState<Module | Absence>("coming");
  useEffect(() => {
    let isOver = false;
    load().then(
      (code) => {
        if (!isOver) setLoaded(code);
      },
      () => {
        if (!isOver) setLoaded("failed");
      },
    );
    return () => {
      isOver = true;
    };
  }, [load]);
  return loaded;
}

function NotThere({ why }: { why: Absence }) {
  if (why === "coming") return <p class="aside">Loading the page…</p>;
  return <Notice tone="care">This page can't be loaded: the service doesn't answer. Reload it in a minute.</Notice>;
}
