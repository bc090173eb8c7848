import type { Command } from "commander";
import { InvalidArgumentError } from "commander";

import { ApiError } from "../../../sdk/src/index.ts";
import { EXIT } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { table, text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { addCommand, does } from "./define.ts";

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };
const MAX_SECONDS = 2_592_000;
const NOT_FOUND = 404;

/** Adds `sandbox`, which moves the clocks of the local stack. */
export function addSandbox(program: Command, runtime: Runtime): void {
  const sandbox = program.command("sandbox").description("move the clocks of the local stack");
  const advance = addCommand(sandbox, "advance", "move the clocks of both local chains forward").argument(
    "<duration>",
    "such as 90s, 6m, 2h or 3d, from 1s to 30d",
    secondsOf,
  );
  does(advance, runtime, async (session, _options, duration) => {
    const seconds = Number(duration);
    const moved = await session.output.progress("Moving the clocks", askSandbox(session, seconds));
    const rows = moved.chains.map(({ network, blockNumber, time }) => [network, String(blockNumber), time]);
    session.output.result(moved, () => [
      text(`The chains' clocks are ${seconds} seconds further.`),
      table(["network", "block", "time"], rows),
    ]);
    return undefined;
  });
}

/** The whole seconds of a duration such as `6m`, as a number in text like every argument. */
function secondsOf(duration: string): string {
  const [, count, unit = ""] = /^(\d{1,9})([smhd])$/.exec(duration) ?? [];
  const seconds = Number(count) * (UNIT_SECONDS[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= MAX_SECONDS) return String(seconds);
  throw new InvalidArgumentError("must be a whole number with s, m, h or d, from 1s to 30d, such as 6m");
}

interface Advanced {
  seconds: number;
  chains: { network: string; blockNumber: number; time: string }[];
}

async function askSandbox(session: Session, seconds: number): Promise<Advanced> {
  // The key is sent only because the client has no request without one; the route needs none.
  const request = { method: "POST", path: "/api/v1/sandbox/advance", body: { seconds } } as const;
  try {
    return (await session.agent().request<{ data: Advanced }>(request)).body.data;
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== NOT_FOUND) throw error;
    throw new CommandFailure({
      exitCode: EXIT.failed,
      code: "not_found",
      message: `${session.url} has no sandbox. Only the local stack has one.`,
      whatToDo: "Start a stack with `npm start` in the repository, and sign in there with `agent-marketplace init`.",
    });
  }
}
