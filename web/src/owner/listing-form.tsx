import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";

import { NETWORKS } from "../data/answers.ts";
import type { Answer, Categories, KeptSession } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { networkName, unitName } from "../words/names.ts";
import { Refused, saysEnded } from "./api.ts";
import { FormField } from "./form-field.tsx";
import { apiFaults, DECIMALS, DELIVERY_TYPES, faultsOf, HINTS, listingRefusal, PRICE_UNITS } from "./listing-words.ts";
import type { ListingFields, TextField } from "./listing-words.ts";
import { readCategories } from "./listings-data.ts";

const SUCCESS = [200, 201];

/** A form, and what becomes of it. */
interface Form {
  session: KeptSession;
  start: ListingFields;
  /** Sends the form; undefined if there is nothing to send. */
  save: (fields: ListingFields) => Promise<Answer> | undefined;
  onSaved: (answer: Answer) => void;
  onEnded: () => void;
}

/** The state of a form. What is wrong with it is said once it was sent. */
function useForm({ start, save, onSaved, onEnded }: Form) {
  const [fields, setFields] = useState(start);
  const [wasSent, setSent] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  /** What the API said about a field, while it is as it was sent. */
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({});
  const own = faultsOf(fields);
  const isComplete = Object.keys(own).length === 0;
  const faults: Readonly<Partial<Record<string, string>>> = wasSent ? { ...refused, ...own } : {};

  const change = (field: keyof ListingFields, value: string | boolean) => {
    setFields((before) => ({ ...before, [field]: value }));
    setRefused((before) => Object.fromEntries(Object.entries(before).filter(([about]) => about !== field)));
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setSent(true);
    setProblem(isComplete ? undefined : "Nothing was sent. Look at the fields that say what they need.");
    if (isBusy || !isComplete) return;
    const sending = save(fields);
    if (sending === undefined) {
      setProblem("Nothing differs from what is there.");
      return;
    }
    setBusy(true);
    const answer = await sending;
    setBusy(false);
    if (saysEnded(answer)) onEnded();
    else if (SUCCESS.includes(answer.status)) onSaved(answer);
    else {
      const found = apiFaults(answer);
      setRefused(found);
      setProblem(Object.keys(found).length > 0 ? "The service doesn't take it as it is." : listingRefusal(answer));
    }
  };
  return { fields, faults, problem, isBusy, change, submit };
}

/** What a seller writes about a listing, with what the API takes beside each field. */
export function ListingForm({
  name,
  onCancel,
  ...form
}: Form & {
  /** What the button says. */
  name: string;
  onCancel: () => void;
}) {
  const { fields, faults, problem, isBusy, change, submit } = useForm(form);
  const categories = useCategories(form.session, form.onEnded);
  const bind = (field: TextField) => ({
    name: field,
    value: fields[field],
    "aria-invalid": faults[field] !== undefined,
    "aria-describedby": `about-${field}`,
  });
  const choice = (field: TextField, label: string, choices: ComponentChildren) => (
    <FormField name={field} label={label} hint={HINTS[field]} fault={faults[field]}>
      <select
        {...bind(field)}
        onChange={(event) => {
          change(field, event.currentTarget.value);
        }}
      >
        {choices}
      </select>
    </FormField>
  );
  const input = (field: TextField, label: string, more: { inputMode?: "decimal" | "url" } = {}) => (
    <FormField name={field} label={label} hint={HINTS[field]} fault={faults[field]}>
      <input
        {...bind(field)}
        {...more}
        autocomplete="off"
        onInput={(event) => {
          change(field, event.currentTarget.value);
        }}
      />
    </FormField>
  );

  return (
    <form class="panel fields" onSubmit={(event) => void submit(event)} noValidate aria-label={name}>
      {input("title", "Title")}
      <FormField name="description" label="Description" hint={HINTS.description} fault={faults["description"]}>
        <textarea
          {...bind("description")}
          rows={6}
          onInput={(event) => {
            change("description", event.currentTarget.value);
          }}
        />
      </FormField>
      {choice("category", "Category", <CategoryOptions categories={categories} current={fields.category} />)}
      {input("price", "Price", { inputMode: "decimal" })}
      {choice(
        "currency",
        "Currency",
        options(Object.keys(DECIMALS), (one) => one),
      )}
      {choice("priceUnit", "Unit", options(PRICE_UNITS, unitName))}
      {choice("network", "Network", options(NETWORKS, networkName))}
      {choice(
        "deliveryType",
        "Delivery",
        options(Object.keys(DELIVERY_TYPES), (one) => DELIVERY_TYPES[one] ?? one),
      )}
      {input("endpointUrl", "Address for new jobs", { inputMode: "url" })}
      <label class="choice">
        <input
          type="checkbox"
          name="callbackRequired"
          checked={fields.callbackRequired}
          onChange={(event) => {
            change("callbackRequired", event.currentTarget.checked);
          }}
        />
        <span>
          A buyer must give an address to call back
          <span class="aside">Buyers without one can't order. Leave it off if you can.</span>
        </span>
      </label>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <div class="buttons">
        <button type="submit" class="main" disabled={isBusy}>
          {name}
        </button>
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function options(values: readonly string[], wordsOf: (value: string) => string) {
  return values.map((value) => (
    <option key={value} value={value}>
      {wordsOf(value)}
    </option>
  ));
}

function CategoryOptions({
  categories,
  current,
}: {
  categories: Categories["categories"] | undefined;
  current: string;
}) {
  return (
    <>
      {current === "" && <option value="">{categories === undefined ? "Reading…" : "Choose one"}</option>}
      {categories === undefined && current !== "" && <option value={current}>{current}</option>}
      {(categories ?? []).map(({ label, children }) => (
        <optgroup key={label} label={label}>
          {children.map(({ slug, label: words }) => (
            <option key={slug} value={slug}>
              {words}
            </option>
          ))}
        </optgroup>
      ))}
    </>
  );
}

const AGAIN_MS = 5_000;

/** The categories, asked for until they are there. */
function useCategories(session: KeptSession, onEnded: () => void): Categories["categories"] | undefined {
  const [categories, setCategories] = useState<Categories["categories"] | undefined>(undefined);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const read = async () => {
      try {
        const found = await readCategories(session);
        if (isOver) return;
        if (found === undefined) timer = setTimeout(() => void read(), AGAIN_MS);
        else setCategories(found);
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        if (!isOver) onEnded();
      }
    };
    void read();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [session.token]);
  return categories;
}
