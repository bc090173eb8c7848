import { useEffect, useRef, useState } from "preact/hooks";

import type { MissedEvents, WebhookDelivery } from "../../../sdk/src/generated/api-types.ts";
import type { Answer, KeptSession } from "../data/answers.ts";
import { counted } from "../words/amounts.ts";
import { askApi, saysEnded } from "./api.ts";
import { attemptWords, DELIVERY_STATES, sendRefusal } from "./webhook-words.ts";
import { followDelivery, missedPath } from "./webhooks-data.ts";

/** What the buttons of webhooks need of their page. */
export interface Sending {
  session: KeptSession;
  /** Something was sent, or has arrived. */
  onSent: () => void;
  onEnded: () => void;
}

const OK = 200;
const ACCEPTED = 202;

/** A button that sends one delivery, and says what came of it. */
export function SendButton({ name, about, path, ...sending }: Sending & { name: string; about: string; path: string }) {
  const follow = async (answer: Answer, say: (text: string) => void, ended: AbortSignal) => {
    const { id } = (answer.body as { data: WebhookDelivery }).data;
    say("It is on its way…");
    const delivery = await followDelivery(sending.session, id, ended);
    say(delivery === undefined ? "It is still on its way. The list below has it." : outcomeWords(delivery));
  };
  return <Button {...sending} name={name} about={about} path={path} wanted={ACCEPTED} onAnswer={follow} />;
}

function outcomeWords({ status, attempts }: WebhookDelivery): string {
  const last = attempts.at(-1);
  return `${DELIVERY_STATES[status].name}${last === undefined ? "" : `: ${attemptWords(last)}`}.`;
}

/** A button that sends again what a webhook has missed. @param since ISO 8601 */
export function MissedButton({ webhookId, since, ...sending }: Sending & { webhookId: string; since: string }) {
  const told = (answer: Answer, say: (text: string) => void) => {
    const { queued, next } = (answer.body as { data: MissedEvents }).data;
    const more = next === null ? "" : " There are more: press again once these have arrived.";
    say(queued === 0 ? "It has missed nothing." : `${counted(queued, "event")} will be sent again.${more}`);
    return Promise.resolve();
  };
  const button = { name: "Send what it missed", about: ` to ${webhookId}`, path: missedPath(webhookId), wanted: OK };
  return <Button {...sending} {...button} body={{ since }} onAnswer={told} />;
}

/** A button that posts something, with what came of it beside it. */
function Button({
  session,
  onSent,
  onEnded,
  name,
  about,
  path,
  body = {},
  wanted,
  onAnswer,
}: Sending & {
  name: string;
  /** Says to whom can't see it what the button is about. */
  about: string;
  path: string;
  body?: object;
  /** The status of success. */
  wanted: number;
  onAnswer: (answer: Answer, say: (text: string) => void, ended: AbortSignal) => Promise<void>;
}) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const ending = useRef(new AbortController());
  useEffect(() => {
    const own = new AbortController();
    ending.current = own;
    return () => {
      own.abort();
    };
  }, []);
  const press = async () => {
    const { signal } = ending.current;
    const say = (next: string) => {
      if (!signal.aborted) setText(next);
    };
    setBusy(true);
    const answer = await askApi(path, { method: "POST", body }, session);
    if (saysEnded(answer)) {
      onEnded();
      return;
    }
    if (answer.status === wanted) {
      onSent();
      await onAnswer(answer, say, signal);
      if (!signal.aborted) onSent();
    } else say(sendRefusal(answer));
    if (!signal.aborted) setBusy(false);
  };
  return (
    <span class="send">
      <button type="button" class="quiet" aria-label={name + about} disabled={isBusy} onClick={() => void press()}>
        {name}
      </button>
      <span class="aside" role="status">
        {text}
      </span>
    </span>
  );
}
