import type { ComponentChildren } from "preact";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

/** Shows another address of the same page without loading it; undefined on the server. */
export const Go = createContext<((address: string) => void) | undefined>(undefined);

/** A link to another view of the same page. It is an ordinary link until the page is alive. */
export function ViewLink({ to, isCurrent, children }: { to: string; isCurrent: boolean; children: ComponentChildren }) {
  const go = useContext(Go);
  const follow = (event: MouseEvent) => {
    const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
    if (go === undefined || !isPlain) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={to} onClick={follow} aria-current={isCurrent ? "true" : undefined}>
      {children}
    </a>
  );
}
