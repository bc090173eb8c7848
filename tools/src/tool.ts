import { z } from "zod";

import type { ToolContext } from "./context.ts";
import { toRefusal } from "./refusal.ts";
import type { Refusal } from "./refusal.ts";
import { visibleText } from "./untrusted.ts";

/** What a tool may do. */
export interface ToolHints {
  /** It changes nothing. */
  readOnly: boolean;
  /** A repeat with the same arguments changes nothing more. */
  idempotent: boolean;
  /** It can move money. */
  spendsMoney: boolean;
}

/** The answer of a tool: data as its output schema says, or why nothing was done. */
export type ToolResult = { isError: false; data: Record<string, unknown> } | Refusal;

/** A tool of the catalogue. */
export interface Tool {
  name: string;
  /** For people. */
  title: string;
  /** For a model, at most 60 words. */
  description: string;
  hints: ToolHints;
  input: z.ZodObject;
  /** The fields that a caller decides by. A result may have more. */
  output: z.ZodObject;
  /** Never throws. Arguments that don't match the schema are a refusal that names field and bound. */
  run(context: ToolContext, input: unknown): Promise<ToolResult>;
}

/** The parts of a tool, with its work on parsed arguments. */
export interface ToolParts<In extends z.ZodObject, Out extends z.ZodObject> extends Omit<
  Tool,
  "input" | "output" | "run"
> {
  input: In;
  output: Out;
  /** @throws ToolRefusal, or any error of the client */
  work: (context: ToolContext, input: z.output<In>) => Promise<z.input<Out>>;
}

/** Hints of tools that only read, that write, and that can move money. */
export const READS: ToolHints = { readOnly: true, idempotent: true, spendsMoney: false };
export const WRITES: ToolHints = { readOnly: false, idempotent: true, spendsMoney: false };
export const SPENDS: ToolHints = { readOnly: false, idempotent: true, spendsMoney: true };

/** Makes a tool whose results and errors have the same form as those of every other. */
export function defineTool<In extends z.ZodObject, Out extends z.ZodObject>(parts: ToolParts<In, Out>): Tool {
  const { work, ...tool } = parts;
  return {
    ...tool,
    async run(context, input) {
      const parsed = parts.input.safeParse(input);
      if (!parsed.success) return invalidInput(parsed.error);
      try {
        return { isError: false, data: parts.output.parse(await work(context, parsed.data)) };
      } catch (error) {
        return toRefusal(error);
      }
    },
  };
}

const SHOWN_ISSUES = 5;
const ISSUE_LENGTH = 120;

function invalidInput({ issues }: z.ZodError): Refusal {
  const lines = issues.slice(0, SHOWN_ISSUES).map(({ path, message }) => {
    const line = `${path.length === 0 ? "the arguments" : path.join(".")}: ${message}`;
    return visibleText(line).slice(0, ISSUE_LENGTH);
  });
  return {
    isError: true,
    code: "invalid_input",
    message: lines.join("; "),
    whatToDo: "Correct the named fields and repeat the call.",
  };
}

const INTENT = "Reuse the same value for every retry of this purchase; change it only for a different purchase.";

/** The id of what the caller wants, the same for all its repeats. */
export const intentId = z
  .string()
  .regex(/^[A-Za-z0-9._:-]{1,64}$/, "must have 1 to 64 characters of A-Z a-z 0-9 . _ : -")
  .meta({ description: INTENT });

/** The id of a record of the service. */
export const recordId = z.string().min(1).max(100);
/** Entries of a list. */
export const listLimit = z.int().min(1).max(50).default(10);
/** A JSON object of the caller's. */
export const jsonObject = z.record(z.string(), z.unknown());
