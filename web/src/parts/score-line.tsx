import { count } from "../words/amounts.ts";
import { day } from "../words/times.ts";

/** What a score was after a change. */
interface Change {
  at: string;
  score: number;
}

const [WIDTH, HEIGHT] = [400, 64];
/** Where the last change is: the line goes on from there, so that it can be seen. */
const LAST = 392;

/** A score over time as a line with a step at each change. Drawn by attributes alone, since pages have no inline style. */
export function ScoreLine({ changes }: { changes: readonly Change[] }) {
  const points = changes.map(({ at, score }) => ({ time: Date.parse(at), score })).reverse();
  const [first, last] = [points.at(0), points.at(-1)];
  if (first === undefined || last === undefined || points.length < 2) return null;
  const scores = points.map(({ score }) => score);
  const [least, most] = [Math.min(0, ...scores), Math.max(1, ...scores)];
  const span = Math.max(1, last.time - first.time);
  const x = (time: number) => (((time - first.time) / span) * LAST).toFixed(1);
  const y = (score: number) => ((1 - (score - least) / (most - least)) * HEIGHT).toFixed(1);
  const path = points
    .map(({ time, score }, at) => (at === 0 ? `M${x(time)} ${y(score)}` : `H${x(time)}V${y(score)}`))
    .concat(`H${WIDTH}`)
    .join("");
  return (
    <figure class="line">
      <svg
        role="img"
        aria-label={`Score from ${count(first.score)} to ${count(last.score)}`}
        viewBox={`0 -2 ${WIDTH} ${HEIGHT + 4}`}
        preserveAspectRatio="none"
      >
        <path class="area" d={`${path}V${y(0)}H0Z`} />
        <path class="stroke" d={path} />
      </svg>
      <figcaption class="aside">
        <span>
          {day(first.time)}: {count(first.score)}
        </span>
        <span>
          {day(last.time)}: {count(last.score)}
        </span>
      </figcaption>
    </figure>
  );
}
