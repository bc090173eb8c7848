import type { ComponentChildren } from "preact";

import { shortHash } from "../words/names.ts";
import { Copy } from "./copy.tsx";

/**
 * A hash, an id or an address: shortened, with the whole as its title and a button that copies it.
 * @param to the page about it
 * @param isApart whether that opens in another tab, because this one would lose what it holds
 */
export function Hash({ value, what, to, isApart }: { value: string; what: string; to?: string; isApart?: boolean }) {
  const short = <code title={value}>{shortHash(value)}</code>;
  return (
    <span class="hash">
      {to === undefined ? short : <HashLink to={to} isApart={isApart === true} short={short} />}
      <Copy text={value} what={what} />
    </span>
  );
}

function HashLink({ to, isApart, short }: { to: string; isApart: boolean; short: ComponentChildren }) {
  if (!isApart) return <a href={to}>{short}</a>;
  return (
    <a href={to} target="_blank">
      {short}
      <span class="unseen"> in another tab</span>
    </a>
  );
}

/** A wallet, with a link to what the chains know about it. */
export function Wallet({ address, what }: { address: string; what: string }) {
  return <Hash value={address} what={what} to={`/agents/${address.toLowerCase()}`} />;
}
