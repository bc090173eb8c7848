import { useState } from "preact/hooks";

import type { Key } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { counted } from "../words/amounts.ts";
import { moment } from "../words/times.ts";
import { keyStatement, mandateTerms } from "./key-words.ts";
import type { KeyAction } from "./key-words.ts";
import type { KnownKeys } from "./keys-data.ts";
import { MandateBars } from "./mandate-bars.tsx";
import { SignPanel } from "./sign-panel.tsx";
import type { Signing } from "./sign-panel.tsx";

/** The agent's keys, once the wallet has had them shown, and what ends them. */
export function KeySection({
  session,
  known,
  onKnown,
  onEnded,
}: {
  session: KeptSession;
  known: KnownKeys | undefined;
  onKnown: (keys: KnownKeys) => void;
  onEnded: () => void;
}) {
  const [asked, setAsked] = useState<KeyAction | undefined>(undefined);
  const close = () => {
    setAsked(undefined);
  };
  const done = ({ body }: Answer) => {
    onKnown({ keys: (body as { data: Key[] }).data, readAt: Date.now() });
    close();
  };
  const button = (name: string, next: KeyAction, about = "") => (
    <button
      type="button"
      class={next.action === "list" && known === undefined ? "main" : "quiet"}
      aria-label={`${name}${about}`}
      onClick={() => {
        setAsked(next);
      }}
    >
      {name}
    </button>
  );
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">API keys</h2>
      {known === undefined && asked === undefined && (
        <div class="panel">
          <p>
            Your agent's programs act with API keys. To see them, sign a text with your wallet. A stolen session alone
            can neither read your keys nor lock you out.
          </p>
          <div class="buttons">{button("Show the keys", { action: "list" })}</div>
        </div>
      )}
      {asked !== undefined && (
        <KeyPanel
          key={keyStatement(asked)}
          session={session}
          asked={asked}
          onDone={done}
          onEnded={onEnded}
          onClose={close}
        />
      )}
      {known !== undefined && (
        <>
          <p class="aside">
            {counted(known.keys.length, "key")}, as of <Time at={known.readAt} />
          </p>
          {known.keys.length === 0 && (
            <Notice>
              Your agent has no key, so no program acts for it. <a href="/guides/cli-keys">How to make one</a>
            </Notice>
          )}
          <ul class="next">
            {known.keys.map((key) => (
              <li key={key.id} class="panel">
                <KeyFacts of={key} />
                <div class="buttons">{button("Revoke", { action: "revoke", keyId: key.id }, ` ${key.id}`)}</div>
              </li>
            ))}
          </ul>
          <div class="buttons">
            {button("Show them again", { action: "list" })}
            {known.keys.length > 0 && button("Freeze all keys", { action: "freeze" })}
          </div>
        </>
      )}
    </section>
  );
}

const NAMES = { list: "Show the keys", revoke: "Revoke a key", freeze: "Freeze all keys" } as const;
const EFFECTS = {
  list: "Shows the agent's keys on this page. Nothing changes.",
  revoke: "Ends this key and its mandate at once, with what it has asked for. It can't be undone. Deals go on.",
  freeze:
    "Ends every key, every mandate and every other session of your agent at once. It can't be undone. Its programs stop until you give them " +
    "a new key. Deals go on, and this page stays signed in.",
} as const;

/** What is signed for an action on keys. */
function KeyPanel({
  session,
  asked,
  onDone,
  onEnded,
  onClose,
}: {
  session: KeptSession;
  asked: KeyAction;
  onDone: (answer: Answer) => void;
  onEnded: () => void;
  onClose: () => void;
}) {
  const signing: Signing = {
    name: NAMES[asked.action],
    isComplete: true,
    sign: async (wallet) => {
      const { sendKeyAction } = await import("./key-signing.ts");
      return sendKeyAction(wallet, session, asked);
    },
    onDone,
  };
  return (
    <SignPanel session={session} signing={signing} onEnded={onEnded} onClose={onClose}>
      <p>
        <strong>{EFFECTS[asked.action]}</strong>
      </p>
      <dl class="facts">
        <dt>Text to sign</dt>
        <dd>
          <code>{keyStatement(asked)}</code>
        </dd>
      </dl>
    </SignPanel>
  );
}

function KeyFacts({ of: { id, createdAt, expiresAt, mandate } }: { of: Key }) {
  return (
    <>
      <p>
        <code>{id}</code> {mandate === null && <span class="mark">no mandate: it may do everything</span>}
        {mandate?.closed === true && <span class="mark">closed: it buys nothing more</span>}
      </p>
      <p class="aside">
        made <Time at={createdAt} />
        {expiresAt !== null && ` · ends ${moment(Date.parse(expiresAt))}`}
      </p>
      {mandate !== null && <MandateBars of={mandate} />}
      {mandate !== null && (
        <dl class="facts">
          {mandateTerms(mandate).flatMap(([name, value]) => [
            <dt key={`${name}:`}>{name}</dt>,
            <dd key={name}>{value}</dd>,
          ])}
        </dl>
      )}
    </>
  );
}
