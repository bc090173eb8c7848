import { useRef, useState } from "preact/hooks";

import type { Webhook, WebhookDelivery } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { ownDealAddress } from "../data/owner-place.ts";
import { Notice } from "../parts/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { counted } from "../words/amounts.ts";
import { OwnLink } from "./deal-link.tsx";
import { Freshness, useLive } from "./live.tsx";
import { WebhookSecretSection } from "./webhook-secret.tsx";
import { MissedButton, SendButton } from "./webhook-send.tsx";
import type { Sending } from "./webhook-send.tsx";
import { attemptWords, DELIVERY_STATES, kindWords, webhookState } from "./webhook-words.ts";
import { pingPath, readWebhooks, redeliverPath } from "./webhooks-data.ts";
import type { DeliveryFilters, WebhooksData } from "./webhooks-data.ts";

const URL_LENGTH = 200;
const ALL: DeliveryFilters = { status: "", webhookId: "" };

/** The agent's webhooks: whether they work, what they got, and what sends it again. */
export function WebhooksPage({ session, onEnded }: { session: KeptSession; onEnded: () => void }) {
  const [filters, setFilters] = useState(ALL);
  return (
    <>
      <div class="title">
        <h1>Webhooks</h1>
        {!session.scopes.includes("sell") && (
          <p class="lead">This session only sees. To send something again, sign in with “See and act”.</p>
        )}
      </div>
      <Facts
        key={`${filters.status} ${filters.webhookId}`}
        session={session}
        filters={filters}
        onFilter={setFilters}
        onEnded={onEnded}
      />
      <WebhookSecretSection session={session} onEnded={onEnded} />
    </>
  );
}

function Facts({
  session,
  filters,
  onFilter,
  onEnded,
}: {
  session: KeptSession;
  filters: DeliveryFilters;
  onFilter: (filters: DeliveryFilters) => void;
  onEnded: () => void;
}) {
  const pages = useRef(1);
  const read = () => readWebhooks(session, filters, () => pages.current);
  const live = useLive<WebhooksData>(session, read, onEnded);
  const { data } = live;
  const sending: Sending = { session, onSent: live.refresh, onEnded };
  const more = () => {
    pages.current += 1;
    live.refresh();
  };
  return (
    <>
      <Freshness of={live} what="Reading your agent's webhooks…" />
      {data !== undefined && (
        <>
          <section aria-labelledby="registered">
            <h2 id="registered">Registered addresses</h2>
            {data.webhooks.length === 0 && <NoWebhooks />}
            <ul class="next">
              {data.webhooks.map((webhook) => (
                <li key={webhook.id} class="panel">
                  <WebhookFacts of={webhook} sending={sending} />
                </li>
              ))}
            </ul>
          </section>
          <section aria-labelledby="sent">
            <h2 id="sent">Sent in the last seven days</h2>
            <DeliveryFilter filters={filters} webhooks={data.webhooks} onFilter={onFilter} />
            {data.deliveries.length === 0 ? (
              <Notice>
                {filters.status === "" && filters.webhookId === ""
                  ? "Nothing was sent. What happens to your agent's deals is sent to its addresses, and is here then."
                  : "Nothing that was sent passes these filters."}
              </Notice>
            ) : (
              <ul class="next">
                {data.deliveries.map((delivery) => (
                  <li key={delivery.id} class="panel">
                    <DeliveryFacts of={delivery} sending={sending} />
                  </li>
                ))}
              </ul>
            )}
            {data.nextCursor !== null && (
              <p class="more">
                <button type="button" class="quiet" onClick={more}>
                  More
                </button>
              </p>
            )}
          </section>
        </>
      )}
    </>
  );
}

function NoWebhooks() {
  return (
    <>
      <Notice>
        None. A registered address is told of your agent's events. Orders and answers of single deals go to the
        addresses that these name. <a href="/guides/webhooks">How webhooks work</a>
      </Notice>
      <Snippet
        title="Register one"
        lines={["agent-marketplace webhooks add https://agent.example/events --events escrow.funded,escrow.released"]}
      />
    </>
  );
}

