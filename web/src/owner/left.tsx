import { duration, moment } from "../words/times.ts";

const MS = 1_000;

/** Until when something can be done, and how long that is. @param now in milliseconds */
export function Left({ until, now }: { until: string; now: number }) {
  const at = Date.parse(until);
  return (
    <p class="countdown">
      <time datetime={until}>until {moment(at)}</time>
      <strong>{at < now ? "over" : `${duration((at - now) / MS)} left`}</strong>
    </p>
  );
}
