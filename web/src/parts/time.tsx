import { useMemo } from "preact/hooks";

import { distance, duration, moment } from "../words/times.ts";
import { useNow } from "./browser.ts";

const SELDOM_MS = 15_000;

/** When something was: how long ago once the page is alive, with the moment as its title. @param at ISO or milliseconds */
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

const EACH_SECOND_MS = 1_000;
/** From here on the chain's clock isn't this machine's: on the local stack it can be moved. */
const MOVED_MS = 60_000;

/** How far a chain's clock is ahead of this machine's, in milliseconds. Small differences are the age of the answer. */
function useAhead(chainTime: string): number {
  return useMemo(() => {
    const ahead = new Date(chainTime).getTime() - Date.now();
    return Math.abs(ahead) > MOVED_MS ? ahead : 0;
  }, [chainTime]);
}

/**
 * A moment that comes by the chain's clock, counting down.
 * @param word `from` or `until`
 * @param chainTime the chain's time, as of now
 */
export function Countdown({ at, word, chainTime }: { at: string; word: "from" | "until"; chainTime: string }) {
  const now = useNow(EACH_SECOND_MS);
  const ahead = useAhead(chainTime);
  const time = new Date(at).getTime();
  const left = now === undefined ? undefined : (time - now - ahead) / EACH_SECOND_MS;
  const running = word === "until" ? `${duration(left ?? 0)} left` : `in ${duration(left ?? 0)}`;
  return (
    <span class="countdown">
      <time datetime={new Date(time).toISOString()}>
        {word} {moment(time)}
      </time>
      {left !== undefined && <strong>{left > 0 ? running : word === "until" ? "over" : "now"}</strong>}
    </span>
  );
}
