import { useEffect, useState } from "preact/hooks";

import { useAlive } from "./browser.ts";

const SHOWN_MS = 2_000;

/** Copies a text. Its place is empty where nothing can be copied. @param what names it for who can't see it */
export function Copy({ text, what }: { text: string; what: string }) {
  const isAlive = useAlive();
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  useEffect(() => {
    if (state === "ready") return undefined;
    const timer = setTimeout(() => {
      setState("ready");
    }, SHOWN_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [state]);
  // Browsers have a clipboard only on https and on loopback.
  if (!isAlive || !("clipboard" in navigator)) return <span class="copy" />;
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => {
        setState("copied");
      },
      () => {
        setState("failed");
      },
    );
  };
  const words = { ready: "Copy", copied: "Copied", failed: "Failed" }[state];
  return (
    <button type="button" class="copy" onClick={copy} aria-label={`${words} ${what}`} data-state={state}>
      <span aria-live="polite">{words}</span>
    </button>
  );
}
