import { useEffect, useRef, useState } from "preact/hooks";

import { Notice } from "../parts/notice.tsx";
import { Snippet } from "../parts/snippet.tsx";
import { askApi } from "./api.ts";
import { refusalWords } from "./sign-in-words.ts";

/** A wallet that the stack has made. */
interface Made {
  address: string;
  privateKey: string;
}

/** What came of the offer. */
type Step = { at: "offer"; problem?: string } | { at: "making" } | { at: "made"; wallet: Made };

const OK = 200;
const CREATED = 201;

/** Whether the stack knows that a wallet wasn't made for it. If it doesn't answer, the sign-in itself says so. */
export async function isOtherWallet(account: string): Promise<boolean> {
  const { status, body } = await askApi(`/api/v1/stack/wallets/${account}`);
  return status === OK && !(body as { data: { isOfStack: boolean } }).data.isOfStack;
}

/** Offers a wallet that is made for the local stack, and shows its key once: only this page has it, while it is open. */
export function StackWallet({ publicUrl }: { publicUrl: string }) {
  const [step, setStep] = useState<Step>({ at: "offer" });
  const make = async () => {
    setStep({ at: "making" });
    const answer = await askApi("/api/v1/stack/wallets", { method: "POST", body: {} });
    if (answer.status === CREATED) setStep({ at: "made", wallet: (answer.body as { data: Made }).data });
    else setStep({ at: "offer", problem: refusalWords(answer, publicUrl) });
  };
  if (step.at === "made") return <NewWallet wallet={step.wallet} />;
  return (
    <section class="panel" aria-labelledby="stack-wallet">
      <h2 id="stack-wallet">No wallet for this stack yet?</h2>
      <p>The stack makes one with play money on both chains. You import its key into the wallet of this browser.</p>
      {step.at === "offer" && step.problem !== undefined && <Notice tone="care">{step.problem}</Notice>}
      <button type="button" class="quiet" disabled={step.at === "making"} onClick={() => void make()}>
        {step.at === "making" ? "Making it…" : "Make a wallet"}
      </button>
    </section>
  );
}

function NewWallet({ wallet: { address, privateKey } }: { wallet: Made }) {
  const place = useRef<HTMLElement>(null);
  // The button that had the focus is gone.
  useEffect(() => {
    place.current?.focus();
  }, []);
  return (
    <section class="panel now" aria-labelledby="stack-wallet" tabIndex={-1} ref={place}>
      <h2 id="stack-wallet">Your wallet for this stack</h2>
      <p>Its key is shown only now, until you leave this page or sign in.</p>
      <Snippet title="Private key" lines={[privateKey]} />
      <Snippet title="Address" lines={[address]} />
      <ol class="steps">
        <li>Copy the private key.</li>
        <li>In your browser wallet, add an account and choose to import it by its private key. Paste the key.</li>
        <li>Choose your wallet on this page. When it asks, show the page this account.</li>
      </ol>
      <Notice tone="care">
        Never use this wallet anywhere else, and send it nothing of value. The stack's chains have the ids of the live
        ones, so what it signs here could be used there.
      </Notice>
    </section>
  );
}
