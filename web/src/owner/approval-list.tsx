import { useState } from "preact/hooks";

import type { Approval } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { ownDealAddress } from "../data/owner-place.ts";
import { Hash, Wallet } from "../parts/hash.tsx";
import { Notice } from "../parts/notice.tsx";
import { State } from "../parts/state.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { usd } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { moment } from "../words/times.ts";
import { askApi, saysEnded } from "./api.ts";
import { OwnLink } from "./deal-link.tsx";
import { FoldedJson } from "./folded-json.tsx";
import { APPROVAL_STATES, boundWords, keyRefusalWords, usdText, USD_PATTERN, usdUnits } from "./key-words.ts";
import type { ApprovalsData } from "./keys-data.ts";
import { Left } from "./left.tsx";
import { SignPanel } from "./sign-panel.tsx";
import type { Signing } from "./sign-panel.tsx";

const TITLE_LENGTH = 80;

/** What approvals need of their page. */
interface Deciding {
  session: KeptSession;
  /** Something was decided. */
  onDecided: () => void;
  onEnded: () => void;
}

/** What keys have asked for above their mandates. */
export function ApprovalSection({ data, now, ...deciding }: Deciding & { data: ApprovalsData; now: number }) {
  const isOpen = ({ status, expiresAt }: Approval) => status === "open" && Date.parse(expiresAt) >= now;
  const open = data.approvals.filter(isOpen);
  const others = data.approvals.filter((approval) => !isOpen(approval));
  return (
    <section aria-labelledby="approvals">
      <h2 id="approvals">Purchases to approve</h2>
      {data.approvals.length === 0 && (
        <Notice>
          None. A key whose mandate asks above an amount has its purchases here.{" "}
          <a href="/guides/mandates">How mandates work</a>
        </Notice>
      )}
      {data.approvals.length > 0 && open.length === 0 && <p class="aside">None waits for you.</p>}
      {open.length > 0 && !deciding.session.scopes.includes("buy") && (
        <p class="aside">
          Your wallet's signature approves. This session only sees, so it can't decline: sign in with “See and act”.
        </p>
      )}
      <ul class="next">
        {open.map((approval) => (
          <li key={approval.id} class="panel now">
            <ApprovalFacts of={approval} />
            <Left until={approval.expiresAt} now={now} />
            <Decision {...deciding} approval={approval} />
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <details class="json">
          <summary>Decided or over: {others.length}</summary>
          <ul class="next">
            {others.map((approval) => (
              <li key={approval.id} class="panel">
                <ApprovalFacts of={approval} />
                {approval.status === "granted" && <Decision {...deciding} approval={approval} />}
              </li>
            ))}
          </ul>
          {data.isShortened && <p class="aside">Older ones: agent-marketplace approvals --all</p>}
        </details>
      )}
    </section>
  );
}

function ApprovalFacts({ of }: { of: Approval }) {
  const { serviceTitle, request, askedUsd, maxUsd, bound, sellerAddress, network, keyId, transactionId } = of;
  const { serviceId } = request;
  const asked = usd(askedUsd);
  const title = <StrangersText text={serviceTitle} max={TITLE_LENGTH} />;
  return (
    <>
      <p>
        <State words={APPROVAL_STATES[of.status]} name={of.status} />{" "}
        <strong>
          {typeof serviceId === "string" ? <a href={`/listings/${encodeURIComponent(serviceId)}`}>{title}</a> : title}
        </strong>{" "}
        for <span title={asked.exact}>{asked.shown}</span>
      </p>
      <p class="aside">
        above the mandate's amount {boundWords(bound)} · from{" "}
        <Wallet address={sellerAddress} what="the seller's address" /> · {networkName(network)} · asked by{" "}
        <code>{keyId}</code> <Time at={of.createdAt} />
      </p>
      {maxUsd !== null && <p class="aside">You approved at most {usd(maxUsd).shown}.</p>}
      {transactionId !== null && (
        <p>
          <OwnLink to={ownDealAddress(transactionId)}>The deal that it became</OwnLink>
        </p>
      )}
      <FoldedJson name="Order, as the key's holder wrote it" value={request} />
    </>
  );
}

/** Grants and declines an approval. */
function Decision({ session, approval, onDecided, onEnded }: Deciding & { approval: Approval }) {
  const [isGranting, setGranting] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isSending, setSending] = useState(false);
  const mayDecline = session.scopes.includes("buy");
  const decline = async () => {
    setSending(true);
    const path = `/api/v1/approvals/${encodeURIComponent(approval.id)}`;
    const answer = await askApi(path, { method: "DELETE" }, session);
    setSending(false);
    if (saysEnded(answer)) onEnded();
    else setProblem(answer.status === OK ? undefined : keyRefusalWords(answer));
    if (!saysEnded(answer)) onDecided();
  };
  if (isGranting) {
    return (
      <GrantPanel
        session={session}
        approval={approval}
        onEnded={onEnded}
        onDone={() => {
          setGranting(false);
          onDecided();
        }}
        onClose={() => {
          setGranting(false);
          onDecided();
        }}
      />
    );
  }
  return (
    <>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <div class="buttons">
        {approval.status === "open" && (
          <button
            type="button"
            class="main"
            onClick={() => {
              setGranting(true);
            }}
          >
            Approve…
          </button>
        )}
        {mayDecline && (
          <button type="button" class="quiet" disabled={isSending} onClick={() => void decline()}>
            {approval.status === "open" ? "Decline" : "Take the approval back"}
          </button>
        )}
      </div>
    </>
  );
}

