import { useEffect, useRef, useState } from "preact/hooks";

import { App } from "./app.tsx";
import type { Answers } from "./data/answers.ts";
import { readAnswers } from "./data/refresh.ts";
import { routeOf } from "./data/route.ts";
import type { Route } from "./data/route.ts";
import type { PageState } from "./data/site.ts";
import { headOf } from "./head.ts";
import { Go } from "./parts/live.tsx";
import { Notice } from "./parts/notice.tsx";
import { Time } from "./parts/time.tsx";

/** How often a page that is looked at asks for what is new. Figures and listings are a minute old at most. */
const REFRESH_MS = 30_000;
/** What a page must have answered to be shown. */
const SHOWN = [200, 404];

/** What is shown, and since when nothing newer could be had. */
interface Shown {
  route: Route;
  answers: Answers;
  staleSince?: number | undefined;
}

/** A page that stays up to date, and changes its view without being loaded again. */
export function LivePage({ state: { address, answers, site } }: { state: PageState }) {
  const [shown, setShown] = useState<Shown>(() => ({ route: routeAt(address), answers }));
  /** Counts views, so that a late answer doesn't replace a newer one. */
  const view = useRef(0);
  const freshAt = useRef(Date.now());

  const show = async (route: Route): Promise<void> => {
    view.current += 1;
    const own = view.current;
    const read = await readAnswers(route.requests);
    if (own !== view.current) return;
    if (Object.values(read).every(({ status }) => SHOWN.includes(status))) {
      freshAt.current = Date.now();
      document.title = headOf(route, read).title;
      setShown({ route, answers: read });
    } else {
      setShown((before) =>
        before.route.address === route.address ? { ...before, staleSince: freshAt.current } : { route, answers: read },
      );
    }
  };

  useEffect(() => {
    document.documentElement.dataset["alive"] = "true";
  }, []);

  useEffect(() => {
    // A search stays as it was found: each one counts.
    const isRefreshed = shown.route.page !== "search";
    const timer = setInterval(() => {
      if (isRefreshed && document.visibilityState === "visible") void show(shown.route);
    }, REFRESH_MS);
    const goBack = () => {
      if (!isRefreshed) return;
      const route = routeOf(location.pathname, location.search);
      if (route !== undefined) void show(route);
    };
    addEventListener("popstate", goBack);
    return () => {
      clearInterval(timer);
      removeEventListener("popstate", goBack);
    };
  }, [shown.route]);

  const go = (to: string) => {
    const [pathname = "", search = ""] = to.split("?");
    const route = routeOf(pathname, search);
    if (route === undefined) return;
    history.pushState(null, "", route.address);
    void show(route);
  };

  return (
    <Go.Provider value={go}>
      {shown.staleSince !== undefined && (
        <div class="stale">
          <Notice tone="care">
            The service doesn't answer. What you see is from <Time at={shown.staleSince} />.
          </Notice>
        </div>
      )}
      <App route={shown.route} answers={shown.answers} site={site} />
    </Go.Provider>
  );
}

function routeAt(address: string): Route {
  const [pathname = "", search = ""] = address.split("?");
  const route = routeOf(pathname, search);
  if (route === undefined) throw new Error(`${address} is no page`);
  return route;
}
