import { FEE_WINDOW_DAYS } from "../../config/constants.ts";

const SECONDS_PER_DAY = 86_400;
const MILLISECONDS = 1_000;

/** A month of UTC days. Times are unix seconds. */
export interface Month {
  /** `2026-10` */
  name: string;
  start: number;
  /** Exclusive: the first second of the next month. */
  end: number;
  /** Start of the 30 days before the end, whose volume decides the tier. */
  windowStart: number;
}

const NAME = /^(\d{4})-(0[1-9]|1[0-2])$/;

/** A month by its name. @throws RangeError unless it is `YYYY-MM` */
export function monthNamed(name: string): Month {
  const [, year, month] = NAME.exec(name) ?? [];
  if (year === undefined || month === undefined) throw new RangeError(`"${name}" isn't a month such as 2026-10`);
  return monthFrom(Number(year), Number(month) - 1);
}

/** The month of a moment, in unix seconds. */
export function monthAt(unixSeconds: number): Month {
  const at = new Date(unixSeconds * MILLISECONDS);
  return monthFrom(at.getUTCFullYear(), at.getUTCMonth());
}

/** The month after another. */
export const monthAfter = ({ end }: Month): Month => monthAt(end);

function monthFrom(year: number, monthIndex: number): Month {
  const start = Date.UTC(year, monthIndex) / MILLISECONDS;
  const end = Date.UTC(year, monthIndex + 1) / MILLISECONDS;
  const name = new Date(start * MILLISECONDS).toISOString().slice(0, "2026-10".length);
  return { name, start, end, windowStart: end - FEE_WINDOW_DAYS * SECONDS_PER_DAY };
}
