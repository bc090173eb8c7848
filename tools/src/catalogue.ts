import { z } from "zod";

import { accept, decline, deliver, dispute, reclaim } from "./deals/moves.ts";
import { getDeal, listDeals, myJobs } from "./deals/reading.ts";
import { hire } from "./deals/hire.ts";
import { reviewDelivery } from "./deals/review.ts";
import { getService, offerService, searchServices } from "./listings.ts";
import { recall, remember } from "./memory.ts";
import { readMessages, sendMessage } from "./messages.ts";
import type { Tool } from "./tool.ts";

/** Every tool, always in this order. */
export const TOOLS: readonly Tool[] = [
  searchServices,
  getService,
  hire,
  listDeals,
  getDeal,
  reviewDelivery,
  accept,
  dispute,
  reclaim,
  myJobs,
  deliver,
  decline,
  sendMessage,
  readMessages,
  remember,
  recall,
  offerService,
];

/** Whose form of function calling a list has. */
export type ToolFormat = "openai" | "anthropic" | "mcp";

/** The catalogue as JSON for function calling. It is the same for every caller at any time. */
export function toolsFor(format: ToolFormat): Record<string, unknown>[] {
  return TOOLS.map((tool) => FORMATS[format](tool));
}

const FORMATS: Readonly<Record<ToolFormat, (tool: Tool) => Record<string, unknown>>> = {
  openai: ({ name, description, input }) => ({
    type: "function",
    function: { name, description, parameters: inputSchema(input) },
  }),
  anthropic: ({ name, description, input }) => ({ name, description, input_schema: inputSchema(input) }),
  mcp: ({ name, title, description, input, output, hints }) => ({
    name,
    title,
    description,
    inputSchema: inputSchema(input),
    outputSchema: compact(z.toJSONSchema(output, { io: "output" })),
    annotations: hints.readOnly
      ? { readOnlyHint: true }
      : { readOnlyHint: false, idempotentHint: hints.idempotent, destructiveHint: hints.spendsMoney },
  }),
};

const inputSchema = (input: z.ZodObject): Record<string, unknown> => compact(z.toJSONSchema(input, { io: "input" }));

/** Leaves out what a model has no use for: the dialect, and that an object may have other keys. */
function compact(schema: object): Record<string, unknown> {
  const isEmpty = (value: unknown): boolean =>
    typeof value === "object" && value !== null && Object.keys(value).length === 0;
  const entries = Object.entries(schema).flatMap(([key, value]: [string, unknown]) => {
    if (key === "$schema" || key === "propertyNames") return [];
    if ((key === "additionalProperties" || key === "properties") && isEmpty(value)) return [];
    if (typeof value !== "object" || value === null || Array.isArray(value)) return [[key, value] as const];
    return [[key, compact(value)] as const];
  });
  return Object.fromEntries(entries);
}
