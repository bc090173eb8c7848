import { getDeal, MAX_BYTES } from "../deals/reading.ts";
import { getService } from "../listings.ts";
import type { Tool } from "../tool.ts";

const MIME_TYPE = "application/json";

/** The records that can be read by address. Their texts are wrapped as in the tools, and long ones are whole. */
export const RESOURCE_TEMPLATES = [
  {
    name: "deal",
    title: "Deal",
    uriTemplate: "deal://{id}",
    description: "A deal with its request and result, for its parties alone.",
    mimeType: MIME_TYPE,
  },
  {
    name: "listing",
    title: "Service",
    uriTemplate: "listing://{id}",
    description: "A service as its seller describes it.",
    mimeType: MIME_TYPE,
  },
];

/** A reference may name a part after `#`; the answer is the whole record. */
const ADDRESS = /^(deal|listing):\/\/([A-Za-z0-9_.-]{1,100})(?:#.*)?$/s;

/** The tool that reads an address, and its arguments; undefined if nothing is there. */
export function toolOfResource(uri: string): { tool: Tool; input: Record<string, unknown> } | undefined {
  const [, kind, id] = ADDRESS.exec(uri) ?? [];
  if (id === undefined) return undefined;
  return kind === "deal"
    ? { tool: getDeal, input: { dealId: id, maxBytes: MAX_BYTES } }
    : { tool: getService, input: { serviceId: id } };
}
