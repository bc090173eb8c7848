import type { Key } from "../../../sdk/src/generated/api-types.ts";
import { usd } from "../words/amounts.ts";
import { moment } from "../words/times.ts";
import { Bar } from "./bar.tsx";
import { usedBounds } from "./key-words.ts";

/** What a mandate has used of its amounts, as bars. */
export function MandateBars({ of }: { of: NonNullable<Key["mandate"]> }) {
  return (
    <dl class="bars">
      {usedBounds(of).map(({ name, used, limit, share }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd title={name === "Today" ? `Begins again at ${moment(Date.parse(of.dayEndsAt))}` : undefined}>
            {usd(used).shown} of {usd(limit).shown}
          </dd>
          <Bar share={share} />
        </div>
      ))}
    </dl>
  );
}
