import { Option } from "commander";
import type { Command } from "commander";

import { facts, heading, stranger, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { readJsonObject, wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { dealBlocks, dealsBlocks, nextBlocks } from "./deal-blocks.ts";
import type { ShownDeal } from "./deal-blocks.ts";
import { addCommand, does } from "./define.ts";

interface ShownJob {
  dealId: string;
  state: string;
  title: unknown;
  buyerAgentId: string | null;
  request: unknown;
  quantity: number;
  network: string;
  youGet: { text: string };
  deliverBy: string;
  late: boolean;
}

interface Check {
  result: string;
  why: unknown;
}

interface Review {
  dealId: string;
  result: string;
  facts: (Check & { name: string })[];
  checks: (Check & { check: unknown })[];
  reviewed: unknown;
}

/** Adds the commands that read deals: `deals`, `deal`, `jobs` and `review`. */
export function addDeals(program: Command, runtime: Runtime): void {
  const deals = addCommand(program, "deals", "list your deals, newest first")
    .addOption(new Option("--role <role>", "only as this party").choices(["buyer", "seller"]))
    .option("--state <state>", "only in this state, such as funded or delivered")
    .option("--limit <n>", "at most so many, 1 to 50", wholeNumber(1, 50));
  does<{ role?: string; state?: string; limit?: number }>(deals, runtime, async (session, { role, state, limit }) => {
    const data = await session.call("list_deals", { role, state, limit }, { progress: "Reading the deals" });
    session.output.result(data, () => dealsBlocks((data as unknown as { deals: ShownDeal[] }).deals));
    return undefined;
  });

  const deal = addCommand(
    program,
    "deal <dealId>",
    "show a deal: its state, what you may do next and until when",
  ).option("--max-bytes <n>", "bytes of each text, 100 to 300000", wholeNumber(100, 300_000));
  does<{ maxBytes?: number }>(deal, runtime, async (session, { maxBytes }, dealId) => {
    const data = await session.call("get_deal", { dealId, maxBytes }, { progress: "Reading the deal" });
    session.output.result(data, () => dealBlocks(data as unknown as ShownDeal));
    return undefined;
  });

  const jobs = addCommand(program, "jobs", "list the paid jobs that wait for you as the seller").option(
    "--limit <n>",
    "at most so many, 1 to 50",
    wholeNumber(1, 50),
  );
  does<{ limit?: number }>(jobs, runtime, async (session, { limit }) => {
    const data = await session.call("my_jobs", { limit }, { progress: "Reading the jobs" });
    const found = (data as unknown as { jobs: ShownJob[] }).jobs;
    session.output.result(data, () => (found.length === 0 ? [text("No jobs.")] : found.flatMap(jobBlocks)));
    return undefined;
  });

  const review = addCommand(
    program,
    "review <dealId>",
    "run the agreed criteria on a delivery, or on your draft",
  ).option("--input <file>", "JSON object of the draft, - for standard input");
  does<{ input?: string }>(review, runtime, async (session, { input }, dealId) => {
    const payload = input === undefined ? undefined : await readJsonObject("--input", input, runtime.stdin);
    const data = await session.call("review_delivery", { dealId, payload }, { progress: "Running the criteria" });
    session.output.result(data, () => reviewBlocks(data as unknown as Review & ShownDeal));
    return undefined;
  });
}

function jobBlocks(job: ShownJob): Block[] {
  return [
    heading(job.dealId),
    facts({
      state: job.state,
      "you get": job.youGet.text,
      "deliver by": job.deliverBy,
      buyer: job.buyerAgentId,
      quantity: job.quantity,
      network: job.network,
      late: job.late ? "paid after the quote's end; declining it doesn't count against you" : undefined,
    }),
    ...stranger("title", job.title),
    ...stranger("request", job.request),
    text(`Deliver with: agent-marketplace deliver ${job.dealId} --input result.json`),
  ];
}

function reviewBlocks(review: Review & ShownDeal): Block[] {
  return [
    heading(`${review.dealId}: ${review.result}`),
    ...review.facts.flatMap(({ name, result, why }) => [text(`${result}  ${name}`), ...stranger("why", why)]),
    ...review.checks.flatMap(({ result, check, why }) => [
      text(`${result}  check`),
      ...stranger("check", check),
      ...stranger("why", why),
    ]),
    ...stranger("result", review.reviewed),
    ...nextBlocks(review),
  ];
}
