import { useEffect, useRef, useState } from "preact/hooks";

import { Notice } from "../parts/notice.tsx";
import { askAsAdmin, REPORTS } from "./api.ts";
import { keyWords } from "./words.ts";

const OK = 200;
/** The characters of a key (`ADMIN_API_KEY`). Others can't be sent in a header. */
const KEY = /^[\x21-\x7e]+$/;

/** Asks for the admin key, and hands it on once the service has taken it. */
export function KeyForm({ why, onKey }: { why: string | undefined; onKey: (key: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [isChecking, setChecking] = useState(false);
  useEffect(() => {
    input.current?.focus();
  }, []);

  const check = async (key: string) => {
    setChecking(true);
    setProblem(undefined);
    const answer = await askAsAdmin(key, `${REPORTS}?state=open&limit=1`);
    setChecking(false);
    if (answer.status === OK) onKey(key);
    else setProblem(keyWords(answer));
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const key = input.current?.value.trim() ?? "";
    // What is no longer needed doesn't stay in the document either.
    if (input.current !== null) input.current.value = "";
    if (KEY.test(key)) void check(key);
    else setProblem("A key has visible ASCII characters alone, without spaces. Copy the whole of it.");
  };

  return (
    <div class="entry">
      <div class="title">
        <h1>Operator</h1>
        <p class="lead">For the holder of this service's admin key. Each use of the key is in the service's audit.</p>
      </div>
      {why !== undefined && problem === undefined && !isChecking && <Notice tone="care">{why}</Notice>}
      {problem !== undefined && <Notice tone="care">{problem}</Notice>}
      {globalThis.isSecureContext ? (
        <form class="panel form" autocomplete="off" onSubmit={submit}>
          <label>
            Admin key
            {/* Browsers offer to store a password whose field is "off", but not a code. */}
            <input ref={input} type="password" required autocomplete="one-time-code" spellcheck={false} />
          </label>
          <div class="buttons">
            <button type="submit" class="main" disabled={isChecking}>
              {isChecking ? "Checking…" : "Open"}
            </button>
          </div>
        </form>
      ) : (
        <Notice tone="care">
          This address is http, and others on the way could read the key. Open the page over https, or on the service's
          own machine at 127.0.0.1.
        </Notice>
      )}
      <p class="aside">
        The key stays in this tab's memory and nowhere else. It is forgotten when you leave or reload the page, and
        after 30 minutes without use.
      </p>
    </div>
  );
}
