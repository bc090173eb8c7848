import { useEffect, useRef, useState } from "preact/hooks";

import type { NetworkStatus } from "../../../sdk/src/generated/api-types.ts";
import type { KeptSession } from "../data/answers.ts";
import { Hash } from "../parts/hash.tsx";
import { count, token as amountOf } from "../words/amounts.ts";
import { networkName, shortHash } from "../words/names.ts";
import type { BrowserWallet } from "./announcement.ts";
import { readOwn, readPage } from "./api.ts";
import type { Credit, FoundCredits } from "./credits.ts";
import type { MovePlan } from "./moves.ts";
import { WalletChoice } from "./wallet-choice.tsx";
import { useWallets } from "./wallets.ts";

/** What is under way or came of it. */
type Step =
  | { at: "closed" }
  | { at: "waiting"; text: string; hash?: string }
  | { at: "wallets" }
  | { at: "found"; wallet: BrowserWallet; found: FoundCredits }
  | { at: "ready"; plan: MovePlan; credit: Credit; network: NetworkStatus }
  | { at: "problem"; text: string; hash?: string }
  | { at: "done"; text: string; hash: string };

/**
 * What failed payouts have left for the agent, and what withdraws it. The service keeps no list of them: the page asks the chain through the
 * wallet, once its owner wants to know.
 */
export function CreditPanel({ session, onEnded }: { session: KeptSession; onEnded: () => void }) {
  const { wallets } = useWallets();
  const { step, look, prepare, send, close } = useCredits(session, onEnded);
  const place = useRef<HTMLDivElement>(null);
  // The button that had the focus is gone.
  useEffect(() => {
    if (step.at !== "closed") place.current?.focus();
  }, [step.at]);
  return (
    <section class={step.at === "closed" ? "panel" : "panel now"} aria-labelledby="credits">
      <h2 id="credits">Credits</h2>
      {step.at === "closed" && (
        <>
          <p class="aside">A payout that a token refused stays in escrow for you, until you withdraw it.</p>
          <button type="button" class="quiet" onClick={() => void look(wallets)}>
            Look for credits
          </button>
        </>
      )}
      <div class="move" tabIndex={-1} ref={place}>
        {step.at === "wallets" && (
          <WalletChoice
            wallets={wallets}
            account={session.walletAddress}
            onChoose={(wallet) => {
              void look([wallet]);
            }}
          />
        )}
        {step.at === "found" && (
          <Found found={step.found} onWithdraw={(credit) => void prepare(step.wallet, step.found, credit)} />
        )}
        {step.at === "ready" && <Signed {...step} />}
        {(step.at === "waiting" || step.at === "problem" || step.at === "done") && <p role="status">{step.text}</p>}
        {"hash" in step && step.hash !== undefined && (
          <p class="aside">
            Transaction <Hash value={step.hash} what="the transaction's hash" />
          </p>
        )}
      </div>
      {step.at !== "closed" && (
        <div class="buttons">
          {step.at === "ready" && (
            <button type="button" class="main" onClick={() => void send(step)}>
              Sign with <bdi>{step.plan.wallet.name}</bdi>
            </button>
          )}
          {(step.at === "problem" || step.at === "done") && (
            <button type="button" class="quiet" onClick={() => void look(wallets)}>
              Look again
            </button>
          )}
          <button type="button" class="quiet" onClick={close}>
            {step.at === "ready" || step.at === "wallets" ? "Cancel" : "Close"}
          </button>
        </div>
      )}
    </section>
  );
}

/** What a part of the way is about, for what is said when it goes wrong. */
interface About {
  /** The wallet's name. */
  wallet?: string;
  network?: NetworkStatus;
  networks: readonly NetworkStatus[];
  /** Whether the wallet was asked to send. */
  wasAsked: boolean;
}

/** Does a part. What goes wrong is said. */
async function attemptPart(say: (next: Step) => void, account: string, about: About, part: () => Promise<void>) {
  const loaded = await import("./credits.ts").catch(() => undefined);
  if (loaded === undefined) {
    say({ at: "problem", text: "The page can't load what it needs to read the chain. Reload the page." });
    return;
  }
  try {
    await part();
  } catch (error) {
    const { wallet = "The wallet", network, networks, wasAsked } = about;
    say({ at: "problem", text: loaded.creditProblem(error, wallet, account, network, networks, wasAsked) });
  }
}

