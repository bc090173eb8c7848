import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

import type { Answer, KeptSession } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { askApi, saysEnded } from "./api.ts";
import {
  disputeRefusal,
  EVIDENCE_HINTS,
  EVIDENCE_TYPES,
  evidenceFaults,
  NO_EVIDENCE,
  refusedFields,
} from "./dispute-words.ts";
import type { EvidenceField, EvidenceFields, Faults } from "./dispute-words.ts";

/** Where a form goes, and what becomes of it. */
interface Sending {
  session: KeptSession;
  path: string;
  /** The form as the API takes it. */
  bodyOf: (fields: EvidenceFields) => Record<string, unknown>;
  onSent: () => void;
  onEnded: () => void;
}

const CREATED = 201;

/** The state of a form. What is wrong with it is said once it was sent. */
function useForm({ session, path, bodyOf, onSent, onEnded }: Sending) {
  const [fields, setFields] = useState(NO_EVIDENCE);
  const [wasSent, setSent] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [refused, setRefused] = useState<Faults>({});
  /** The same for each attempt to send the same: an answer that was lost isn't a second item. */
  const operation = useRef<string | undefined>(undefined);
  const own = evidenceFaults(fields);
  const isComplete = Object.keys(own).length === 0;

  const change = (changed: Partial<EvidenceFields>) => {
    operation.current = undefined;
    setRefused({});
    setFields((before) => ({ ...before, ...changed }));
  };
  const took = (answer: Answer) => {
    if (saysEnded(answer)) onEnded();
    else if (answer.status === CREATED) {
      operation.current = undefined;
      setFields(NO_EVIDENCE);
      setSent(false);
      onSent();
    } else {
      const found = refusedFields(answer);
      setRefused(found);
      setProblem(Object.keys(found).length > 0 ? "The service doesn't take it as it is." : disputeRefusal(answer));
    }
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (isBusy) return;
    setSent(true);
    setProblem(isComplete ? undefined : "Nothing was sent. Look at the fields that say what they need.");
    if (!isComplete) return;
    operation.current ??= crypto.randomUUID();
    setBusy(true);
    const request = { method: "POST", body: bodyOf(fields), operation: operation.current } as const;
    const answer = await askApi(path, request, session);
    setBusy(false);
    took(answer);
  };
  const faults: Faults = wasSent ? { ...refused, ...own } : {};
  return { fields, faults, problem, isBusy, change, submit };
}

/** What a party writes about a dispute, with what the API takes beside each field. */
export function EvidenceForm({
  name,
  label,
  isItem,
  ...sending
}: Sending & {
  /** What the button says. */
  name: string;
  /** What the text is. */
  label: string;
  /** Whether it is an item of evidence, with a type and addresses. */
  isItem: boolean;
}) {
  const { fields, faults, problem, isBusy, change, submit } = useForm(sending);
  const bind = (field: EvidenceField) => ({
    name: field,
    value: fields[field],
    "aria-invalid": faults[field] !== undefined,
    "aria-describedby": `${isItem ? "evidence" : "reason"}-${field}`,
  });
  const field = (of: EvidenceField, words: string, control: ComponentChildren) => (
    <Field id={`${isItem ? "evidence" : "reason"}-${of}`} label={words} hint={EVIDENCE_HINTS[of]} fault={faults[of]}>
      {control}
    </Field>
  );
  const area = (of: "text" | "attachments", rows: number) => (
    <textarea
      {...bind(of)}
      rows={rows}
      onInput={(event) => {
        change({ [of]: event.currentTarget.value });
      }}
    />
  );
  return (
    <form class="panel fields" onSubmit={(event) => void submit(event)} noValidate aria-label={name}>
      {isItem &&
        field(
          "type",
          "Kind",
          <select
            {...bind("type")}
            onChange={(event) => {
              change({ type: event.currentTarget.value });
            }}
          >
            {Object.entries(EVIDENCE_TYPES).map(([type, words]) => (
              <option key={type} value={type}>
                {words}
              </option>
            ))}
          </select>,
        )}
      {field("text", label, area("text", 5))}
      {isItem && field("attachments", "Addresses", area("attachments", 2))}
      {isItem && (
        <label class="choice">
          <input
            type="checkbox"
            name="isLast"
            checked={fields.isLast}
            onChange={(event) => {
              change({ isLast: event.currentTarget.checked });
            }}
          />
          <span>
            This is all from me
            <span class="aside">It can't be taken back. The ruling comes once both parties have said so.</span>
          </span>
        </label>
      )}
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <div class="buttons">
        <button type="submit" class="main" disabled={isBusy}>
          {name}
        </button>
      </div>
    </form>
  );
}

/** A field with its name, what it takes, and what is wrong with it. */
function Field({
  id,
  label,
  hint,
  fault,
  children,
}: {
  id: string;
  label: string;
  hint: string;
  fault: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <div>
      <label>
        {label}
        {children}
      </label>
      <p class="aside" id={id}>
        {fault !== undefined && <strong class="fault">{fault} </strong>}
        {hint}.
      </p>
    </div>
  );
}
