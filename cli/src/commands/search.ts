import type { Command } from "commander";

import { heading, stranger, text } from "../output/blocks.ts";
import type { Block } from "../output/blocks.ts";
import { decimal, wholeNumber } from "../options.ts";
import type { Runtime } from "../runtime.ts";
import { addCommand, does } from "./define.ts";

/** What the tools say of a service. */
interface Service {
  serviceId: string;
  title: unknown;
  description: unknown;
  category: string;
  network: string;
  price: { amount: string; currency: string; unit: string };
  needsCallback: boolean;
  status?: string;
  sellerTrust?: number;
}

/** Adds `search` and `show`. */
export function addSearch(program: Command, runtime: Runtime): void {
  const search = addCommand(program, "search <query>", "find services by meaning, best first; needs no API key")
    .option("--max-price <usd>", "most for one unit, in US dollars", decimal(0, 1e15))
    .option("--min-trust <score>", "least score of the seller, 0 to 1", decimal(0, 1))
    .option("--limit <n>", "at most so many, 1 to 50", wholeNumber(1, 50));
  does<{ maxPrice?: number; minTrust?: number; limit?: number }>(search, runtime, async (session, options, query) => {
    const { maxPrice: maxPriceUsd, minTrust, limit } = options;
    const data = await session.call(
      "search_services",
      { query, maxPriceUsd, minTrust, limit },
      { progress: "Searching" },
    );
    const { services } = data as unknown as { services: Service[] };
    session.output.result(data, () =>
      services.length === 0 ? [text("Nothing found.")] : services.flatMap(serviceBlocks),
    );
    return undefined;
  });

  const show = addCommand(program, "show <serviceId>", "show a service as its seller describes it");
  does(show, runtime, async (session, _options, serviceId) => {
    const data = await session.call("get_service", { serviceId }, { progress: "Reading the service" });
    session.output.result(data, () => serviceBlocks(data as unknown as Service));
    return undefined;
  });
}

function serviceBlocks(service: Service): Block[] {
  const { serviceId, price, category, network, status, sellerTrust, needsCallback } = service;
  const parts = [
    `${price.amount} ${price.currency} ${price.unit}`,
    category,
    network,
    ...(status === undefined ? [] : [status]),
    ...(sellerTrust === undefined ? [] : [`trust ${sellerTrust.toFixed(2)}`]),
    ...(needsCallback ? ["needs --callback-url"] : []),
  ];
  return [
    heading(serviceId),
    text(parts.join(" · ")),
    ...stranger("title", service.title),
    ...stranger("description", service.description),
  ];
}
