import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { Hash } from "../parts/hash.tsx";
import { count } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import type { BrowserWallet } from "./announcement.ts";
import type { DealTerms, Mined, MovePlan } from "./moves.ts";
import { WalletChoice } from "./wallet-choice.tsx";
import { useWallets } from "./wallets.ts";

/** What is under way or came of it. */
type Step<Plan> =
  | { at: "waiting"; text: string; hash?: string }
  | { at: "wallets" }
  | { at: "ready"; plan: Plan }
  | { at: "problem"; text: string; hash?: string; elsewhere?: BrowserWallet }
  | { at: "done"; text: string; hash: string };

/** The transactions that a panel makes. Their code is loaded here. */
export interface Calls<Plan extends MovePlan> {
  /** What the button of the panel has said. */
  name: string;
  /** The deal as it was shown when the button was pressed. */
  terms: DealTerms;
  /** Compares the page with the chain, and prepares the next transaction. */
  prepare: (wallet: BrowserWallet) => Promise<Plan>;
  /** Has the wallet sign and send it. @returns its hash */
  send: (plan: Plan) => Promise<string>;
  /** Whether another transaction follows this one. */
  hasNext: (plan: Plan) => boolean;
  /** Waits until the service has seen the block of the last one. @returns what is said then */
  settle: (mined: Mined, hash: string, ended: AbortSignal) => Promise<{ text: string; isProblem?: boolean }>;
}

/** Transactions of a deal from the button to the block: what will be signed, the signature, and what came of it. */
export function CallPanel<Plan extends MovePlan>({
  calls,
  onMoved,
  onClose,
  shown,
}: {
  calls: Calls<Plan>;
  /** The service may have seen it. */
  onMoved: () => void;
  onClose: () => void;
  /** What a transaction does, with what is signed. */
  shown: (plan: Plan) => ComponentChildren;
}) {
  const { wallets, isLate } = useWallets();
  const isReady = wallets.length > 0 || isLate;
  const { name, terms } = calls;
  const { step, start, send, goThere } = useCalls(calls, onMoved);
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isReady) void start(wallets);
  }, [isReady]);
  // The button that had the focus is gone.
  useEffect(() => {
    place.current?.focus();
  }, [step.at]);
  return (
    <section class="panel now move" aria-label={name} tabIndex={-1} ref={place}>
      <h3>{name}</h3>
      {step.at === "wallets" && (
        <WalletChoice wallets={wallets} account={terms.account} onChoose={(wallet) => void start([wallet])} />
      )}
      {step.at === "ready" && shown(step.plan)}
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

/** The steps of transactions. What comes after the panel has gone isn't shown. */
function useCalls<Plan extends MovePlan>(calls: Calls<Plan>, onMoved: () => void) {
  const { terms } = calls;
  const [step, setStep] = useState<Step<Plan>>({ at: "waiting", text: "Looking for the wallet…" });
  const ending = useRef(new AbortController());
  useEffect(() => {
    const own = new AbortController();
    ending.current = own;
    return () => {
      own.abort();
    };
  }, []);
  const say = (next: Step<Plan>) => {
    if (!ending.current.signal.aborted) setStep(next);
  };

  /** Does a part of it. What goes wrong is said. */
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
      const text = `Comparing this page with the chain, through ${wallet.name}. It may ask which account this page may see.`;
      say({ at: "waiting", text });
      say({ at: "ready", plan: await calls.prepare(wallet) });
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

  const send = (plan: Plan) =>
    run(plan.wallet, true, async () => {
      const { followMove } = await import("./moves.ts");
      say({ at: "waiting", text: `${plan.wallet.name} shows the transaction. Sign it there.` });
      const hash = await calls.send(plan);
      say({ at: "waiting", hash, text: "It is sent. Waiting for its block…" });
      const { signal } = ending.current;
      const mined = await followMove(plan, hash, signal);
      if (mined === undefined || mined.hasReverted) {
        say({ at: "problem", hash, text: failureWords(mined) });
        return;
      }
      if (calls.hasNext(plan)) {
        await check(plan.wallet);
        return;
      }
      const text = `Block ${count(mined.block)} has it. Waiting until the service has seen that block…`;
      say({ at: "waiting", hash, text });
      const said = await calls.settle(mined, hash, signal);
      onMoved();
      say({ at: said.isProblem === true ? "problem" : "done", hash, text: said.text });
    });

  return { step, start, goThere, send };
}

function failureWords(mined: Mined | undefined): string {
  return mined === undefined
    ? "No block has it after three minutes. It may still come, or you have replaced it in the wallet. This page shows the deal's new " +
        "state once the service has seen it."
    : `Block ${count(mined.block)} has it, and the contract refused it there. The deal is as it was; only the gas is spent.`;
}

/** What will be signed, and what it costs. */
export function Signed({
  plan,
  terms: { deal },
  contract,
  call,
  children,
}: {
  plan: MovePlan;
  terms: DealTerms;
  /** What is at the address that is called. */
  contract: string;
  /** The name of the function. */
  call: string;
  /** Its arguments, as terms and descriptions. */
  children: ComponentChildren;
}) {
  return (
    <dl class="facts">
      <dt>Contract</dt>
      <dd>
        <Hash value={plan.to} what={`${contract}'s address`} />
      </dd>
      <dt>Function</dt>
      <dd>
        <code>{call}</code>
      </dd>
      {children}
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
