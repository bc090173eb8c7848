import { readdirSync } from "node:fs";
import { join } from "node:path";

import { KINDS } from "./dispute-case.ts";
import type { DisputeStory, Kind, LabelledCase } from "./dispute-case.ts";

/** A case with its place among the others. */
export interface LoadedCase extends LabelledCase {
  kind: Kind;
  /** `<kind>/<file>`, without the ending. */
  name: string;
}

const FOLDER = join(import.meta.dirname, "cases");

/** Every case of these kinds, in the order of kinds and names. */
export async function loadCases(kinds: readonly Kind[] = KINDS): Promise<LoadedCase[]> {
  const found: LoadedCase[] = [];
  for (const kind of kinds) {
    for (const file of readdirSync(join(FOLDER, kind)).sort()) {
      const module = (await import(join(FOLDER, kind, file))) as { default: LabelledCase };
      found.push({ ...module.default, kind, name: `${kind}/${file.replace(/\.ts$/, "")}` });
    }
  }
  return found;
}

/** The same dispute without what the injector added; undefined for a case without an injection. */
export function cleanTwinOf(labelled: LabelledCase): DisputeStory | undefined {
  return labelled.injector === undefined ? undefined : { ...labelled, ...labelled.without };
}
