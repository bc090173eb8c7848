import type { CallToolResult } from "@modelcontextprotocol/server";

import type { ToolResult } from "../tool.ts";

/** The JSON of a result. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner));
}

/**
 * A tool's result as MCP has it: the same JSON as a structure and as a text, for clients that read only one of them. A refusal is only
 * a text, because clients of version 1 hold every structure against the tool's output schema, errors included.
 */
export function callResult(result: ToolResult): CallToolResult {
  if (!result.isError) return bothForms(result.data);
  const { isError, ...refusal } = result;
  return { content: [{ type: "text", text: jsonText(refusal) }], isError };
}

/** A structure, and the text of the same JSON. */
export function bothForms(data: Record<string, unknown>): CallToolResult {
  const text = jsonText(data);
  return { structuredContent: JSON.parse(text) as Record<string, unknown>, content: [{ type: "text", text }] };
}
