import { Ajv } from "ajv";
import type { AnySchemaObject, ErrorObject, Options } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import formatsPlugin from "ajv-formats";

import type { Verdict } from "./verdict.ts";

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;
/** The first errors that a verdict names. */
const ERRORS_SHOWN = 3;
// Strict mode refuses schemas that the standard allows, and a logger would write a stranger's keywords to our log.
const OPTIONS: Options = { strict: false, logger: false, addUsedSchema: false };

// The plugin is a CommonJS module whose types declare an ES default.
const addFormats = formatsPlugin as unknown as typeof formatsPlugin.default;

/** JSON Schema 2020-12, or draft-07 if the schema declares that. */
function compile(schema: AnySchemaObject) {
  const isDraft07 = typeof schema["$schema"] === "string" && DRAFT_07.test(schema["$schema"]);
  const ajv = isDraft07 ? new Ajv(OPTIONS) : new Ajv2020(OPTIONS);
  addFormats(ajv);
  // Without a loader ajv never fetches a `$ref`: a remote one is an error.
  return ajv.compile(schema);
}

/** The error in a JSON Schema; undefined if values can be checked with it. */
export function schemaFault(schema: AnySchemaObject): string | undefined {
  try {
    compile(schema);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : "not a JSON Schema";
  }
}

/** Whether a value matches a JSON Schema. `open` for a schema that can't be compiled. */
export function checkSchema(schema: AnySchemaObject, value: unknown): Verdict {
  try {
    const matches = compile(schema);
    if (matches(value)) return { result: "pass", detail: "matches the schema" };
    const errors = matches.errors ?? [];
    const shown = errors.slice(0, ERRORS_SHOWN).map(textOf);
    const rest = errors.length > ERRORS_SHOWN ? [`and ${errors.length - ERRORS_SHOWN} more`] : [];
    return { result: "fail", detail: [...shown, ...rest].join("; ") };
  } catch (error) {
    const reason = error instanceof Error ? error.message : "not a JSON Schema";
    return { result: "open", detail: `the schema can't be used: ${reason}` };
  }
}

function textOf({ instancePath, message }: ErrorObject): string {
  return `${instancePath === "" ? "the result" : instancePath} ${message ?? "doesn't match"}`;
}
