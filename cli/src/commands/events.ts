import type { Command } from "commander";

import type { EventFilter, LoggedEvent } from "../../../sdk/src/index.ts";
import { untrusted } from "../../../tools/src/index.ts";
import { usageFailure } from "../failure.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { readPrivateFile, writePrivateFile } from "../wallet/private-files.ts";
import { addCommand, does } from "./define.ts";

interface EventOptions {
  follow?: true;
  after?: string;
  type?: string;
  deal?: string;
}

const EVENT_ID = /^[A-Za-z0-9_]{1,100}$/;

/** Adds `events`, which writes a line of JSON for each event. */
export function addEvents(program: Command, runtime: Runtime): void {
  const events = addCommand(program, "events", "write your events as lines of JSON, oldest first")
    .option("--follow", "go on with the events to come, until ctrl-C; the next time goes on after the last one")
    .option("--after <id>", "begin after this event, at the `start` of the log, or `now` (with --follow)")
    .option("--type <type>", "only of this type, such as escrow.funded")
    .option("--deal <dealId>", "only of this deal");
  does<EventOptions>(events, runtime, async (session, options) => {
    const { after } = options;
    if (after !== undefined && !EVENT_ID.test(after)) {
      throw usageFailure("--after: must be the id of an event, start or now", "Take the id from a line of `events`.");
    }
    await (options.follow === true ? follow(session, options) : list(session, options));
    return undefined;
  });
}

async function list(session: Session, { after, type, deal }: EventOptions): Promise<void> {
  if (after === "now") throw usageFailure("--after now needs --follow", "Add --follow, or name an event.");
  const filter = {
    ...(after === undefined || after === "start" ? {} : { cursor: after }),
    ...(type === undefined ? {} : { type }),
    ...(deal === undefined ? {} : { transactionId: deal }),
    // The service knows the types, and its refusal names them.
  } as EventFilter;
  for await (const event of session.agent().events.list(filter)) session.output.line(present(event));
}

/**
 * Writes the events as they happen. The id of the last one is kept once its line is written, so the next run goes on after it.
 * With a filter it is kept nowhere: the other events would be lost to a run without one.
 */
async function follow(session: Session, { after, type, deal }: EventOptions): Promise<void> {
  const { files, runtime, output } = session;
  const hasFilter = type !== undefined || deal !== undefined;
  const begin = after ?? (await readPrivateFile(files.position))?.trim() ?? "start";
  runtime.endsBySignal = true;
  const options = {
    after: begin === "now" ? undefined : begin,
    type: type as EventFilter["type"],
    transactionId: deal,
    signal: runtime.signal,
  };
  try {
    for await (const event of session.agent().events.stream(options)) {
      output.line(present(event));
      if (!hasFilter) await writePrivateFile(files.position, `${event.id}\n`);
    }
  } catch (error) {
    if (!runtime.signal.aborted) throw error;
  }
}

/** More than any event has. */
const PAYLOAD_BYTES = 2_000_000;

/** An event whose payload is wrapped whole, because it repeats what the other party wrote. */
function present({ payload, ...event }: LoggedEvent) {
  const from = `event ${event.id}`;
  return { ...event, payload: untrusted(payload, { from, reference: `event://${event.id}`, maxBytes: PAYLOAD_BYTES }) };
}
