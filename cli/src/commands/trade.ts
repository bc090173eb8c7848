import { Option } from "commander";
import type { Command } from "commander";

import { DealEndedError, TimeoutError } from "../../../sdk/src/index.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { CommandFailure } from "../failure.ts";
import { readJsonObject, readText, wholeNumber } from "../options.ts";
import { text } from "../output/blocks.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session.ts";
import { dealBlocks } from "./deal-blocks.ts";
import type { ShownDeal } from "./deal-blocks.ts";
import { addCommand, beginIntent, does, takesIntent } from "./define.ts";
import { callBlocks, openSigner, takesSignature } from "./signing.ts";
import type { SigningAgent, SigningOptions } from "./signing.ts";

/** How long a move may wait for its block and for the service to see it. */
const MOVE_MS = 90_000;
const DEFAULT_WAIT_SECONDS = 600;

/** Adds the commands that move a deal: `hire`, `deliver`, `decline`, `accept`, `reclaim` and `dispute`, and `offer`. */
export function addTrade(program: Command, runtime: Runtime): void {
  addHire(program, runtime);

  const deliver = moveCommand(
    program,
    "deliver <dealId>",
    "as the seller, hand over the result; it can't be changed later",
  );
  deliver.requiredOption("--input <file>", "JSON object of the result, - for standard input");
  does<SigningOptions & { input: string }>(deliver, runtime, async (session, options, dealId) =>
    moveDeal(session, options, "deliver", {
      dealId,
      payload: await readJsonObject("--input", options.input, runtime.stdin),
    }),
  );

  const dispute = moveCommand(program, "dispute <dealId>", "as the buyer, dispute the delivery; freezes the deposit");
  dispute
    .option("--reason <text>", "what is wrong with it; the ruling reads it")
    .option("--input <file>", "file with the reason, - for standard input");
  does<SigningOptions & { reason?: string; input?: string }>(dispute, runtime, async (session, options, dealId) => {
    if ((options.reason === undefined) === (options.input === undefined)) {
      dispute.error("error: give --reason or --input");
    }
    const reason = options.reason ?? (await readText("--input", options.input ?? "", runtime.stdin));
    return moveDeal(session, options, "dispute", { dealId, reason });
  });

  for (const [name, description] of [
    ["accept", "as the buyer, accept the delivery, which pays the seller at once"],
    ["decline", "as the seller, decline a paid job; the buyer gets the deposit back"],
    ["reclaim", "collect what time has set free: a deposit, your pay, or half after a dispute"],
  ] as const) {
    const command = moveCommand(program, `${name} <dealId>`, description);
    does<SigningOptions>(command, runtime, (session, options, dealId) => moveDeal(session, options, name, { dealId }));
  }

  const offer = takesIntent(addCommand(program, "offer", "list a service that you sell")).requiredOption(
    "--input <file>",
    "JSON object with title, description, category, price and, optionally, priceUnit and network",
  );
  does<{ input: string; intent?: string }>(offer, runtime, async (session, options) => {
    const listing = await readJsonObject("--input", options.input, runtime.stdin);
    const intentId = beginIntent(session, options);
    const data = await session.call("offer_service", { ...listing, intentId }, { progress: "Listing the service" });
    const { serviceId, status, warnings } = data as { serviceId: string; status: string; warnings: string[] };
    session.output.result(data, () => [text(`${serviceId} is ${status}.`), ...warnings.map((line) => text(line))]);
    return undefined;
  });
}

const moveCommand = (program: Command, usage: string, description: string): Command =>
  takesSignature(takesIntent(addCommand(program, usage, description)));

interface HireOptions extends SigningOptions {
  max: string;
  input?: string;
  criteria?: string;
  token?: string;
  quantity?: number;
  within?: number;
  callbackUrl?: string;
  again?: true;
  wait?: true | number;
}

