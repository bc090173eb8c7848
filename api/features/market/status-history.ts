import type { Connection, Model } from "mongoose";
import type { z } from "zod";

import { NETWORKS } from "../../config/constants.ts";
import type { Network } from "../../config/constants.ts";
import { isDuplicateKey } from "../../db/connection.ts";
import { collection, date, oneOf, part, text } from "../../db/records.ts";
import type { RecordOf } from "../../db/records.ts";
import { repeat } from "../../jobs/background-loop.ts";
import type { BackgroundLoop } from "../../jobs/background-loop.ts";
import type { Logger } from "../../lib/logger.ts";
import { HISTORY_HOURS, PART_STATES } from "./schemas.ts";
import type { statusAnswer } from "./schemas.ts";

type StatusAnswer = z.input<typeof statusAnswer>["data"];
type Status = Pick<StatusAnswer, "state" | "networks">;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
/** How long a minute is kept. */
const KEPT_SECONDS = (HISTORY_HOURS + 1) * 3_600;
/** First and longest pause after an outage, in milliseconds. */
const RETRY = { minMs: 1_000, maxMs: MINUTE_MS };

const state = oneOf(PART_STATES);
const minuteFields = {
  /** The minute, as in `2026-01-31T12:34`. */
  _id: text,
  at: date,
  /** The worst of all parts, and of a network's. */
  state,
  networks: part({ "base-sepolia": state, base: state }),
};
type MinuteRecord = RecordOf<typeof minuteFields>;
export type StatusMinuteModel = Model<MinuteRecord>;

/** The collection of how the service was, a record a minute. */
export function statusMinuteModel(connection: Connection): StatusMinuteModel {
  return collection(connection, "StatusMinute", "status_minutes", minuteFields, [
    [{ at: 1 }, { expireAfterSeconds: KEPT_SECONDS }],
  ]);
}

/** Dependencies of the recorder. */
export interface StatusRecorderDeps {
  minutes: StatusMinuteModel;
  status: () => Promise<Status>;
  now: () => Date;
  log: Logger;
}

/** Notes once a minute how the service is. Of several processes, the first one to look notes it. */
export class StatusRecorder {
  readonly #deps: StatusRecorderDeps;
  readonly loop: BackgroundLoop;

  constructor(deps: StatusRecorderDeps) {
    this.#deps = deps;
    // A service that is being started may be down for some seconds: a process begins with its first whole minute.
    let isFirst = true;
    this.loop = repeat({
      name: "market.recordStatus",
      step: async () => {
        if (!isFirst) await this.step();
        isFirst = false;
        return MINUTE_MS - (deps.now().getTime() % MINUTE_MS);
      },
      retry: RETRY,
      failed: "couldn't note the status",
      log: deps.log,
    });
  }

  /** Notes the minute under way, unless that was done. */
  async step(): Promise<void> {
    const { minutes, status, now } = this.#deps;
    const at = new Date(Math.floor(now().getTime() / MINUTE_MS) * MINUTE_MS);
    const _id = at.toISOString().slice(0, "2026-01-31T12:34".length);
    if ((await minutes.exists({ _id })) !== null) return;
    const { state: worst, networks } = await status();
    const stateOf = (name: Network) => networks.find(({ network }) => network === name)?.state ?? "down";
    const states = { "base-sepolia": stateOf("base-sepolia"), base: stateOf("base") };
    try {
      await minutes.create({ _id, at, state: worst, networks: states });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

type Hour = NonNullable<StatusAnswer["history"]>[number];
type Minutes = Hour["all"];

/** How the service was in the last hours, the oldest first. An hour without a record has zeros. */
export async function readStatusHistory(minutes: StatusMinuteModel, now: Date): Promise<Hour[]> {
  const last = Math.floor(now.getTime() / HOUR_MS);
  const first = last - HISTORY_HOURS + 1;
  const counted = (field: string) =>
    Object.fromEntries(PART_STATES.map((name) => [name, { $sum: { $cond: [{ $eq: [field, name] }, 1, 0] } }]));
  const named = { all: "$state", ...Object.fromEntries(NETWORKS.map((name) => [name, `$networks.${name}`])) };
  const sums = Object.entries(named).flatMap(([of, field]) =>
    Object.entries(counted(field)).map(([name, sum]) => [`${of}:${name}`, sum] as const),
  );
  const found = await minutes.aggregate<Record<string, number> & { _id: Date }>([
    { $match: { at: { $gte: new Date(first * HOUR_MS) } } },
    { $group: { _id: { $dateTrunc: { date: "$at", unit: "hour" } }, ...Object.fromEntries(sums) } },
  ]);
  const byHour = new Map(found.map((hour) => [hour._id.getTime() / HOUR_MS, hour]));
  return Array.from({ length: HISTORY_HOURS }, (_, index): Hour => {
    const hour = byHour.get(first + index);
    const of = (name: "all" | Network): Minutes => ({
      ok: hour?.[`${name}:ok`] ?? 0,
      late: hour?.[`${name}:late`] ?? 0,
      down: hour?.[`${name}:down`] ?? 0,
    });
    const start = new Date((first + index) * HOUR_MS).toISOString();
    return { start, all: of("all"), "base-sepolia": of("base-sepolia"), base: of("base") };
  });
}
