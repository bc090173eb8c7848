import { ApiError } from "../../http/errors.ts";
import type { CountCall } from "./client-windows.ts";

const HOUR_MS = 3_600_000;

/** A window of an hour that only some routes have. */
export interface HourWindow {
  window: "faucet" | "sandbox" | "reports";
  countedBy: "address" | "wallet" | "agent";
  /** Whose calls it counts; unique among all windows. */
  id: string;
  limit: number;
}

/** Counts a call. @throws ApiError `rate_limit_exceeded` if the hour has no room for it */
export async function countInHour(count: CountCall, { window, countedBy, id, limit }: HourWindow): Promise<void> {
  const { admitted, times, at } = await count({ id, limit, lengthMs: HOUR_MS });
  if (admitted) return;
  const freeAt = (times[0] ?? at).getTime() + HOUR_MS;
  throw new ApiError("rate_limit_exceeded", {
    details: { window, countedBy, limit },
    retryAfterSeconds: Math.max(1, Math.ceil((freeAt - at.getTime()) / 1_000)),
  });
}
