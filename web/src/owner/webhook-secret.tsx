import { useState } from "preact/hooks";

import type { WebhookSecret } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { Snippet } from "../parts/snippet.tsx";
import { moment } from "../words/times.ts";
import { secretStatement } from "./key-words.ts";
import type { SecretAction } from "./key-words.ts";
import { SignPanel } from "./sign-panel.tsx";
import type { Signing } from "./sign-panel.tsx";

const NAMES: Readonly<Record<SecretAction, string>> = {
  read: "Show the secret",
  rotate: "Make the next secret",
  activate: "Activate the next secret",
};
const EFFECTS: Readonly<Record<SecretAction, string>> = {
  read: "Shows the secret on this page. Nothing changes.",
  rotate: "Makes the next secret and shows both. This one signs until you activate the next, at most 24 hours.",
  activate: "The next secret signs from now on. A receiver that doesn't know it yet refuses your webhooks.",
};

/** The secret that signs the agent's webhooks. Only the wallet's signature shows or changes it: with it, a thief could forge them. */
export function WebhookSecretSection({ session, onEnded }: { session: KeptSession; onEnded: () => void }) {
  const [asked, setAsked] = useState<SecretAction | undefined>(undefined);
  const [known, setKnown] = useState<WebhookSecret | undefined>(undefined);
  const next = known?.next ?? null;
  const close = () => {
    setAsked(undefined);
  };
  const button = (action: SecretAction) => (
    <button
      type="button"
      class="quiet"
      onClick={() => {
        setAsked(action);
      }}
    >
      {NAMES[action]}
    </button>
  );
  return (
    <section aria-labelledby="secret">
      <h2 id="secret">The secret that signs them</h2>
      <p class="text">
        Your receiver knows by it that a webhook is genuine. To rotate it, make the next one, let your receiver accept
        both, then activate the next. Your wallet signs for each step.{" "}
        <a href="/guides/webhooks#rotating-the-secret">How rotating works</a>
      </p>
      {known !== undefined && <Snippet title="It signs now" lines={[known.secret]} />}
      {next !== null && (
        <>
          <Snippet title="It signs next" lines={[next.secret]} />
          <p class="aside">It signs by itself from {moment(Date.parse(next.activatesAt))} on.</p>
        </>
      )}
      {asked === undefined ? (
        <div class="buttons">
          {button("read")}
          {button("rotate")}
          {next !== null && button("activate")}
        </div>
      ) : (
        <SecretPanel
          key={asked}
          session={session}
          action={asked}
          onDone={({ body }) => {
            setKnown((body as { data: WebhookSecret }).data);
            close();
          }}
          onEnded={onEnded}
          onClose={close}
        />
      )}
    </section>
  );
}

/** What is signed for an action on the secret. */
function SecretPanel({
  session,
  action,
  onDone,
  onEnded,
  onClose,
}: {
  session: KeptSession;
  action: SecretAction;
  onDone: (answer: Answer) => void;
  onEnded: () => void;
  onClose: () => void;
}) {
  const signing: Signing = {
    name: NAMES[action],
    isComplete: true,
    sign: async (wallet) => {
      const { sendSecretAction } = await import("./key-signing.ts");
      return sendSecretAction(wallet, session, action);
    },
    onDone,
  };
  return (
    <SignPanel session={session} signing={signing} onEnded={onEnded} onClose={onClose}>
      <p>
        <strong>{EFFECTS[action]}</strong>
      </p>
      <dl class="facts">
        <dt>Text to sign</dt>
        <dd>
          <code>{secretStatement(action)}</code>
        </dd>
      </dl>
    </SignPanel>
  );
}
