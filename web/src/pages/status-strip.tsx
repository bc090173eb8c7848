import type { ServiceStatus, StatusMinutes } from "../data/answers.ts";
import { counted, percent } from "../words/amounts.ts";
import { networkName } from "../words/names.ts";
import { hour } from "../words/times.ts";

type Hour = NonNullable<ServiceStatus["history"]>[number];

const NAMES = ["all", "base-sepolia", "base"] as const;
const HEIGHT = 24;
/** Width of an hour, with the space to the next one. */
const [STEP, WIDTH] = [10, 8];

/** How the service was in the last hours: a bar an hour, in the colour of its worst minute. */
export function StatusStrips({ history }: { history: readonly Hour[] }) {
  return (
    <section class="panel" aria-labelledby="history">
      <h2 id="history">
        The last {history.length} hours<span class="aside">each bar is an hour; oldest on the left</span>
      </h2>
      {NAMES.map((name) => (
        <Strip
          key={name}
          name={name === "all" ? "All parts" : networkName(name)}
          hours={history.map((one) => ({ start: one.start, minutes: one[name] }))}
        />
      ))}
    </section>
  );
}

function Strip({ name, hours }: { name: string; hours: readonly { start: string; minutes: StatusMinutes }[] }) {
  const sum = (state: keyof StatusMinutes) => hours.reduce((total, { minutes }) => total + minutes[state], 0);
  const [ok, late, down] = [sum("ok"), sum("late"), sum("down")];
  const noted = ok + late + down;
  const said =
    noted === 0 ? "nothing noted yet" : `worked in ${percent(ok / noted)} of ${counted(noted, "noted minute")}`;
  return (
    <figure class="strip">
      <figcaption>
        {name}
        <span class="aside">{said}</span>
      </figcaption>
      <svg
        role="img"
        aria-label={`${name}: ${said}; late in ${late}, down in ${down}`}
        viewBox={`0 0 ${hours.length * STEP} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        {hours.map(({ start, minutes }, at) => (
          <rect key={start} class={worstOf(minutes)} x={at * STEP} width={WIDTH} height={HEIGHT}>
            <title>{`${hour(Date.parse(start))}: ${wordsOf(minutes)}`}</title>
          </rect>
        ))}
      </svg>
    </figure>
  );
}

function worstOf({ ok, late, down }: StatusMinutes): string {
  if (down > 0) return "bad";
  if (late > 0) return "care";
  return ok > 0 ? "good" : "none";
}

function wordsOf({ ok, late, down }: StatusMinutes): string {
  const parts = [
    ["ok", ok],
    ["late", late],
    ["down", down],
  ] as const;
  const said = parts.filter(([, minutes]) => minutes > 0).map(([state, minutes]) => `${minutes} min ${state}`);
  return said.length === 0 ? "nothing noted" : said.join(", ");
}
