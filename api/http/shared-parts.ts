import { z } from "zod";
import type { createDocument } from "zod-openapi";

import { ANSWER_EXAMPLES } from "./examples.ts";
import { pascalCase } from "./error-schemas.ts";
import { PATTERN_OF_TEXT } from "./text-schema.ts";

type Document = ReturnType<typeof createDocument>;
type Json = Record<string, unknown>;

interface Operation {
  parameters?: object[];
  responses: Record<string, Json>;
}

/** Texts that many fields are, by their patterns. */
const TEXTS: Readonly<Record<string, { pattern: string; description: string }>> = {
  Address: { pattern: "^0x[0-9a-fA-F]{40}$", description: "Address of a wallet or contract" },
  Bytes32: { pattern: "^0x[0-9a-fA-F]{64}$", description: "32 bytes" },
  Units: { pattern: String.raw`^\d+$`, description: "Whole number, usually of a token's smallest units" },
  Usd: { pattern: String.raw`^\d+(\.\d{1,6})?$`, description: "US dollars, at most 6 decimals" },
  UtcTime: { pattern: z.iso.datetime().def.pattern?.source ?? "", description: "ISO 8601 with `Z`" },
  Name: { pattern: PATTERN_OF_TEXT.name, description: "One line without control or invisible characters, not blank" },
  LongText: { pattern: PATTERN_OF_TEXT.longText, description: "Text without control characters, not blank" },
  NameQuery: { pattern: PATTERN_OF_TEXT.nameQuery, description: "Part of a name, without control characters" },
  SearchQuery: { pattern: PATTERN_OF_TEXT.query, description: "What to search for, without control characters" },
};
const NAME_OF_PATTERN = new Map(Object.entries(TEXTS).map(([name, { pattern }]) => [pattern, name]));

/** Moves what many operations and schemas repeat into the components: parameters, and texts with a pattern. */
export function shareParts(document: Document): Document {
  const used = new Set<string>();
  const shared = withSharedTexts(document, used) as Document;
  const operations = Object.values(shared.paths ?? {}).flatMap((path) => Object.values(path as object) as Operation[]);
  const parameters = shareParameters(operations);
  const responses = { ...shared.components?.responses, ...shareAnswers(operations) };
  const texts = Object.entries(TEXTS).filter(([name]) => used.has(name));
  const schemas: Json = Object.fromEntries(texts.map(([name, text]) => [name, { type: "string", ...text }]));
  for (const [name, schema] of Object.entries(shared.components?.schemas ?? {}) as [string, Json][]) {
    const example = ANSWER_EXAMPLES[name];
    schemas[name] = example === undefined ? schema : { ...schema, examples: [example] };
  }
  return { ...shared, components: { ...shared.components, schemas, responses, parameters } } as Document;
}

/** A copy in which each text with a known pattern refers to its component. Its other keywords stay beside the reference. */
function withSharedTexts(value: unknown, used: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withSharedTexts(item, used));
  if (typeof value !== "object" || value === null) return value;
  const given = describedOnce(orNull(value as Json));
  const { type, pattern, ...rest } = given;
  const name = type === "string" && typeof pattern === "string" ? NAME_OF_PATTERN.get(pattern) : undefined;
  if (name !== undefined) {
    used.add(name);
    return { $ref: `#/components/schemas/${name}`, ...rest };
  }
  return Object.fromEntries(Object.entries(given).map(([key, inner]) => [key, withSharedTexts(inner, used)]));
}

/** A parameter or header without the description that its schema repeats. */
function describedOnce(part: Json): Json {
  const { description, ...schema } = (part["schema"] ?? {}) as Json;
  return description !== undefined && description === part["description"] ? { ...part, schema } : part;
}

/** Writes a simple schema or null as one type list, which takes half of the space. */
function orNull(schema: Json): Json {
  const { anyOf, ...rest } = schema;
  const [first, second, ...others] = (Array.isArray(anyOf) ? anyOf : []) as Json[];
  if (typeof first?.["type"] !== "string" || second?.["type"] !== "null" || others.length > 0) return schema;
  if (NAME_OF_PATTERN.has(String(first["pattern"])) || "enum" in first) return schema;
  return { ...rest, ...first, type: [first["type"], "null"] };
}

/** Replaces the parameters that several operations have by references, and returns them by name. */
function shareParameters(operations: readonly Operation[]): Json {
  const uses = Map.groupBy(
    operations.flatMap(({ parameters = [] }) => parameters),
    (parameter) => JSON.stringify(parameter),
  );
  const shared: Json = {};
  const references = new Map<string, object>();
  // The most frequent variant of a name has it, the others a number.
  for (const [text, parameters] of [...uses].toSorted(([, one], [, other]) => other.length - one.length)) {
    const { name } = parameters[0] as { name: string };
    if (parameters.length === 1) continue;
    const base = pascalCase(name.replaceAll("-", "_"));
    const count = Object.keys(shared).filter((known) => known.replace(/\d+$/, "") === base).length;
    const id = count === 0 ? base : `${base}${count + 1}`;
    shared[id] = parameters[0];
    references.set(text, { $ref: `#/components/parameters/${id}` });
  }
  for (const operation of operations) {
    if (operation.parameters === undefined) continue;
    operation.parameters = operation.parameters.map(
      (parameter) => references.get(JSON.stringify(parameter)) ?? parameter,
    );
  }
  return shared;
}

/** Replaces the successful answers that several operations have by references, and returns them by name. */
function shareAnswers(operations: readonly Operation[]): Json {
  const answers = operations.flatMap(({ responses }) =>
    Object.entries(responses).map(([status, response]) => ({ responses, status, response })),
  );
  const shared: Json = {};
  for (const uses of Map.groupBy(answers, ({ response }) => JSON.stringify(response)).values()) {
    const { content } = (uses[0]?.response ?? {}) as { content?: Record<string, { schema: { $ref?: string } }> };
    const id = content?.["application/json"]?.schema.$ref?.split("/").at(-1);
    if (id === undefined || uses.length === 1 || Object.hasOwn(shared, id)) continue;
    shared[id] = uses[0]?.response;
    for (const { responses, status } of uses) responses[status] = { $ref: `#/components/responses/${id}` };
  }
  return shared;
}
