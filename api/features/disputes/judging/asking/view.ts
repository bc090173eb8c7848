import type { DisputeCase, Side } from "../case.ts";
import type { Question } from "../questions.ts";

/** A text or value that a deciding request shows. */
export interface Shown {
  name: "result" | "title" | "description" | "request" | "schema";
  by: Side;
  value: unknown;
}

/** A check that compares the result with what was ordered can't be answered without the order. */
const ABOUT_THE_REQUEST =
  /\b(request\w*|ordered|asked|brief|original|source|input|given|supplied|provided|attached|faithful\w*|translat\w+)\b/i;
/** Keywords that describe a schema to people. They validate nothing, so they aren't shown. */
const ANNOTATIONS = new Set(["title", "description", "$comment", "examples", "default", "deprecated"]);
/** Keywords whose keys are the buyer's own names, not keywords. */
const NAMES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/**
 * The texts that these questions need in view, and nothing else. Reasons, evidence and attachments are never among them, so
 * no text in those can influence the decision. Title, description and request are in view for the question whether the
 * result is what they ask for.
 */
export function shownFor(questions: readonly Question[], { criteria, payload }: DisputeCase): Shown[] {
  const isAgreement = questions.some(({ about }) => about === "agreement");
  const needsRequest = isAgreement || questions.some(({ text }) => ABOUT_THE_REQUEST.test(text));
  const shown: Shown[] = [];
  if (isAgreement) {
    shown.push({ name: "title", by: "seller", value: criteria?.title ?? "" });
    shown.push({ name: "description", by: "seller", value: criteria?.description ?? "" });
  }
  if (needsRequest) shown.push({ name: "request", by: "buyer", value: criteria?.requestPayload ?? null });
  if (questions.some(({ about }) => about === "schema")) {
    shown.push({ name: "schema", by: "buyer", value: withoutAnnotations(criteria?.criteria?.schema) });
  }
  shown.push({ name: "result", by: "seller", value: payload });
  return shown;
}

function withoutAnnotations(schema: unknown, areNames = false): unknown {
  if (Array.isArray(schema)) return schema.map((item) => withoutAnnotations(item));
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([key]) => areNames || !ANNOTATIONS.has(key));
  return Object.fromEntries(kept.map(([key, inner]) => [key, withoutAnnotations(inner, !areNames && NAMES.has(key))]));
}
