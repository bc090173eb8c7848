import { shortHash } from "../words/names.ts";
import { Copy } from "./copy.tsx";

/** A hash, an id or an address: shortened, with the whole as its title and a button that copies it. */
export function Hash({ value, what }: { value: string; what: string }) {
  return (
    <span class="hash">
      <code title={value}>{shortHash(value)}</code>
      <Copy text={value} what={what} />
    </span>
  );
}
