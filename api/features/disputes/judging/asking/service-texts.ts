import type { Question } from "../questions.ts";
import type { Shown } from "./view.ts";

/*
 * Texts of the service's own. They stand beside or instead of the parties' texts, to find out which text it is that makes a
 * model answer wrongly.
 */

/** A text in the place of the result. */
export const FILLER: Shown = {
  name: "result",
  by: "seller",
  value:
    "Tides rise and fall twice a day along most coasts. Where the sea floor is flat, the water withdraws for miles.",
};

/** A statement that the filler shows. */
export const FILLER_STATEMENT = "The result is about tides.";

/** A question as a statement whose truth can be joined to another's. */
export function toStatement({ about, text }: Question): string {
  if (about === "agreement") return "The result is what title, description and request ask for.";
  if (about === "schema") return "The result matches the JSON Schema in the section schema.";
  return text;
}
