import type { Message, TimelineAttempt, Transaction } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { Notice } from "../parts/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { count, counted } from "../words/amounts.ts";
import { ESCROW_EVENTS } from "../words/states.ts";
import type { StateWords } from "../words/states.ts";
import type { DealData } from "./deal-data.ts";
import type { Finding } from "./dispute-words.ts";
import { FoldedJson } from "./folded-json.tsx";

/** What was ordered and what was delivered. */
export function Payloads({ deal, isSeller }: { deal: Transaction; isSeller: boolean }) {
  const { requestPayload, responsePayload, proofHash, proofVerified } = deal;
  return (
    <section aria-labelledby="payloads">
      <h2 id="payloads">What was ordered and delivered</h2>
      {requestPayload === null ? (
        <p class="aside">The order has no details of its own.</p>
      ) : (
        <FoldedJson name="Order" value={requestPayload} />
      )}
      {responsePayload !== null && <FoldedJson name="Delivery" value={responsePayload} isOpen />}
      {responsePayload === null && (
        <p class="aside">
          {proofHash === null
            ? "Nothing is delivered yet."
            : isSeller
              ? "The chain has your delivery's hash, and the service has no payload for it yet."
              : "The chain has the delivery's hash. The seller hasn't handed its content over."}
        </p>
      )}
      {responsePayload !== null && proofHash !== null && (
        <p class="aside">
          {proofVerified === true
            ? "Its hash is the one that the seller committed to on chain."
            : "What the seller committed to on chain isn't the hash of this content."}
        </p>
      )}
    </section>
  );
}

const RESULTS: Readonly<Record<string, StateWords>> = {
  pass: { name: "Holds", meaning: "", tone: "good" },
  fail: { name: "Fails", meaning: "", tone: "bad" },
  open: { name: "Open", meaning: "", tone: "care" },
};
const FACTS: Readonly<Record<string, string>> = {
  payload_in_time: "The content was handed over in time",
  proof_matches: "Its hash is the one on chain",
  schema_matches: "It has the agreed form",
};

/** The agreed criteria, and how the delivery stands up to them. */
export function Criteria({ criteria, report, deal }: Pick<DealData, "criteria" | "report" | "deal">) {
  const texts = checksIn(criteria);
  return (
    <section aria-labelledby="criteria">
      <h2 id="criteria">What was agreed</h2>
      {criteria === undefined ? (
        <p class="aside">The service has no criteria for this deal, or can't read them at the moment.</p>
      ) : (
        <FoldedJson name="Criteria" value={criteria} />
      )}
      {report === undefined && texts.length > 0 && (
        <ul class="checks panel">
          {texts.map((text) => (
            <li key={text}>
              <StrangersText text={text} />
            </li>
          ))}
        </ul>
      )}
      {report === undefined && deal.proofHash !== null && (
        <p class="aside">The delivery can't be checked at the moment.</p>
      )}
      {report !== undefined && (
        <Findings facts={report.facts} checks={report.checks.map(({ text, ...found }) => ({ name: text, ...found }))} />
      )}
    </section>
  );
}

/** Facts and checks of a delivery. */
export function Findings({ facts, checks }: { facts: readonly Finding[]; checks: readonly Finding[] }) {
  return (
    <ul class="checks panel">
      {[...facts, ...checks].map(({ name, result, detail }, at) => (
        <li key={name}>
          <p>
            <State words={RESULTS[result]} name={result} />{" "}
            {at < facts.length ? (FACTS[name] ?? name) : <StrangersText text={name} />}
          </p>
          <p class="aside">
            <StrangersText text={detail} />
          </p>
        </li>
      ))}
    </ul>
  );
}

/** The checks of a criteria document, in the buyer's words. */
function checksIn(document: Record<string, unknown> | undefined): readonly string[] {
  const { checks } = (document?.["criteria"] ?? {}) as { checks?: unknown };
  return Array.isArray(checks) ? [...new Set(checks.filter((check) => typeof check === "string"))] : [];
}

/** What both parties have written about a deal. */
export function Messages({ messages, session }: { messages: DealData["messages"]; session: KeptSession }) {
  return (
    <section aria-labelledby="messages">
      <h2 id="messages">Messages</h2>
      <MessageList messages={messages} session={session} />
    </section>
  );
}

function MessageList({ messages, session }: { messages: DealData["messages"]; session: KeptSession }) {
  if (messages === undefined) return <p class="aside">They can't be read at the moment.</p>;
  if (messages.count === 0) return <p class="aside">Nobody has written about this deal.</p>;
  if (!session.scopes.includes("message")) {
    return (
      <Notice>
        There {messages.count === 1 ? "is" : "are"} {counted(messages.count, "message")}. This session sees no contents:
        sign in with “See and act” to read them here.
      </Notice>
    );
  }
  const left = messages.count - messages.shown.length;
  return (
    <>
      {left > 0 && <p class="aside">{counted(left, "message")} more: agent-marketplace messages</p>}
      <ul class="messages">
        {messages.shown.map((message) => (
          <li key={message.id} class="panel">
            <p class="aside">
              {message.fromAgentId === session.agentId ? "You" : "The other party"} · <Time at={message.createdAt} />
            </p>
            <Content message={message} />
          </li>
        ))}
      </ul>
    </>
  );
}

function Content({ message: { body, encrypted } }: { message: Message }) {
  if (encrypted !== undefined) {
    return (
      <>
        <p>Encrypted: the service can't read it, and neither can this page.</p>
        <Snippet title="With the command line" lines={["agent-marketplace messages"]} />
      </>
    );
  }
  if (typeof body === "string") {
    return (
      <p class="text">
        <StrangersText text={body} />
      </p>
    );
  }
  return <FoldedJson name="JSON" value={body ?? null} isOpen />;
}

const OTHER_EVENTS: Readonly<Record<string, string>> = {
  CheckedOut: "The buyer checked out",
  PayloadReceived: "The seller handed the content over",
};

/** Every move of a deal, the newest first. */
export function Events({ timeline }: Pick<Transaction, "timeline">) {
  return (
    <section aria-labelledby="events">
      <h2 id="events">What happened</h2>
      <ol class="moves panel">
        {timeline
          .toSorted((left, right) => right.at.localeCompare(left.at))
          .map(({ event, at, txHash, blockNumber }) => (
            <li key={event + at}>
              <p>{ESCROW_EVENTS[event] ?? OTHER_EVENTS[event] ?? event}</p>
              <p class="aside">
                <Time at={at} />
                {blockNumber !== null && ` · block ${count(blockNumber)}`}
                {txHash !== null && " · "}
                {txHash !== null && <Hash value={txHash} what="the transaction's hash" />}
              </p>
            </li>
          ))}
      </ol>
    </section>
  );
}

/** What the agent's webhooks were told about a deal. Nothing without any. */
export function Attempts({ attempts }: { attempts: readonly TimelineAttempt[] | undefined }) {
  if (attempts === undefined || attempts.length === 0) return null;
  return (
    <section aria-labelledby="attempts">
      <h2 id="attempts">Your webhooks, in the last seven days</h2>
      <details class="json">
        <summary>{counted(attempts.length, "attempt")}</summary>
        <ul>
          {attempts.toReversed().map(({ at, title, proof }) => (
            <li key={`${proof.deliveryId}-${proof.attempt}`}>
              <p>{title}</p>
              <p class="aside">
                <Time at={at} />
                {proof.statusCode !== null && ` · status ${proof.statusCode}`} · delivery{" "}
                <code>{proof.deliveryId}</code>
              </p>
            </li>
          ))}
        </ul>
      </details>
    </section>
  );
}
