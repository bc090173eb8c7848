import { useEffect, useRef, useState } from "preact/hooks";

import type { KeptSession } from "../data/answers.ts";
import type { Site } from "../data/site.ts";
import { Notice } from "../parts/notice.tsx";
import { shortHash } from "../words/names.ts";
import { askApi, codeOf } from "./api.ts";
import { NOT_OF_STACK, refusalWords, walletWords } from "./sign-in-words.ts";
import { isOtherWallet, StackWallet } from "./stack-wallet.tsx";
import type { BrowserWallet } from "./announcement.ts";
import type { Purpose } from "./sign-in-text.ts";
import { useWallets } from "./wallets.ts";

/** What a session may do. */
type Scopes = Exclude<Purpose, "register">;

/** What is under way or came of it. */
type Step =
  | { at: "choice" }
  | { at: "waiting"; text: string }
  | { at: "problem"; text: string }
  | { at: "unregistered"; wallet: BrowserWallet; account: string; problem?: string };

const CREATED = 201;
const NAME_LENGTH = 100;

/** Signs in with a wallet of this browser, and registers one that is new. */
export function SignInPage({
  site,
  why,
  onRegistered,
  onSignedIn,
}: {
  site: Site;
  /** Why there is no session any more. */
  why: string | undefined;
  onRegistered: (apiKey: string) => void;
  onSignedIn: (session: KeptSession) => void;
}) {
  const { wallets, isLate } = useWallets();
  const [scopes, setScopes] = useState<Scopes>("read");
  const [step, setStep] = useState<Step>({ at: "choice" });
  /** Counts attempts: a wallet that answers to an earlier one isn't heard. */
  const attempt = useRef(0);

  /** Runs an attempt. What goes wrong is said; after another attempt has begun, nothing of it is shown. */
  const run = async (wallet: BrowserWallet, doIt: (say: (step: Step) => void) => Promise<void>) => {
    attempt.current += 1;
    const own = attempt.current;
    const say = (next: Step) => {
      if (own === attempt.current) setStep(next);
    };
    const { WalletError } = await import("./signing.ts");
    try {
      await doIt(say);
    } catch (error) {
      const known = error instanceof WalletError ? error : undefined;
      say({ at: "problem", text: walletWords(known?.reason ?? "failed", wallet.name, known?.message ?? "") });
    }
  };

  const open = async (wallet: BrowserWallet, account: string, say: (step: Step) => void) => {
    const { signFor } = await import("./signing.ts");
    say({ at: "waiting", text: `${wallet.name} shows a text for ${shortHash(account)}. Sign it: that costs nothing.` });
    const signed = await signFor(scopes, wallet, account);
    const answer = await askApi("/api/v1/sessions", { method: "POST", body: { ...signed, scopes } });
    if (answer.status === CREATED) onSignedIn((answer.body as { data: KeptSession }).data);
    else if (codeOf(answer) === "wallet_not_registered") say({ at: "unregistered", wallet, account });
    else say({ at: "problem", text: refusalWords(answer, site.publicUrl) });
  };

  const start = (wallet: BrowserWallet) =>
    run(wallet, async (say) => {
      const { chooseAccount } = await import("./signing.ts");
      say({ at: "waiting", text: `${wallet.name} asks which account this page may see.` });
      const account = await chooseAccount(wallet);
      // Before it signs anything.
      if (site.isLocalStack && (await isOtherWallet(account))) say({ at: "problem", text: NOT_OF_STACK });
      else await open(wallet, account, say);
    });

  const register = (wallet: BrowserWallet, account: string, agentName: string) =>
    run(wallet, async (say) => {
      const { signFor } = await import("./signing.ts");
      say({ at: "waiting", text: `${wallet.name} shows the first of two texts: it registers ${shortHash(account)}.` });
      const signed = await signFor("register", wallet, account);
      const body = { agentName, walletAddress: account, ...signed };
      const answer = await askApi("/api/v1/auth/register", { method: "POST", body });
      if (answer.status === CREATED) {
        onRegistered((answer.body as { apiKey: string }).apiKey);
      } else if (codeOf(answer) !== "wallet_already_registered") {
        say({ at: "unregistered", wallet, account, problem: refusalWords(answer, site.publicUrl) });
        return;
      }
      await open(wallet, account, say);
    });

  const again = () => {
    attempt.current += 1;
    setStep({ at: "choice" });
  };

  return (
    <div class="entry">
      <div class="title">
        <h1>Sign in</h1>
        <p class="lead">
          See what your agent needs from you, with the wallet that is already in this browser. You sign a text. No money
          moves, and the service learns no key of yours.
        </p>
      </div>
      {site.isLocalStack && (
        <Notice>
          This is a local stack. Its money is play money, but its chains have the ids of the live ones: what a wallet
          signs here could be used there. So it takes only wallets made for it.
        </Notice>
      )}
      {!site.isLocalStack && isLocal(site.publicUrl) && (
        <Notice>
          This service runs on one machine, and its money is play money. Use a wallet made for it, with nothing of
          yours.
        </Notice>
      )}
      {why !== undefined && step.at === "choice" && <Notice tone="care">{why}</Notice>}
      {step.at === "problem" && <Notice tone="care">{step.text}</Notice>}
      {step.at === "waiting" && <Waiting text={step.text} onAgain={again} />}
      {step.at === "unregistered" && (
        <Registration
          key={step.account}
          account={step.account}
          problem={step.problem}
          onRegister={(name) => void register(step.wallet, step.account, name)}
          onAgain={again}
        />
      )}
      {(step.at === "choice" || step.at === "problem") && (
        <section class="panel" aria-label="How to sign in">
          <ScopeChoice chosen={scopes} onChoose={setScopes} />
          <Wallets wallets={wallets} isLate={isLate} onChoose={(wallet) => void start(wallet)} />
        </section>
      )}
      {site.isLocalStack && <StackWallet publicUrl={site.publicUrl} />}
      <p class="aside">
        A session ends after 30 minutes without use, after 12 hours, and when you sign out. Without another signature of
        the wallet it can't list or revoke API keys, and every payment is signed there.{" "}
        <a href="/guides/sessions">How sessions work</a>
      </p>
    </div>
  );
}

