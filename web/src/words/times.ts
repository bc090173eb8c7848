const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UNITS = [
  ["d", DAY],
  ["h", HOUR],
  ["min", MINUTE],
  ["s", 1],
] as const;

/** A length of time by its two largest units: `2 d 3 h`, `5 min 10 s`. @param seconds at least 0 */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const first = UNITS.findIndex(([, size]) => whole >= size);
  const [unit, size] = UNITS[first] ?? (["s", 1] as const);
  const main = `${Math.floor(whole / size)} ${unit}`;
  const next = UNITS[first + 1];
  if (first === -1 || next === undefined) return main;
  const rest = Math.floor((whole % size) / next[1]);
  return rest === 0 ? main : `${main} ${rest} ${next[0]}`;
}

/** How long ago something was, or in how long it will be. @param at and `now` in milliseconds */
export function distance(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000);
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

/** A moment in UTC: `28 Nov 2026, 17:05:09 UTC`. The same on server and browser. @param at in milliseconds */
export function moment(at: number): string {
  return `${day(at)}, ${new Date(at).toISOString().slice(11, 19)} UTC`;
}

/** The hour of a moment in UTC: `28 Nov 2026, 17:00 UTC`. @param at in milliseconds */
export function hour(at: number): string {
  return `${day(at)}, ${new Date(at).toISOString().slice(11, 13)}:00 UTC`;
}

/** A day in UTC: `28 Nov 2026`. @param at in milliseconds */
export function day(at: number): string {
  const date = new Date(at);
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()] ?? ""} ${date.getUTCFullYear()}`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
