import { distance, moment } from "../words/times.ts";
import { useNow } from "./browser.ts";

const SELDOM_MS = 15_000;

/** When something was: how long ago once the page is alive, with the moment for whoever points at it. @param at ISO or milliseconds */
export function Time({ at }: { at: string | number }) {
  const now = useNow(SELDOM_MS);
  const time = new Date(at).getTime();
  const exact = moment(time);
  return (
    <time datetime={new Date(time).toISOString()} title={exact}>
      {now === undefined ? exact : distance(time, now)}
    </time>
  );
}
