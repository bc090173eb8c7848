import { useState } from "preact/hooks";

import { useAdmin } from "./api.ts";
import type { AdminRequest } from "./api.ts";
import { refusalWords } from "./words.ts";

/** What a form is doing, or what came of it. */
export type Step = { at: "rest" | "sending" } | { at: "done"; text: string } | { at: "problem"; text: string };

const FIRST_REFUSAL = 300;

/** Sends what a form asks for. @returns where it is, and what sends it: undefined once it was refused */
export function useAction(): {
  step: Step;
  send: <Body>(path: string, request: AdminRequest, done: (body: Body) => string) => Promise<Body | undefined>;
} {
  const ask = useAdmin();
  const [step, setStep] = useState<Step>({ at: "rest" });
  const send = async <Body>(
    path: string,
    request: AdminRequest,
    done: (body: Body) => string,
  ): Promise<Body | undefined> => {
    setStep({ at: "sending" });
    const answer = await ask(path, request);
    if (answer.status === 0 || answer.status >= FIRST_REFUSAL) {
      setStep({ at: "problem", text: refusalWords(answer) });
      return undefined;
    }
    const body = answer.body as Body;
    setStep({ at: "done", text: done(body) });
    return body;
  };
  return { step, send };
}
