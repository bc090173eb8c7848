import type { KeptSession } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { count } from "../words/amounts.ts";
import { CallPanel, Signed } from "./call-panel.tsx";
import type { Calls } from "./call-panel.tsx";
import { readStateAt } from "./deal-data.ts";
import { knownToken, MOVES, stateWords } from "./deal-words.ts";
import type { MovePlan, MoveTerms } from "./moves.ts";

/** A move of a deal, from the button to the block. */
export function MovePanel({
  session,
  terms,
  decimals,
  onMoved,
  onClose,
}: {
  session: KeptSession;
  terms: MoveTerms;
  decimals: ReadonlyMap<string, number>;
  onMoved: () => void;
  onClose: () => void;
}) {
  const { move, deal } = terms;
  const amount = (units: string) => knownToken(units, deal.currency, decimals);
  const calls: Calls<MovePlan> = {
    name: MOVES[move].name,
    terms,
    prepare: async (wallet) => (await import("./moves.ts")).prepareMove(wallet, terms),
    send: async (plan) => (await import("./moves.ts")).sendMove(plan),
    hasNext: () => false,
    settle: async ({ block }, _hash, ended) => ({
      text: doneWords(block, await readStateAt(session, deal.transactionId, block, ended)),
    }),
  };
  return (
    <CallPanel
      calls={calls}
      onMoved={onMoved}
      onClose={onClose}
      shown={(plan) => (
        <>
          <p>
            <strong>{MOVES[move].effect(amount(deal.lockedAmount), amount(deal.platformFee))}</strong>
          </p>
          <p class="aside">The chain has the same parties, amounts, times and criteria as this page. You sign this:</p>
          <Signed plan={plan} terms={terms} contract="the escrow contract" call={move}>
            <dt>Argument</dt>
            <dd>
              the escrow's id <Hash value={deal.escrowId} what="the escrow's id" />
            </dd>
          </Signed>
        </>
      )}
    />
  );
}

/** What came of a transaction. @param state the deal's, once the service has seen the block */
export function doneWords(block: number, state: string | undefined): string {
  return state === undefined
    ? `Block ${count(block)} has it, so it counts. The service hasn't seen that block yet; this page follows by itself.`
    : `Done in block ${count(block)}. The deal is now: ${stateWords(state)?.name ?? state}.`;
}
