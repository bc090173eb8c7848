import { useEffect, useState } from "preact/hooks";

import type { Dispute, Ruling } from "../../../sdk/src/generated/api-types.ts";
import { Hash } from "../parts/hash.tsx";
import { StrangersText } from "../parts/strangers-text.tsx";
import { Time } from "../parts/time.tsx";
import { OUTCOMES } from "../words/states.ts";
import { Findings } from "./deal-parts.tsx";
import { shownRuling } from "./dispute-words.ts";
import { FoldedJson } from "./folded-json.tsx";

/** A ruling beside what was agreed: its facts, checks and reasons, and whether its document is the one of its hash. */
export function RulingSection({ ruling, dispute }: { ruling: Ruling; dispute: Dispute }) {
  const { facts, checks, reasons, ruledBy, ruledAt } = shownRuling(ruling);
  const { outcome, buyerPercent, sellerPercent } = dispute;
  return (
    <section class="spaced" aria-labelledby="ruling">
      <h2 id="ruling">What was ruled</h2>
      <p>
        {outcome !== null && <strong>It ends {OUTCOMES[outcome] ?? outcome}. </strong>}
        {buyerPercent} % to the buyer, {sellerPercent} % to the seller,{" "}
        {ruledBy === "admin" ? "by the operator" : "by the service"}
        {ruledAt !== undefined && ", "}
        {ruledAt !== undefined && <Time at={ruledAt} />}.
      </p>
      <Findings facts={facts} checks={checks} />
      <h3>Reasons</h3>
      <ul class="checks">
        {reasons.map((reason) => (
          <li key={reason}>
            <StrangersText text={reason} />
          </li>
        ))}
      </ul>
      <Proof ruling={ruling} />
      <FoldedJson name="Document" value={ruling.document} />
    </section>
  );
}

/** Whether the document is the one that its hash commits to: the page hashes it itself. */
function Proof({ ruling }: { ruling: Ruling }) {
  const [words, setWords] = useState("Its hash is being computed…");
  useEffect(() => {
    const ending = new AbortController();
    void (async () => {
      const loaded = await import("../../../sdk/src/calls.ts").catch(() => undefined);
      if (ending.signal.aborted) return;
      setWords(loaded === undefined ? "The page can't compute its hash." : proofWords(ruling, loaded.rulingHashOf));
    })();
    return () => {
      ending.abort();
    };
  }, [ruling]);
  return (
    <p class="aside">
      {words} <Hash value={ruling.rationaleHash} what="the ruling's hash" />
    </p>
  );
}

function proofWords(
  { document, rationaleHash, onChain }: Ruling,
  hashOf: (document: Record<string, unknown>) => string,
): string {
  if (hashOf(document) !== rationaleHash) return "This document has another hash than the service says.";
  if (onChain === null)
    return "This document has the hash that the service says. The chain has none yet, or the dispute ended otherwise.";
  return onChain === rationaleHash
    ? "This document has the hash that the chain has, as the service reads it there."
    : "The chain has another hash than this document.";
}
