import { useState } from "preact/hooks";

import type { Visibility } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { Notice } from "../parts/notice.tsx";
import { askApi, codeOf, saysEnded } from "./api.ts";
import { Bar } from "./bar.tsx";
import { listingRefusal } from "./listing-words.ts";
import { visibilityPath } from "./listings-data.ts";

const OK = 200;
/** The most characters of a question, as discover takes it. */
const QUESTION_LENGTH = 1_000;
const DIGITS = 2;

/** How search sees a listing, and what lowers its place: for a question as a buyer would ask it. */
export function ListingVisibility({
  session,
  serviceId,
  onEnded,
}: {
  session: KeptSession;
  serviceId: string;
  onEnded: () => void;
}) {
  const [query, setQuery] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [seen, setSeen] = useState<Visibility | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const asked = query.trim();
    if (isBusy || asked === "") return;
    setBusy(true);
    const answer = await askApi(visibilityPath(serviceId), { method: "POST", body: { query: asked } }, session);
    setBusy(false);
    if (saysEnded(answer)) {
      onEnded();
      return;
    }
    setSeen(answer.status === OK ? (answer.body as { data: Visibility }).data : undefined);
    const isAway = codeOf(answer) === "search_unavailable";
    const refusal = isAway ? "Search isn't available at the moment. Try again in a minute." : listingRefusal(answer);
    setProblem(answer.status === OK ? undefined : refusal);
  };
  return (
    <section aria-labelledby="seen">
      <h2 id="seen">How search sees it</h2>
      <form class="search" onSubmit={(event) => void submit(event)} aria-label="What a buyer might ask">
        <div class="box">
          <input
            type="search"
            name="query"
            value={query}
            maxLength={QUESTION_LENGTH}
            aria-label="What a buyer might ask"
            placeholder="What a buyer might ask"
            autocomplete="off"
            onInput={(event) => {
              setQuery(event.currentTarget.value);
            }}
          />
          <button type="submit" disabled={isBusy}>
            Ask
          </button>
        </div>
        <p class="aside">It counts toward today's searches.</p>
      </form>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      {seen !== undefined && <Seen {...seen} />}
    </section>
  );
}

function Seen({ found, rank, of, parts, advice }: Visibility) {
  const shares = [
    ["Meaning", parts.meaning],
    ["Words", parts.words],
    ["Completeness", parts.completeness],
  ] as const;
  return (
    <div class="panel" role="status">
      <p>
        <strong>
          {found && rank !== null
            ? `Search shows it as number ${rank} of ${of}.`
            : `Search doesn't show it among ${of} results.`}
        </strong>
      </p>
      <dl class="bars shares">
        {shares.map(([name, share]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{share.toFixed(DIGITS)}</dd>
            <Bar share={Math.min(share, BELOW_FULL)} />
          </div>
        ))}
      </dl>
      {advice.length > 0 && (
        <>
          <p>What would help, the most important first:</p>
          <ul class="checks">
            {advice.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

/** A full bar is drawn as one that is used up. */
const BELOW_FULL = 0.99;
