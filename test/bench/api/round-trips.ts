import type { TestApi } from "../../fixtures/api.ts";
import { median } from "./load.ts";
import type { Market, Subject } from "./market.ts";

const CALLS = 15;
/** What the driver does by itself, and what the search index reads in the background. */
const BACKGROUND = ["hello", "endSessions", "getMore"];

/**
 * Commands that a call sends to the database, the median of some calls one after another. A call's settlement travels with
 * the agent's next call, or with those of all agents once a second, so it costs none of its own.
 */
export async function roundTripsOf(api: TestApi, market: Market, subject: Subject): Promise<number> {
  let commands = 0;
  const count = ({ commandName }: { commandName: string }): void => {
    if (!BACKGROUND.includes(commandName)) commands += 1;
  };
  const client = api.container.connection.getClient();
  client.on("commandStarted", count);
  const counted: number[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    commands = 0;
    const { method, path, headers, body, status } = market.call(subject, 0);
    const answer = await fetch(api.url + path, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await answer.text();
    if (answer.status !== status) throw new Error(`${subject} was answered ${answer.status} ${text}`);
    counted.push(commands);
  }
  client.off("commandStarted", count);
  return median(counted);
}