/** Whether a service is reached on its own machine alone. */
function isLocal(publicUrl: string): boolean {
  return ["127.0.0.1", "localhost", "[::1]"].includes(new URL(publicUrl).hostname);
}

function ScopeChoice({ chosen, onChoose }: { chosen: Scopes; onChoose: (scopes: Scopes) => void }) {
  const choice = (value: Scopes, name: string, meaning: string) => (
    <label class="choice">
      <input
        type="radio"
        name="scopes"
        value={value}
        checked={value === chosen}
        onChange={() => {
          onChoose(value);
        }}
      />
      <span>
        {name}
        <span class="aside">{meaning}</span>
      </span>
    </label>
  );
  return (
    <fieldset>
      <legend>What may this page do?</legend>
      {choice("read", "See only", "It reads what belongs to the agent, and changes nothing.")}
      {choice("all", "See and act", "Everything that the agent may do. Each payment still needs your signature.")}
    </fieldset>
  );
}

function Wallets({
  wallets,
  isLate,
  onChoose,
}: {
  wallets: readonly BrowserWallet[];
  isLate: boolean;
  onChoose: (wallet: BrowserWallet) => void;
}) {
  if (wallets.length === 0) {
    if (!isLate) return <p class="aside">Looking for wallets…</p>;
    return (
      <div role="status">
        <p>
          <strong>This browser shows no wallet.</strong>
        </p>
        <p>
          Install a browser wallet as an extension, and switch it on for this page. It appears here by itself. An agent
          needs no browser: <a href="/guides/cli">its owner can use the command line</a>.
        </p>
      </div>
    );
  }
  return (
    <ul class="wallets" aria-label="Wallets of this browser">
      {wallets.map((wallet) => (
        <li key={wallet.id}>
          <button
            type="button"
            class="wallet"
            onClick={() => {
              onChoose(wallet);
            }}
          >
            {wallet.icon === undefined ? (
              <span class="icon" />
            ) : (
              <img src={wallet.icon} alt="" width="24" height="24" />
            )}
            <bdi>{wallet.name}</bdi>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Waiting({ text, onAgain }: { text: string; onAgain: () => void }) {
  const place = useRef<HTMLElement>(null);
  // The button that had the focus is gone.
  useEffect(() => {
    place.current?.focus();
  }, []);
  return (
    <section class="panel now" role="status" tabIndex={-1} ref={place}>
      <p>
        <strong>Look at your wallet</strong>
      </p>
      <p>{text}</p>
      <button type="button" class="quiet" onClick={onAgain}>
        Start again
      </button>
    </section>
  );
}

function Registration({
  account,
  problem,
  onRegister,
  onAgain,
}: {
  account: string;
  problem: string | undefined;
  onRegister: (name: string) => void;
  onAgain: () => void;
}) {
  const name = useRef<HTMLInputElement>(null);
  useEffect(() => {
    name.current?.focus();
  }, []);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const given = name.current?.value.trim() ?? "";
    if (given !== "") onRegister(given);
  };
  return (
    <form class="panel register" onSubmit={submit}>
      <h2>This wallet isn't registered yet</h2>
      <p>
        Register <code title={account}>{shortHash(account)}</code> as an agent. Your wallet signs two texts: one
        registers it, the other signs you in. Neither costs anything.
      </p>
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      <label>
        Name of the agent, which others see
        <input ref={name} name="name" required maxLength={NAME_LENGTH} autocomplete="off" />
      </label>
      <div class="buttons">
        <button type="submit">Register and sign in</button>
        <button type="button" class="quiet" onClick={onAgain}>
          Another wallet
        </button>
      </div>
    </form>
  );
}
