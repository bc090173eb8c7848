import { useEffect, useRef, useState } from "preact/hooks";

import type { EscrowMove } from "../../../sdk/src/calls.ts";
import type { KeptSession } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { count } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import type { BrowserWallet } from "./announcement.ts";
import { readStateAt } from "./deal-data.ts";
import { knownToken, MOVES, stateWords } from "./deal-words.ts";
import type { Mined, MovePlan, MoveTerms } from "./moves.ts";
import { WalletChoice } from "./wallet-choice.tsx";
import { useWallets } from "./wallets.ts";

/** What is under way or came of it. */
type Step =
  | { at: "waiting"; text: string; hash?: string }
  | { at: "wallets" }
  | { at: "ready"; plan: MovePlan }
  | { at: "problem"; text: string; hash?: string; elsewhere?: BrowserWallet }
  | { at: "done"; text: string; hash: string };

/** A move of a deal from the button to the block: what will be signed, the signature, and what came of it. */
export function MovePanel({
  session,
  terms,
  decimals,
  onMoved,
  onClose,
}: {
  session: KeptSession;
  /** The deal as it was shown when the button was pressed. */
  terms: MoveTerms;
  decimals: ReadonlyMap<string, number>;
  /** The service has seen the move. */
  onMoved: () => void;
  onClose: () => void;
}) {
  const { wallets, isLate } = useWallets();
  const isReady = wallets.length > 0 || isLate;
  const { step, start, send, goThere } = useMove(session, terms, onMoved);
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isReady) void start(wallets);
  }, [isReady]);
  // The button that had the focus is gone.
  useEffect(() => {
    place.current?.focus();
  }, [step.at]);
  return (
    <section class="panel now move" aria-label={MOVES[terms.move].name} tabIndex={-1} ref={place}>
      <h3>{MOVES[terms.move].name}</h3>
      {step.at === "wallets" && (
        <WalletChoice wallets={wallets} account={terms.account} onChoose={(wallet) => void start([wallet])} />
      )}
      {step.at === "ready" && <Signed plan={step.plan} terms={terms} decimals={decimals} />}
      {(step.at === "waiting" || step.at === "problem" || step.at === "done") && <p>{step.text}</p>}
      {"hash" in step && step.hash !== undefined && (
        <p class="aside">
          Transaction <Hash value={step.hash} what="the transaction's hash" />
        </p>
      )}
      <div class="buttons">
        {step.at === "ready" && (
          <button type="button" class="main" onClick={() => void send(step.plan)}>
            Sign with <bdi>{step.plan.wallet.name}</bdi>
          </button>
        )}
        {step.at === "problem" && step.elsewhere !== undefined && (
          <Elsewhere wallet={step.elsewhere} network={terms.deal.network} onGo={(wallet) => void goThere(wallet)} />
        )}
        {step.at === "problem" && step.elsewhere === undefined && step.hash === undefined && (
          <button type="button" class="quiet" onClick={() => void start(wallets)}>
            Try again
          </button>
        )}
        <button type="button" class="quiet" onClick={onClose}>
          {step.at === "ready" || step.at === "wallets" ? "Cancel" : "Close"}
        </button>
      </div>
    </section>
  );
}

