import { useEffect, useRef, useState } from "preact/hooks";

import { operatorPlaceOf, viewAddress } from "../data/operator-place.ts";
import type { OperatorPlace, OperatorView } from "../data/operator-place.ts";
import type { Site } from "../data/site.ts";
import { Go, ViewLink } from "../parts/live.tsx";
import { Admin, askAsAdmin } from "./api.ts";
import type { AskAdmin } from "./api.ts";
import { AppealsView } from "./appeals.tsx";
import { DecisionsView } from "./decisions.tsx";
import { HeldKey } from "./held-key.ts";
import { KeyForm } from "./key-form.tsx";
import { LevelsView } from "./levels.tsx";
import { Overview } from "./overview.tsx";
import { QuarantineView } from "./quarantine.tsx";
import { ReportsView } from "./reports.tsx";
import { RulingsView } from "./rulings.tsx";
import { OperatorFrame, OperatorShell } from "./shell.tsx";

const IDLE = "The key was forgotten, because this page wasn't used for 30 minutes. Enter it again to go on here.";
const REFUSED = "The service takes the key no longer. Enter the one that its ADMIN_API_KEY has now.";
const LEFT = "The key is forgotten.";
const UNAUTHORIZED = 401;
/** How often the page looks whether the key's time is over. */
const LOOK_MS = 10_000;

/** The operator's page: the form of the key, or what the key opens. */
export function OperatorPage({ site }: { site: Site }) {
  const held = useRef(new HeldKey(() => Date.now())).current;
  /** Undefined until the page is alive. */
  const [isIn, setIn] = useState<boolean | undefined>(undefined);
  const [why, setWhy] = useState<string | undefined>(undefined);
  const { place, go } = usePlace();

  const leave = (words: string | undefined) => {
    held.forget();
    setIn(false);
    setWhy(words);
  };
  useEffect(() => {
    setIn(false);
    document.documentElement.dataset["alive"] = "true";
    return watchUse(held, {
      onIdle: () => {
        leave(IDLE);
      },
      // A browser may keep the page for its back button, with everything in it.
      onLeft: () => {
        leave(undefined);
      },
    });
  }, []);

  if (isIn === undefined) return <OperatorShell site={site} />;
  if (!isIn) {
    return (
      <OperatorFrame site={site}>
        <KeyForm
          why={why}
          onKey={(key) => {
            held.hold(key);
            setIn(true);
            setWhy(undefined);
          }}
        />
      </OperatorFrame>
    );
  }
  const ask: AskAdmin = async (path, request) => {
    const key = held.read();
    if (key === undefined) {
      leave(IDLE);
      return { status: 0, body: undefined };
    }
    const answer = await askAsAdmin(key, path, request);
    // By now the page may hold another key.
    if (answer.status === UNAUTHORIZED && held.read() === key) leave(REFUSED);
    return answer;
  };
  return (
    <OperatorFrame site={site}>
      <Go.Provider value={go}>
        <Admin.Provider value={ask}>
          <div class="heading">
            <Views current={place.view} />
            <button
              type="button"
              class="quiet"
              onClick={() => {
                leave(LEFT);
              }}
            >
              Forget the key
            </button>
          </div>
          <View place={place} />
        </Admin.Provider>
      </Go.Provider>
    </OperatorFrame>
  );
}

/** The views by their names, in the order of the page. */
const NAMES: Readonly<Record<OperatorView, string>> = {
  overview: "Overview",
  quarantine: "Quarantine",
  reports: "Reports",
  appeals: "Appeals",
  decisions: "Decisions",
  levels: "KYA levels",
  rulings: "Rulings",
};

function Views({ current }: { current: OperatorView }) {
  return (
    <nav class="switch within views" aria-label="Operator">
      {(Object.keys(NAMES) as OperatorView[]).map((view) => (
        <ViewLink key={view} to={viewAddress(view)} isCurrent={view === current}>
          {NAMES[view]}
        </ViewLink>
      ))}
    </nav>
  );
}

function View({ place }: { place: OperatorPlace }) {
  switch (place.view) {
    case "overview":
      return <Overview />;
    case "quarantine":
      return <QuarantineView />;
    case "reports":
      return <ReportsView />;
    case "appeals":
      return <AppealsView />;
    case "decisions":
      // Another subject is another form.
      return <DecisionsView key={JSON.stringify(place)} subject={place.subject} action={place.action} />;
    case "levels":
      return <LevelsView />;
    case "rulings":
      return <RulingsView key={place.network} network={place.network} />;
  }
}

/** Watches whether somebody uses the page. Returns what ends that. */
function watchUse(held: HeldKey, { onIdle, onLeft }: { onIdle: () => void; onLeft: () => void }): () => void {
  const ending = new AbortController();
  const { signal } = ending;
  const look = () => {
    if (held.expire()) onIdle();
  };
  const use = () => {
    look();
    held.touch();
  };
  for (const name of ["keydown", "pointerdown"]) addEventListener(name, use, { signal, capture: true });
  addEventListener("pagehide", onLeft, { signal });
  // A tab in the background has slow timers.
  document.addEventListener("visibilitychange", look, { signal });
  const timer = setInterval(look, LOOK_MS);
  return () => {
    clearInterval(timer);
    ending.abort();
  };
}

/** What the address asks for, and what goes to another address without loading the page again. */
function usePlace(): { place: OperatorPlace; go: (address: string) => void } {
  const [search, setSearch] = useState("");
  const place = operatorPlaceOf(search);
  useEffect(() => {
    const follow = () => {
      setSearch(location.search);
    };
    follow();
    addEventListener("popstate", follow);
    return () => {
      removeEventListener("popstate", follow);
    };
  }, []);
  useEffect(() => {
    document.title = `${NAMES[place.view]} · Operator · Agent marketplace`;
  }, [place.view]);
  const go = (to: string) => {
    history.pushState(null, "", to);
    setSearch(location.search);
    // The link that had the focus may be on the view that has gone.
    document.querySelector<HTMLElement>("#content")?.focus();
    scrollTo(0, 0);
  };
  return { place, go };
}
