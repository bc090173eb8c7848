import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import type { Answer, KeptSession } from "../data/answers.ts";
import type { BrowserWallet } from "./announcement.ts";
import { saysEnded } from "./api.ts";
import { keyRefusalWords } from "./key-words.ts";
import { WalletChoice } from "./wallet-choice.tsx";
import { useWallets } from "./wallets.ts";

/** What is under way or came of it. */
type Step =
  | { at: "waiting"; text: string }
  | { at: "wallets" }
  | { at: "ready"; wallet: BrowserWallet }
  | { at: "problem"; text: string };

/** What a panel has signed. */
export interface Signing {
  /** What the button of the panel has said. */
  name: string;
  /** Has the wallet sign, and sends what it signed. Its code is loaded here. */
  sign: (wallet: BrowserWallet) => Promise<Answer>;
  /** Whether what is on the page can be signed. */
  isComplete: boolean;
  /** Gets the answer of status 200. */
  onDone: (answer: Answer) => void;
  /** Says why nothing was signed; undefined for what every panel knows. Its code is loaded here. */
  problem?: (error: unknown, wallet: BrowserWallet | undefined) => Promise<string | undefined>;
  /** Says why the service didn't take it. */
  refusal?: (answer: Answer) => string;
}

/** Something that the wallet signs and the service takes: what it says, the signature, and what came of it. No transaction is sent. */
export function SignPanel({
  session,
  signing,
  onEnded,
  onClose,
  children,
}: {
  session: KeptSession;
  signing: Signing;
  onEnded: () => void;
  onClose: () => void;
  /** What is signed, and what follows from it. */
  children: ComponentChildren;
}) {
  const { wallets, isLate } = useWallets();
  const hasWallets = wallets.length > 0;
  const { step, start, send } = useSigning(session, signing, onEnded);
  const place = useRef<HTMLElement>(null);
  // A wallet that comes late, after the page has said that there is none, is asked, too.
  useEffect(() => {
    if (hasWallets || isLate) void start(wallets);
  }, [hasWallets, !hasWallets && isLate]);
  // The button that had the focus is gone.
  useEffect(() => {
    place.current?.focus();
  }, [step.at]);
  return (
    <section class="panel now move" aria-label={signing.name} tabIndex={-1} ref={place}>
      <h3>{signing.name}</h3>
      {children}
      {step.at === "wallets" && (
        <WalletChoice
          wallets={wallets}
          account={session.walletAddress}
          onChoose={(wallet) => {
            void start([wallet]);
          }}
        />
      )}
      {(step.at === "waiting" || step.at === "problem") && <p role="status">{step.text}</p>}
      <div class="buttons">
        {step.at === "ready" && (
          <button type="button" class="main" disabled={!signing.isComplete} onClick={() => void send(step.wallet)}>
            Sign with <bdi>{step.wallet.name}</bdi>
          </button>
        )}
        {step.at === "problem" && (
          <button type="button" class="quiet" onClick={() => void start(wallets)}>
            Try again
          </button>
        )}
        <button type="button" class="quiet" onClick={onClose}>
          {step.at === "problem" ? "Close" : "Cancel"}
        </button>
      </div>
    </section>
  );
}

const OK = 200;

/** The steps of a signature. What comes after the panel has gone isn't shown, but a change that was made is. */
function useSigning(
  { walletAddress }: KeptSession,
  { sign, onDone, problem, refusal = keyRefusalWords }: Signing,
  onEnded: () => void,
) {
  const [step, setStep] = useState<Step>({ at: "waiting", text: "Looking for the wallet…" });
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  const say = (next: Step) => {
    if (!isGone.current) setStep(next);
  };

  const run = async (wallet: BrowserWallet | undefined, part: () => Promise<void>) => {
    const loaded = await import("./key-signing.ts").catch(() => undefined);
    if (loaded === undefined) {
      say({ at: "problem", text: "The page can't load what it needs to sign. Nothing was signed. Reload the page." });
      return;
    }
    try {
      await part();
    } catch (error) {
      const own = await problem?.(error, wallet);
      say({ at: "problem", text: own ?? loaded.signingProblem(error, wallet, walletAddress) });
    }
  };

  const start = (wallets: readonly BrowserWallet[]) =>
    run(undefined, async () => {
      const { findWallet } = await import("./wallet-calls.ts");
      const wallet = await findWallet(wallets, walletAddress);
      if (wallet !== undefined) say({ at: "ready", wallet });
      else if (wallets.length > 0) say({ at: "wallets" });
      else {
        const text = "This browser shows no wallet. Switch it on for this page, or use the command line.";
        say({ at: "problem", text });
      }
    });

  const send = (wallet: BrowserWallet) =>
    run(wallet, async () => {
      say({ at: "waiting", text: `${wallet.name} shows what it signs. Sign it there: that costs nothing.` });
      const answer = await sign(wallet);
      if (answer.status === OK) onDone(answer);
      else if (saysEnded(answer)) onEnded();
      else say({ at: "problem", text: refusal(answer) });
    });

  return { step, start, send };
}