function WebhookFacts({ of, sending }: { of: Webhook; sending: Sending }) {
  const { id, url, events, durable, status, failingSince, disabledAt } = of;
  const state = webhookState(of);
  return (
    <>
      <p>
        <State words={state} name={status} />{" "}
        <strong>
          <StrangersText text={url} max={URL_LENGTH} />
        </strong>
      </p>
      <p class="aside">
        <code>{id}</code> · {events.join(", ")} · {durable ? "repeated for 24 hours" : "repeated once"}
      </p>
      {failingSince !== null && (
        <p>
          It has failed since <Time at={failingSince} />.{" "}
          {status === "active" && "After five days without an acknowledgement it is disabled."}
        </p>
      )}
      {disabledAt !== null && (
        <p>
          Disabled <Time at={disabledAt} />: nothing is sent to it. Once it works again, your API key enables it:{" "}
          <code>PATCH /api/v1/webhooks/{id}</code> with <code>{`{"status": "active"}`}</code>.
        </p>
      )}
      {status === "active" && sending.session.scopes.includes("sell") && (
        <div class="buttons">
          <SendButton {...sending} name="Send a test event" about={` to ${id}`} path={pingPath(id)} />
          <MissedButton {...sending} webhookId={id} since={of.createdAt} />
        </div>
      )}
    </>
  );
}

const STATUSES = ["pending", "acknowledged", "failed", "dropped"] as const;

function DeliveryFilter({
  filters,
  webhooks,
  onFilter,
}: {
  filters: DeliveryFilters;
  webhooks: readonly Webhook[];
  onFilter: (filters: DeliveryFilters) => void;
}) {
  const choice = (
    name: keyof DeliveryFilters,
    label: string,
    options: readonly (readonly [value: string, words: string])[],
  ) => (
    <label>
      {label}
      <select
        name={name}
        value={filters[name]}
        onChange={(event) => {
          onFilter({ ...filters, [name]: event.currentTarget.value });
        }}
      >
        <option value="">Any</option>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
  return (
    <form class="search" aria-label="Filters">
      <div class="filters">
        {choice(
          "status",
          "State",
          STATUSES.map((status) => [status, DELIVERY_STATES[status].name] as const),
        )}
        {choice(
          "webhookId",
          "Webhook",
          webhooks.map(({ id }) => [id, id] as const),
        )}
      </div>
    </form>
  );
}

function DeliveryFacts({ of, sending }: { of: WebhookDelivery; sending: Sending }) {
  const { id, event, status, kind, url, createdAt, transactionId, webhookId, attempts } = of;
  const why = kindWords(kind);
  return (
    <>
      <p>
        <State words={DELIVERY_STATES[status]} name={status} /> <strong>{event}</strong>
        {why !== "" && ` · ${why}`} <Time at={createdAt} />
      </p>
      <p class="aside">
        to <StrangersText text={url} max={URL_LENGTH} /> · <code>{id}</code>
        {transactionId !== null && (
          <>
            {" · "}
            <OwnLink to={ownDealAddress(transactionId)}>the deal</OwnLink>
          </>
        )}
      </p>
      <Attempts attempts={attempts} />
      {status !== "pending" && sending.session.scopes.includes("sell") && (
        <div class="buttons">
          <SendButton {...sending} name="Send again" about={` ${id}`} path={redeliverPath(id)} />
          {webhookId === null && <span class="aside">It goes to the address of the deal or the listing.</span>}
        </div>
      )}
    </>
  );
}

const ANSWER_LENGTH = 1_024;

/** Each attempt, and what the address answered: a stranger's text. */
function Attempts({ attempts }: { attempts: WebhookDelivery["attempts"] }) {
  const last = attempts.at(-1);
  if (last === undefined) return <p class="aside">No attempt yet.</p>;
  return (
    <details class="json">
      <summary>
        {counted(attempts.length, "attempt")}: {attemptWords(last)}
      </summary>
      <ol>
        {attempts.map((attempt) => (
          <li key={attempt.startedAt}>
            <p>
              {attemptWords(attempt)} · <Time at={attempt.startedAt} />
            </p>
            {attempt.error !== null && (
              <p class="aside">
                <StrangersText text={attempt.error} max={ANSWER_LENGTH} />
              </p>
            )}
            {attempt.answer !== null && attempt.answer !== "" && (
              <pre>
                <StrangersText text={attempt.answer} max={ANSWER_LENGTH} />
              </pre>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}