/** The steps from the look to the block. What comes after the panel has gone isn't shown. */
function useCredits(session: KeptSession, onEnded: () => void) {
  const { walletAddress: account } = session;
  const [step, setStep] = useState<Step>({ at: "closed" });
  const ending = useRef(new AbortController());
  useEffect(() => {
    const own = new AbortController();
    ending.current = own;
    return () => {
      own.abort();
    };
  }, []);
  /** Closing the panel begins a new attempt: what an earlier one says isn't heard. */
  const attempt = useRef(0);
  const begin = () => {
    attempt.current += 1;
    const own = attempt.current;
    return (next: Step) => {
      if (own === attempt.current && !ending.current.signal.aborted) setStep(next);
    };
  };

  const look = async (wallets: readonly BrowserWallet[]) => {
    const say = begin();
    say({ at: "waiting", text: "Reading where the service's contracts are…" });
    const reading = await readPage(() => readOwn<{ data: NetworkStatus[] }>(session, "/api/v1/networks"));
    if (reading.kind === "ended") {
      onEnded();
      return;
    }
    if (reading.kind !== "there") {
      say({ at: "problem", text: "The service doesn't answer. Look again in a minute." });
      return;
    }
    const networks = reading.data.data;
    const about: About = { networks, wasAsked: false };
    await attemptPart(say, account, about, async () => {
      const { findWallet } = await import("./wallet-calls.ts");
      const wallet = await findWallet(wallets, account);
      if (wallet === undefined) {
        say(wallets.length > 0 ? { at: "wallets" } : { at: "problem", text: NO_WALLET });
        return;
      }
      about.wallet = wallet.name;
      const { readCredits } = await import("./credits.ts");
      say({
        at: "waiting",
        text: `Asking the chain, through ${wallet.name}. It may ask which account this page may see.`,
      });
      say({ at: "found", wallet, found: await readCredits(wallet, account, networks) });
    });
  };

  const prepare = (wallet: BrowserWallet, { network }: FoundCredits, credit: Credit) => {
    const say = begin();
    return attemptPart(
      say,
      account,
      { wallet: wallet.name, network, networks: [network], wasAsked: false },
      async () => {
        const { prepareWithdrawal } = await import("./credits.ts");
        say({ at: "waiting", text: "Preparing the transaction…" });
        say({ at: "ready", plan: await prepareWithdrawal(wallet, account, network, credit), credit, network });
      },
    );
  };

  const send = ({ plan, credit, network }: Extract<Step, { at: "ready" }>) => {
    const say = begin();
    const about = { wallet: plan.wallet.name, network, networks: [network], wasAsked: true };
    return attemptPart(say, account, about, async () => {
      const { followMove, sendMove } = await import("./moves.ts");
      say({ at: "waiting", text: `${plan.wallet.name} shows the transaction. Sign it there.` });
      const hash = await sendMove(plan);
      say({ at: "waiting", hash, text: "It is sent. Waiting for its block…" });
      const mined = await followMove(plan, hash, ending.current.signal);
      if (mined === undefined) say({ at: "problem", hash, text: NO_BLOCK });
      else if (mined.hasReverted) {
        const text = `Block ${count(mined.block)} has it, and the contract refused it there. Only the gas is spent.`;
        say({ at: "problem", hash, text });
      } else {
        const text = `Done in block ${count(mined.block)}: ${creditAmount(credit)} went to ${shortHash(account)}.`;
        say({ at: "done", hash, text });
      }
    });
  };

  const close = () => {
    begin()({ at: "closed" });
  };
  return { step, look, prepare, send, close };
}

const NO_WALLET = "This browser shows no wallet. Switch it on for this page, or use the command line.";
const NO_BLOCK =
  "No block has it after three minutes. It may still come, or you have replaced it in the wallet. Look again.";

function creditAmount({ units, decimals, symbol }: Credit): string {
  return amountOf(units.toString(), decimals, symbol);
}

function Found({
  found: { network, credits },
  onWithdraw,
}: {
  found: FoundCredits;
  onWithdraw: (credit: Credit) => void;
}) {
  if (credits.length === 0) return <p>Nothing is credited to your agent on {networkName(network.network)}.</p>;
  return (
    <ul class="next">
      {credits.map((credit) => (
        <li key={credit.token}>
          <p>
            <strong>{creditAmount(credit)}</strong> on {networkName(network.network)}
          </p>
          <button
            type="button"
            class="main"
            onClick={() => {
              onWithdraw(credit);
            }}
          >
            Withdraw {creditAmount(credit)}
          </button>
        </li>
      ))}
    </ul>
  );
}

/** What will be signed, and what it costs. */
function Signed({ plan, credit, network }: { plan: MovePlan; credit: Credit; network: NetworkStatus }) {
  return (
    <>
      <p>
        <strong>Pays {creditAmount(credit)} out of escrow to you.</strong>
      </p>
      <dl class="facts">
        <dt>Contract</dt>
        <dd>
          <Hash value={plan.to} what="the escrow contract's address" />
        </dd>
        <dt>Function</dt>
        <dd>
          <code>withdraw</code>
        </dd>
        <dt>Argument</dt>
        <dd>
          the token <Hash value={credit.token} what="the token's address" />
        </dd>
        <dt>Network</dt>
        <dd>
          {networkName(network.network)}, chain {plan.chainId}
        </dd>
        <dt>Account</dt>
        <dd>
          <code title={plan.from}>{shortHash(plan.from)}</code> in <bdi>{plan.wallet.name}</bdi>
        </dd>
        <dt>Ether sent</dt>
        <dd>none</dd>
        <dt>Gas</dt>
        <dd>about {plan.cost}. The wallet shows the price that counts.</dd>
      </dl>
    </>
  );
}
