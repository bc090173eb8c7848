import { shortHash } from "../words/names.ts";
import { Copy } from "./copy.tsx";

/**
 * A hash, an id or an address: shortened, with the whole as its title and a button that copies it.
 * @param to the page about it
 */
export function Hash({ value, what, to }: { value: string; what: string; to?: string }) {
  const short = <code title={value}>{shortHash(value)}</code>;
  return (
    <span class="hash">
      {to === undefined ? short : <a href={to}>{short}</a>}
      <Copy text={value} what={what} />
    </span>
  );
}

/** A wallet, with a link to what the chains know about it. */
export function Wallet({ address, what }: { address: string; what: string }) {
  return <Hash value={address} what={what} to={`/agents/${address.toLowerCase()}`} />;
}
