import { useState } from "preact/hooks";

import { FoldedJson } from "../owner/folded-json.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { useAction } from "./acting.ts";
import type { DisputeCase } from "./answers.ts";
import { casePath } from "./api.ts";
import { Outcome } from "./form-parts.tsx";

/** What both parties of a dispute said. It is read when the operator asks, since each call is an entry of the audit. */
export function Case({ disputeId }: { disputeId: string }) {
  const { step, send } = useAction();
  const [shown, setShown] = useState<DisputeCase | undefined>(undefined);
  const read = async () => {
    const answer = await send<{ data: DisputeCase }>(casePath(disputeId), {}, () => "Read.");
    setShown(answer?.data);
  };
  return (
    <>
      <div class="buttons">
        <button type="button" class="quiet" disabled={step.at === "sending"} onClick={() => void read()}>
          {shown === undefined ? "Read both sides" : "Read both sides again"}
        </button>
      </div>
      {step.at === "problem" && <Outcome step={step} />}
      {shown !== undefined && <Sides of={shown} />}
    </>
  );
}

const NAMES = { buyer: "The buyer", seller: "The seller" } as const;

function Sides({ of: { dispute, criteria, payload } }: { of: DisputeCase }) {
  const { reason, evidence } = dispute;
  return (
    <>
      <dl class="facts">
        <dt>Reason</dt>
        <dd>{reason === null ? "The buyer gave none." : <StrangersText text={reason} />}</dd>
        {evidence.map(({ id, submittedBy, description, attachments, submittedAt }) => (
          <div key={id} class="given">
            <dt>{NAMES[submittedBy]}</dt>
            <dd>
              <StrangersText text={description} /> <Time at={submittedAt} />
              {attachments.map((attachment) => (
                <p key={attachment}>
                  <StrangersText text={attachment} />
                </p>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      {evidence.length === 0 && <p class="aside">Neither party gave evidence.</p>}
      {criteria === null ? <p class="aside">No criteria.</p> : <FoldedJson name="Criteria" value={criteria} />}
      {payload === null ? <p class="aside">Nothing was delivered.</p> : <FoldedJson name="Delivery" value={payload} />}
    </>
  );
}