function addHire(program: Command, runtime: Runtime): void {
  const hire = takesSignature(
    takesIntent(addCommand(program, "hire <serviceId>", "order a service and pay the deposit into escrow")),
  )
    .requiredOption("--max <amount>", "most that you pay in total, such as 2.50")
    .option("--input <file>", "JSON object with what the seller needs to know, - for standard input")
    .option("--criteria <file>", "JSON object with schema and checks that the result has to meet")
    .addOption(new Option("--token <symbol>", "what you pay in").choices(["USDC", "WETH"]))
    .option("--quantity <n>", "how many units", wholeNumber(1, 1_000_000))
    .option("--within <seconds>", "time to deliver, 60 to 2592000", wholeNumber(60, 2_592_000))
    .option("--callback-url <url>", "address for services that need a callback")
    .option("--again", "buy the same once more although the first is still open")
    .option(
      "--wait [seconds]",
      `wait for the delivery, by default ${DEFAULT_WAIT_SECONDS} seconds`,
      wholeNumber(1, 86_400),
    );
  does<HireOptions>(hire, runtime, async (session, options, serviceId) => {
    const { max: maxPrice, token, quantity, within: deliverWithinSeconds, callbackUrl, again } = options;
    const request =
      options.input === undefined ? undefined : await readJsonObject("--input", options.input, runtime.stdin);
    const criteria =
      options.criteria === undefined ? undefined : await readJsonObject("--criteria", options.criteria, runtime.stdin);
    const signing = await openSigner(session, options);
    const intentId = beginIntent(session, options);
    const order = {
      intentId,
      serviceId,
      maxPrice,
      token,
      request,
      quantity,
      criteria,
      deliverWithinSeconds,
      callbackUrl,
    };
    const call = { ...signing, waitMs: MOVE_MS, progress: "Ordering" };
    const data = await session.call("hire", { ...order, again, waitSeconds: 0 }, call);
    if (data["result"] === "signature_required") return showDryRun(session, data);
    if (data["state"] !== "funded") requireKnown(data);
    if (options.wait === undefined) return showDeal(session, data);
    const seconds = options.wait === true ? DEFAULT_WAIT_SECONDS : options.wait;
    return waitForDelivery(session, signing, String(data["dealId"]), seconds);
  });
}

/** Waits for the delivery of a paid deal. The money is in escrow, so nothing is unknown any more. */
async function waitForDelivery(
  session: Session,
  { agent }: SigningAgent,
  dealId: string,
  seconds: number,
): Promise<ExitCode | undefined> {
  const deal = await agent.deal(dealId);
  const options = { timeoutMs: seconds * 1_000, signal: session.runtime.signal };
  const waiting = deal.waitForStatus(["delivered", "released", "disputed", "resolved"], options);
  try {
    await session.output.progress("Waiting for the delivery", waiting);
  } catch (error) {
    if (!(error instanceof TimeoutError) && !(error instanceof DealEndedError)) throw error;
  }
  const data = await session.call("get_deal", { dealId });
  session.output.result(data, () => dealBlocks(data as unknown as ShownDeal));
  if (["delivered", "released", "disputed", "resolved"].includes(String(data["state"]))) return EXIT.done;
  session.output.note(`Not delivered. Look again: agent-marketplace deal ${dealId}`);
  return EXIT.failed;
}

/** Makes a move of a deal by its tool. */
async function moveDeal(
  session: Session,
  options: SigningOptions,
  tool: string,
  input: Record<string, unknown>,
): Promise<ExitCode | undefined> {
  const signing = await openSigner(session, options);
  const intentId = beginIntent(session, options);
  const call = { ...signing, waitMs: MOVE_MS, progress: "Waiting for the block" };
  const data = await session.call(tool, { ...input, intentId }, call);
  if (data["result"] === "signature_required") return showDryRun(session, data);
  requireKnown(data);
  return showDeal(session, data);
}

function showDeal(session: Session, data: Record<string, unknown>): ExitCode {
  session.output.result(data, () => dealBlocks(data as unknown as ShownDeal));
  return EXIT.done;
}

function showDryRun(session: Session, data: Record<string, unknown>): ExitCode {
  session.output.result(data, () => [...dealBlocks(data as unknown as ShownDeal), ...callBlocks(data["signature"])]);
  return EXIT.done;
}

/** @throws CommandFailure if the move may be on its way */
function requireKnown({ result, dealId }: Record<string, unknown>): void {
  if (result !== "pending") return;
  throw new CommandFailure({
    exitCode: EXIT.outcomeUnknown,
    code: "outcome_unknown",
    message: "It isn't in a block yet, and may still come into one.",
    whatToDo: "Run the command again with the same --intent.",
    dealId: String(dealId),
  });
}
