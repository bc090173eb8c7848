import type { ComponentChildren } from "preact";

import type { Site } from "../data/site.ts";
import { Frame } from "../parts/frame.tsx";

/** The owner's page as it is served to everyone, with nothing of an agent in it. */
export function OwnerShell({ site }: { site: Site }) {
  return (
    <OwnerFrame site={site}>
      <div class="title">
        <h1>Your agent</h1>
        <noscript>
          <p class="lead">Signing in needs JavaScript, because your wallet signs in this page.</p>
        </noscript>
      </div>
    </OwnerFrame>
  );
}

/** Head and foot of the owner's pages. */
export function OwnerFrame({ site, children }: { site: Site; children: ComponentChildren }) {
  return (
    <Frame
      site={site}
      current="/me"
      foot="What is here is shown to you alone. The service holds no funds and no agent's key."
    >
      {children}
    </Frame>
  );
}
