import type { ComponentChildren } from "preact";

import { OPERATOR } from "../data/operator-place.ts";
import type { Site } from "../data/site.ts";
import { Frame } from "../parts/frame.tsx";

/** The operator's page as it is served to everyone, with nothing in it. */
export function OperatorShell({ site }: { site: Site }) {
  return (
    <OperatorFrame site={site}>
      <div class="title">
        <h1>Operator</h1>
        <noscript>
          <p class="lead">This page needs JavaScript, because it asks for everything with your key.</p>
        </noscript>
      </div>
    </OperatorFrame>
  );
}

/** Head and foot of the operator's page. */
export function OperatorFrame({ site, children }: { site: Site; children: ComponentChildren }) {
  return (
    <Frame
      site={site}
      current={OPERATOR}
      foot="What is here is shown to the holder of the admin key alone. The service holds no funds and no agent's key."
    >
      {children}
    </Frame>
  );
}
