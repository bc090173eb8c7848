import { withTimeout } from "../../lib/timeout.ts";
import type { AccessModels } from "./access-model.ts";
import { refusalUpdate } from "./access-update.ts";

/**
 * Counts an answer of 429 towards the suspension of a key. Not for answers of the key's own window, which admission counts
 * itself. Never throws.
 */
export type CountRefusal = (keyHash: string) => Promise<void>;

/** Dependencies of the counter. */
export interface RefusalsDeps {
  models: Pick<AccessModels, "access">;
  offsetMs: () => number;
  /** Called with the error if the write fails. It may then be uncounted. */
  onFailure: (error: unknown) => void;
}

/** How long an answer waits for its count, in milliseconds. */
const PATIENCE_MS = 1_000;

/** Creates a counter in the agents' access records. */
export function createRefusals({ models: { access }, offsetMs, onFailure }: RefusalsDeps): CountRefusal {
  return async (keyHash) => {
    const update = refusalUpdate(keyHash, offsetMs()) as never;
    const count = () => access.collection.updateOne({ "keys.hash": keyHash }, update, { writeConcern: { w: 1 } });
    await withTimeout("count of a refusal", PATIENCE_MS, count).catch(onFailure);
  };
}