/** The steps of a move. What comes after the panel has gone isn't shown. */
function useMove(session: KeptSession, terms: MoveTerms, onMoved: () => void) {
  const [step, setStep] = useState<Step>({ at: "waiting", text: "Looking for the wallet…" });
  const ending = useRef(new AbortController());
  useEffect(() => {
    const own = new AbortController();
    ending.current = own;
    return () => {
      own.abort();
    };
  }, []);
  const say = (next: Step) => {
    if (!ending.current.signal.aborted) setStep(next);
  };

  /** Does a part of the move. What goes wrong is said. */
  const run = async (wallet: BrowserWallet | undefined, wasAsked: boolean, part: () => Promise<void>) => {
    const loaded = await import("./moves.ts").catch(() => undefined);
    if (loaded === undefined) {
      say({ at: "problem", text: "The page can't load what it needs to sign. Nothing was signed. Reload the page." });
      return;
    }
    try {
      await part();
    } catch (error) {
      const { text, isOtherChain } = loaded.problemOf(error, wallet, terms, wasAsked);
      say({ at: "problem", text, ...(isOtherChain && wallet !== undefined ? { elsewhere: wallet } : {}) });
    }
  };

  const check = (wallet: BrowserWallet) =>
    run(wallet, false, async () => {
      const { prepareMove } = await import("./moves.ts");
      const text = `Comparing this page with the chain, through ${wallet.name}. It may ask which account this page may see.`;
      say({ at: "waiting", text });
      say({ at: "ready", plan: await prepareMove(wallet, terms) });
    });

  const start = (wallets: readonly BrowserWallet[]) =>
    run(undefined, false, async () => {
      const { findWallet } = await import("./wallet-calls.ts");
      const wallet = await findWallet(wallets, terms.account);
      if (wallet !== undefined) await check(wallet);
      else if (wallets.length > 0) say({ at: "wallets" });
      else {
        const text = "This browser shows no wallet. Switch it on for this page, or use the command line.";
        say({ at: "problem", text });
      }
    });

  const goThere = (wallet: BrowserWallet) =>
    run(wallet, false, async () => {
      const { switchChain } = await import("./moves.ts");
      say({ at: "waiting", text: `${wallet.name} asks whether it may change the chain.` });
      await switchChain(wallet, terms.deal.chainId);
      await check(wallet);
    });

  const send = (plan: MovePlan) =>
    run(plan.wallet, true, async () => {
      const { followMove, sendMove } = await import("./moves.ts");
      say({ at: "waiting", text: `${plan.wallet.name} shows the transaction. Sign it there.` });
      const hash = await sendMove(plan);
      say({ at: "waiting", hash, text: "It is sent. Waiting for its block…" });
      const { signal } = ending.current;
      const mined = await followMove(plan, hash, signal);
      if (mined === undefined || mined.hasReverted) {
        say({ at: "problem", hash, text: failureWords(mined) });
        return;
      }
      const block = count(mined.block);
      say({ at: "waiting", hash, text: `Block ${block} has it. Waiting until the service has seen that block…` });
      const state = await readStateAt(session, terms.deal.transactionId, mined.block, signal);
      onMoved();
      say({ at: "done", hash, text: doneWords(block, state) });
    });

  return { step, start, goThere, send };
}

function failureWords(mined: Mined | undefined): string {
  return mined === undefined
    ? "No block has it after three minutes. It may still come, or you have replaced it in the wallet. This page shows the deal's new " +
        "state once the service has seen it."
    : `Block ${count(mined.block)} has it, and the contract refused it there. The deal is as it was; only the gas is spent.`;
}

function doneWords(block: string, state: string | undefined): string {
  return state === undefined
    ? `Block ${block} has it, so it counts. The service hasn't seen that block yet; this page follows by itself.`
    : `Done in block ${block}. The deal is now: ${stateWords(state)?.name ?? state}.`;
}

/** What will be signed, and what it costs. */
function Signed({
  plan,
  terms: { move, deal },
  decimals,
}: {
  plan: MovePlan;
  terms: { move: EscrowMove; deal: MoveTerms["deal"] };
  decimals: ReadonlyMap<string, number>;
}) {
  const amount = (units: string) => knownToken(units, deal.currency, decimals);
  return (
    <>
      <p>
        <strong>{MOVES[move].effect(amount(deal.lockedAmount), amount(deal.platformFee))}</strong>
      </p>
      <p class="aside">The chain has the same parties, amounts, times and criteria as this page. You sign this:</p>
      <dl class="facts">
        <dt>Contract</dt>
        <dd>
          <Hash value={plan.to} what="the escrow contract's address" />
        </dd>
        <dt>Function</dt>
        <dd>
          <code>{move}</code>
        </dd>
        <dt>Argument</dt>
        <dd>
          the escrow's id <Hash value={deal.escrowId} what="the escrow's id" />
        </dd>
        <dt>Network</dt>
        <dd>
          {networkName(deal.network)}, chain {plan.chainId}
        </dd>
        <dt>Account</dt>
        <dd>
          <code title={plan.from}>{shortHash(plan.from)}</code> in <bdi>{plan.wallet.name}</bdi>
        </dd>
        <dt>Ether sent</dt>
        <dd>none</dd>
        <dt>Gas</dt>
        <dd>
          about {plan.cost}, for at most {count(Number(plan.gas))} gas. The wallet shows the price that counts.
        </dd>
      </dl>
    </>
  );
}

/** Offers to change the wallet's chain. */
function Elsewhere({
  wallet,
  network,
  onGo,
}: {
  wallet: BrowserWallet;
  network: string;
  onGo: (wallet: BrowserWallet) => void;
}) {
  const go = () => {
    onGo(wallet);
  };
  return (
    <button type="button" class="main" onClick={go}>
      Switch to {networkName(network)}
    </button>
  );
}
