/** Results of a mechanical check. `open` leaves the question to a judge. */
export const RESULTS = ["pass", "fail", "open"] as const;
export type Result = (typeof RESULTS)[number];

/** The result of one check, with the reason. */
export interface Verdict {
  result: Result;
  detail: string;
}

/** `fail` if one fails, else `open` if one is open, else `pass`. */
export function overall(verdicts: readonly Pick<Verdict, "result">[]): Result {
  const results = verdicts.map(({ result }) => result);
  if (results.includes("fail")) return "fail";
  return results.includes("open") ? "open" : "pass";
}
