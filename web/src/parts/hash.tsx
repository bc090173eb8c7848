import { shortHash } from "../words/names.ts";
import { Copy } from "./copy.tsx";

/** A hash, an id or an address: shortened, whole for whoever points at it, and to be copied. */
export function Hash({ value, what }: { value: string; what: string }) {
  return (
    <span class="hash">
      <code title={value}>{shortHash(value)}</code>
      <Copy text={value} what={what} />
    </span>
  );
}