const OK = 200;

/** What is signed for an approval. */
function GrantPanel({
  session,
  approval,
  onDone,
  onEnded,
  onClose,
}: {
  session: KeptSession;
  approval: Approval;
  onDone: () => void;
  onEnded: () => void;
  onClose: () => void;
}) {
  const least = usdUnits(approval.askedUsd) ?? 0n;
  const [text, setText] = useState(approval.askedUsd);
  const given = usdUnits(text.trim());
  const isEnough = given !== undefined && given >= least;
  const maxUsd = given ?? least;
  const signing: Signing = {
    name: "Approve this purchase",
    isComplete: isEnough,
    sign: async (wallet) => {
      const { sendGrant } = await import("./key-signing.ts");
      return sendGrant(wallet, session, approval, maxUsd);
    },
    onDone,
  };
  return (
    <SignPanel session={session} signing={signing} onEnded={onEnded} onClose={onClose}>
      <p>
        <strong>
          Lets the key buy this once, if the deposit is worth at most {usd(usdText(maxUsd)).shown}, whatever the amounts
          of its mandate. No money moves now.
        </strong>
      </p>
      <div class="register">
        <label>
          At most, in US dollars
          <input
            name="maxUsd"
            value={text}
            pattern={USD_PATTERN}
            inputMode="decimal"
            autocomplete="off"
            aria-invalid={!isEnough}
            aria-describedby={`most-${approval.id}`}
            onInput={(event) => {
              setText(event.currentTarget.value);
            }}
          />
        </label>
        <p class="aside" id={`most-${approval.id}`}>
          {isEnough
            ? "The price may move until the key buys. A dearer purchase asks you again."
            : `At least ${approval.askedUsd}, which was asked for, with up to 9 digits and 6 decimals.`}
        </p>
      </div>
      <dl class="facts">
        <dt>Approval</dt>
        <dd>
          <code>{approval.id}</code>
        </dd>
        <dt>Service</dt>
        <dd>
          <code>{location.host}</code>, {networkName(approval.network)}
        </dd>
        <dt>Key</dt>
        <dd>
          <code>{approval.keyId}</code>
        </dd>
        <dt>Order hash</dt>
        <dd>
          <Hash value={approval.requestHash} what="the order's hash" />
        </dd>
        <dt>Until</dt>
        <dd>{moment(Date.parse(approval.expiresAt))}</dd>
      </dl>
    </SignPanel>
  );
}
