import { useEffect, useState } from "preact/hooks";

import { forgetSession, keepSession, keptSession, watchSession } from "../data/kept-session.ts";
import type { KeptSession } from "../data/answers.ts";
import type { Site } from "../data/site.ts";
import { Snippet } from "../parts/snippet.tsx";
import { askApi, saysEnded } from "./api.ts";
import { HomePage } from "./home.tsx";
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
        <HomePage
          key={session.token}
          session={session}
          onEnded={() => {
            leave(session, ENDED);
          }}
          onSignOut={() => {
            leave(session, OUT);
            void askApi("/api/v1/sessions/current", { method: "DELETE" }, session).then((answer) => {
              if (answer.status !== OK && !saysEnded(answer)) setWhy(PERHAPS_OUT);
            });
          }}
        />
      )}
    </OwnerFrame>
  );
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
