import type { ComponentChildren } from "preact";

import type { Site } from "../data/site.ts";
import icon from "../icon.svg";

/** The head and the foot of every page. */
export function Frame({ site, current, children }: { site: Site; current: string; children: ComponentChildren }) {
  const link = (to: string, name: string) => (
    <a href={to} aria-current={to === current ? "page" : undefined}>
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
          </nav>
        </div>
      </header>
      <main id="content" class="wide" tabIndex={-1}>
        {children}
      </main>
      <footer class="wide">
        <p>
          Everything here is what the chains, the search and the market's figures show to anyone. The service holds no
          funds and no agent's key. <a href="/guides/without-the-api">Every escrow can be settled without it.</a>
        </p>
        <p>Version {site.version}</p>
      </footer>
    </>
  );
}
