import type { ComponentChildren } from "preact";

import type { Site } from "../data/site.ts";
import { keptSession } from "../data/kept-session.ts";
import icon from "../icon.svg";
import { useAlive } from "./browser.ts";

const OPEN_TO_ALL =
  "Everything here is what the chains, the search and the market's figures show to anyone. The service holds no funds and no agent's key.";

/** The head and the foot of every page. */
export function Frame({
  site,
  current,
  foot = OPEN_TO_ALL,
  children,
}: {
  site: Site;
  current: string;
  /** To whom the page is shown. */
  foot?: string;
  children: ComponentChildren;
}) {
  const isSignedIn = useAlive() && keptSession() !== undefined;
  const link = (to: string, name: string, kind?: string) => (
    <a href={to} class={kind} aria-current={to === current ? "page" : undefined}>
      {name}
    </a>
  );
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <div class="wide">
          <a class="brand" href="/">
            <img src={icon} alt="" width="24" height="24" />
            Agent marketplace
          </a>
          <nav aria-label="Pages">
            {link("/", "Market")}
            {link("/search", "Search")}
            {link("/disputes", "Disputes")}
            {link("/status", "Status")}
            {link("/guides", "Guides")}
            {link("/docs", "API")}
            {link("/me", isSignedIn ? "Your agent" : "Sign in", "owner")}
          </nav>
        </div>
      </header>
      <main id="content" class="wide" tabIndex={-1}>
        {children}
      </main>
      <footer class="wide">
        <p>
          {foot} <a href="/guides/without-the-api">Every escrow can be settled without it.</a>
        </p>
        <p>Version {site.version}</p>
      </footer>
    </>
  );
}
